package gmv_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// TestCounts plays random scripts with refunds, two currencies and none, late
// elements and corrections, over windows of every kind: the counts of each window
// and currency add up to the oracle's, in elements and in money, and everything
// else is as without them.
func TestCounts(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed=%d", 300+seed), func(t *testing.T) {
			c := newRandomCase(300 + seed)
			c.script(40)
			t.Log(c)
			want := c.want()
			out := playCounted(t, c.cfg, timeline(c.steps).Create)
			out.equals(t, want)
			if diff := streamtest.Diff(want.Counts, out.sumCounts(t)); diff != "" {
				t.Errorf("counts: %s", diff)
			}
		})
	}
}

// TestCountsOfBundles brings several elements at once, of windows that the input
// has been given, unmarked and marked.
func TestCountsOfBundles(t *testing.T) {
	sliding := windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}
	for _, marked := range []bool{false, true} {
		t.Run(fmt.Sprintf("marked=%v", marked), func(t *testing.T) {
			c := newRandomCase(320)
			c.cfg = gmv.Config{Windows: sliding, AllowedLateness: 12 * ms}
			var tl streamtest.Timeline
			var steps []oracle.Step
			wm := int64(1_700_000_000_000)
			for range 12 {
				wm += c.rng.Int64N(30)
				tl.Watermark(wm)
				steps = append(steps, oracle.Watermark(wm))
				var elems []any
				at := wm - c.rng.Int64N(60)
				for range 1 + c.rng.IntN(6) {
					e := c.element(at)
					v := saleOf(e)
					if marked {
						v.Mark = wm
					}
					elems = append(elems, v)
					steps = append(steps, oracle.Add(e))
				}
				tl.At(at, elems...)
			}
			want := oracle.Play(sliding, 12, steps)
			if want.Corrected == 0 || want.Missed == 0 {
				t.Fatalf("%d corrected and %d late, want both", want.Corrected, want.Missed)
			}
			out := playCounted(t, gmv.Config{Watermarked: marked}, func(s beam.Scope) beam.PCollection {
				col := tl.Create(s)
				if marked {
					col = beam.ParDo(s, withMark, col)
				}
				return beam.WindowInto(s, window.NewSlidingWindows(10*ms, 30*ms), col, beam.AllowedLateness(12*ms))
			})
			out.equalTotals(t, want)
			if diff := streamtest.Diff(want.Counts, out.sumCounts(t)); diff != "" {
				t.Errorf("counts: %s", diff)
			}
		})
	}
}

// TestCountsOfALiveSource: whatever the runner's watermark makes of each element,
// for each window and currency assigned = added + late.
func TestCountsOfALiveSource(t *testing.T) {
	tl, _ := liveScript(17, 3000)
	cfg := gmv.Config{Windows: windowfns.Sliding{Size: 6 * time.Second, Period: 2 * time.Second}, AllowedLateness: 2 * time.Second, Watermarked: true}
	out := playCounted(t, cfg, func(s beam.Scope) beam.PCollection { return tl.Live(s, 200) })
	sums := map[oracle.Count]*[2]big.Int{} // by window and currency: elements and money
	var kinds [4]int64
	for _, c := range out.sumCounts(t) {
		k := oracle.Count{StartMs: c.StartMs, EndMs: c.EndMs, Currency: c.Currency}
		if sums[k] == nil {
			sums[k] = &[2]big.Int{}
		}
		money, _ := new(big.Int).SetString(c.Sum, 10)
		n := big.NewInt(c.Elements)
		switch c.Kind {
		case "assigned":
			kinds[0] += c.Elements
		case "added", "late":
			kinds[1] += c.Elements
			n.Neg(n)
			money.Neg(money)
		case "corrected":
			kinds[2] += c.Elements
			continue
		}
		sums[k][0].Add(&sums[k][0], n)
		sums[k][1].Add(&sums[k][1], money)
	}
	for k, left := range sums {
		if left[0].Sign() != 0 || left[1].Sign() != 0 {
			t.Errorf("[%d,%d) %q: assigned - added - late = %v elements and %v", k.StartMs, k.EndMs, k.Currency, &left[0], &left[1])
		}
	}
	if c := out.counters; kinds[0] != c.assigned || kinds[1] != c.added+c.late || kinds[2] != c.corrected {
		t.Errorf("counts %v, counters %+v", kinds, c)
	}
}

// sumCounts adds up counts by window, currency and kind.
func (o outcome) sumCounts(t *testing.T) []oracle.Count {
	t.Helper()
	sums := map[oracle.Count]*oracle.Count{}
	for _, c := range o.counts {
		k := oracle.Count{StartMs: c.StartMs, EndMs: c.EndMs, Currency: c.Currency, Kind: c.Kind}
		if sums[k] == nil {
			sums[k] = &oracle.Count{StartMs: c.StartMs, EndMs: c.EndMs, Currency: c.Currency, Kind: c.Kind, Sum: "0"}
		}
		sum, ok1 := new(big.Int).SetString(sums[k].Sum, 10)
		more, ok2 := new(big.Int).SetString(c.Sum, 10)
		if !ok1 || !ok2 || c.Elements <= 0 {
			t.Fatalf("count %+v", c)
		}
		sums[k].Elements += c.Elements
		sums[k].Sum = sum.Add(sum, more).String()
	}
	var all []oracle.Count
	for _, c := range sums {
		all = append(all, *c)
	}
	return all
}

func TestCountsErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	_, _, _, _, err := gmv.TryPerKeyWithCounts(s, gmv.Config{}, entryOf, beam.Create(s, sale{}))
	if err == nil || !strings.HasPrefix(err.Error(), "gmv.PerKeyWithCounts: ") {
		t.Errorf("%v, want an error of gmv.PerKeyWithCounts", err)
	}
	_, _, _, _, err = gmv.TryPerKeyWithCounts(s, gmv.Config{Windows: windowfns.Tumbling{Size: time.Second}}, nil, beam.Create(s, sale{}))
	if err == nil || !strings.Contains(err.Error(), "entryOf = <nil>") {
		t.Errorf("%v, want an error on entryOf", err)
	}
}
