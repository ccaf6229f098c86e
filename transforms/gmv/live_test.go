package gmv_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// liveElement is an element of a live source with the watermark that the source
// had when it read the element.
type liveElement struct {
	sale   sale
	timeMs int64
	markMs int64
}

// liveScript is a stream with disorder inside the source's bound of 500 ms, and
// every 20th element further behind: some up to 10 s, some minutes, hours, days
// or years. Sales are numbered by Step.
func liveScript(seed uint64, n int) (*streamtest.Timeline, []liveElement) {
	const bound = 500
	rng := rand.New(rand.NewPCG(seed, 2))
	var tl streamtest.Timeline
	var all []liveElement
	wm := int64(math.MinInt64)
	for i := range n {
		t := 1_675_242_000_000 + 10*int64(i) - rng.Int64N(bound)
		switch rng.IntN(40) {
		case 0:
			t -= rng.Int64N(10_000)
		case 1:
			behind := []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour}
			t -= rng.Int64N(5 * behind[rng.IntN(len(behind))].Milliseconds())
		}
		s := sale{Key: strconv.Itoa(rng.IntN(5)), Minor: rng.Int64N(1 << 40), Step: i}
		all = append(all, liveElement{s, t, wm})
		tl.At(t, s)
		if t-bound > wm {
			wm = t - bound
			tl.Watermark(wm)
		}
	}
	return &tl, all
}

// TestLive reads a live source in bundles of many sizes. When the runner moves
// its watermark is up to it, so that an element beyond the bound can be judged
// more kindly than by the source's own watermark, but nothing may be harsher,
// missing, doubled, or shown in the wrong row.
func TestLive(t *testing.T) {
	tumbling := windowfns.Tumbling{Size: 5 * time.Second}
	sliding := windowfns.Sliding{Size: 6 * time.Second, Period: 2 * time.Second}
	for i, c := range []struct {
		windows   windowfns.Fn
		lateness  time.Duration
		perBundle int
		unmarked  bool
		starved   bool
	}{
		{windows: tumbling, perBundle: 25},
		{windows: tumbling, lateness: 2 * time.Second, perBundle: 100},
		{windows: tumbling, lateness: 2 * time.Second, perBundle: 100, starved: true},
		{windows: tumbling, lateness: 2 * time.Second, perBundle: 250, unmarked: true},
		{windows: sliding, lateness: 2 * time.Second, perBundle: 250},
		{windows: sliding, perBundle: 1000, starved: true},
		{windows: sliding, lateness: 2 * time.Second, perBundle: 5000},
		{windows: sliding, lateness: 2 * time.Second, perBundle: 400, unmarked: true},
	} {
		name := fmt.Sprintf("%v/lateness=%v/bundle=%d/unmarked=%v/starved=%v", c.windows, c.lateness, c.perBundle, c.unmarked, c.starved)
		t.Run(name, func(t *testing.T) {
			n := 4000
			if c.starved {
				n = 1500
				starve(t)
			}
			tl, all := liveScript(uint64(i), n)
			cfg := gmv.Config{Windows: c.windows, AllowedLateness: c.lateness, Watermarked: !c.unmarked}
			out := play(t, cfg, func(s beam.Scope) beam.PCollection {
				if c.unmarked {
					return beam.DropKey(s, tl.Live(s, c.perBundle))
				}
				return tl.Live(s, c.perBundle)
			})
			t.Logf("%d rows, %d late, %+v", len(out.rows), len(out.late), out.counters)
			out.judgeLive(t, cfg, all)
		})
	}
}

// judgeLive checks an outcome against what may come of a live source.
func (o outcome) judgeLive(t *testing.T, cfg gmv.Config, all []liveElement) {
	t.Helper()
	lateness := cfg.AllowedLateness.Milliseconds()
	missed := map[int][]windowfns.Window{}
	for _, l := range o.late {
		e := all[l.Value.Step]
		windows := cfg.Windows.AppendWindows(nil, e.timeMs)
		if l.Value != e.sale || l.Key.TimeMs != e.timeMs || l.Key.All != (len(l.Key.Windows) == len(windows)) {
			t.Errorf("late record %+v of %+v, which has the windows %v", l, e, windows)
		}
		if _, ok := missed[l.Value.Step]; ok {
			t.Errorf("element %d has two late records", l.Value.Step)
		}
		missed[l.Value.Step] = l.Key.Windows
		for _, w := range l.Key.Windows {
			if !slices.Contains(windows, w) || e.markMs < w.EndMs+lateness {
				t.Errorf("element %d is late for %v with its source at %d", l.Value.Step, w, e.markMs)
			}
		}
	}

	// What is not late is in the totals, once, and what was in time by the source
	// is in the ON_TIME row.
	sums, counts, inTime := map[totalKey]*big.Int{}, map[totalKey]int64{}, map[totalKey]int64{}
	for i, e := range all {
		for _, w := range cfg.Windows.AppendWindows(nil, e.timeMs) {
			if slices.Contains(missed[i], w) {
				continue
			}
			k := totalKey{e.sale.Key, e.sale.Currency, w.StartMs, w.EndMs}
			if sums[k] == nil {
				sums[k] = new(big.Int)
			}
			sums[k].Add(sums[k], big.NewInt(e.sale.Minor))
			counts[k]++
			if e.markMs < w.EndMs {
				inTime[k]++
			}
		}
	}
	var want []total
	for k, sum := range sums {
		want = append(want, total{k, sum.String(), counts[k]})
	}
	if diff := streamtest.Diff(want, o.totals()); diff != "" {
		t.Error(diff)
	}
	o.checkChains(t)
	for _, r := range o.rows {
		if r.Pane == "ON_TIME" {
			if r.Count < inTime[keyOf(r)] {
				t.Errorf("%d elements were in time: %s", inTime[keyOf(r)], describe(r))
			}
			delete(inTime, keyOf(r))
		}
	}
	for k := range inTime {
		t.Errorf("no ON_TIME row of %v", k)
	}
}

// starve keeps every processor busy until the test ends.
func starve(t *testing.T) {
	var stop atomic.Bool
	for range runtime.NumCPU() {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	t.Cleanup(func() { stop.Store(true) })
}
