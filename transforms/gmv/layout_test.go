package gmv_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function2x0(atItsTime)
	register.Function1x2(withMark)
	register.Emitter2[beam.EventTime, sale]()
}

// atItsTime gives a sale the timestamp that it carries in Mark.
func atItsTime(s sale, emit func(beam.EventTime, sale)) {
	at := s.Mark
	s.Mark = 0
	emit(mtime.Time(at), s)
}

func withMark(s sale) (int64, sale) {
	mark := s.Mark
	s.Mark = 0
	return mark, s
}

// TestLayouts brings elements that are all in time in many ways: in another
// order between watermarks, to other numbers of shards, live in bundles of one
// element up to all of them, with the source's watermarks and without, and in
// batch. All give the same rows, each once, ON_TIME.
func TestLayouts(t *testing.T) {
	for i, fn := range []windowfns.Fn{
		windowfns.Tumbling{Size: 20 * ms, Offset: -3 * ms},
		windowfns.Sliding{Size: 30 * ms, Period: 10 * ms},
		windowfns.Cumulative{Step: 8 * ms, Size: 24 * ms},
	} {
		c := newRandomCase(uint64(i))
		c.cfg.Windows, c.cfg.AllowedLateness = fn, time.Duration(10*i)*ms
		c.inTime(40)
		want := c.want()
		if len(want.Late) > 0 || want.Corrected > 0 {
			t.Fatalf("%v: a late element among those in time", fn)
		}
		check := func(name string, watermarked bool, source func(s beam.Scope) beam.PCollection) {
			t.Run(fmt.Sprintf("%v/%s", fn, name), func(t *testing.T) {
				cfg := c.cfg
				cfg.Watermarked = watermarked
				play(t, cfg, source).equals(t, want)
			})
		}

		check("shuffled", false, timeline(c.shuffled()).Create)
		for _, shards := range []int{1, 64} {
			c.cfg.Shards = shards
			check(fmt.Sprintf("shards=%d", shards), false, timeline(c.steps).Create)
		}
		c.cfg.Shards = 0
		for _, perBundle := range []int{1, 3, 17, len(c.steps)} {
			live := timeline(c.shuffled())
			check(fmt.Sprintf("marked/bundle=%d", perBundle), true, func(s beam.Scope) beam.PCollection {
				return live.Live(s, perBundle)
			})
			check(fmt.Sprintf("unmarked/bundle=%d", perBundle), false, func(s beam.Scope) beam.PCollection {
				return beam.DropKey(s, live.Live(s, perBundle))
			})
		}
		check("batch", false, func(s beam.Scope) beam.PCollection { return batch(s, c.steps) })
	}
}

// batch is the elements of steps as bounded input.
func batch(s beam.Scope, steps []oracle.Step) beam.PCollection {
	var sales []sale
	for _, st := range steps {
		if st.Element != nil {
			v := saleOf(*st.Element)
			v.Mark = st.Element.TimeMs
			sales = append(sales, v)
		}
	}
	return beam.ParDo(s, atItsTime, beam.CreateList(s, sales))
}

// In batch the input is complete: elements of 1900 and of 2185 are in time, in
// any order.
func TestBatchIsNeverLate(t *testing.T) {
	c := newRandomCase(3)
	for range 50 {
		year := 1900 + c.rng.IntN(286)
		c.steps = append(c.steps, oracle.Add(c.element(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()+c.rng.Int64N(100))))
	}
	play(t, c.cfg, func(s beam.Scope) beam.PCollection { return batch(s, c.steps) }).equals(t, c.want())
}

// TestBundlesOfLateElements brings elements in bundles, late ones too. Several
// late elements of a key and window may then share a row, but totals and late
// elements are those of the oracle, and the rows of each key and window make an
// unbroken chain.
func TestBundlesOfLateElements(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", 100+seed), func(t *testing.T) {
			c := newRandomCase(100 + seed)
			c.script(12)
			var tl streamtest.Timeline
			var steps []oracle.Step
			for _, st := range c.steps {
				steps = append(steps, st)
				if st.Element == nil {
					tl.Watermark(st.WatermarkMs)
					continue
				}
				elems := []any{saleOf(*st.Element)}
				for range c.rng.IntN(8) {
					twin := c.element(st.Element.TimeMs)
					elems = append(elems, saleOf(twin))
					steps = append(steps, oracle.Add(twin))
				}
				tl.At(st.Element.TimeMs, elems...)
			}
			c.steps = steps
			want := c.want()
			out := play(t, c.cfg, tl.Create)
			out.equalTotals(t, want)
			out.checkChains(t)
		})
	}
}

// TestMarksAheadOfTheWatermark gives elements marks that are ahead of the
// runner's watermark, as a live source's are. What is in time by its mark passes
// by the gate; what is past its last deadline by it is the gate's to decide, so
// that the same elements are added and late as by the runner's watermark alone.
// With allowed lateness, an element between the two deadlines by its mark is a
// correction even where the runner is behind, so that panes can differ.
//
// Marks are ahead by up to days, and windows are up to hours long, so that the
// gates that round deadlines up do so here.
func TestMarksAheadOfTheWatermark(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprintf("seed=%d", 200+seed), func(t *testing.T) {
			c := newRandomCase(200 + seed)
			ahead := 3 * c.sizeMs()
			switch seed % 4 {
			case 2:
				c.cfg.Windows = windowfns.Sliding{Size: 40 * time.Second, Period: 10 * time.Second}
			case 3:
				c.cfg.Windows = windowfns.Sliding{Size: 40 * time.Hour, Period: 10 * time.Hour}
			}
			if seed%4 >= 2 {
				c.cfg.AllowedLateness = time.Duration(c.rng.Int64N(2)*c.rng.Int64N(c.sizeMs())) * ms
				ahead = []int64{60_000, 200_000_000}[c.rng.IntN(2)]
			}
			t.Log(c)
			c.script(30)
			var tl streamtest.Timeline
			wm := int64(mtime.MinTimestamp)
			for _, st := range c.steps {
				if st.Element == nil {
					wm = st.WatermarkMs
					tl.Watermark(wm)
					continue
				}
				v := saleOf(*st.Element)
				v.Mark = wm
				if c.rng.IntN(2) == 0 {
					v.Mark += c.rng.Int64N(ahead)
				}
				tl.At(st.Element.TimeMs, v)
			}
			cfg := c.cfg
			cfg.Watermarked = true
			source := func(s beam.Scope) beam.PCollection { return beam.ParDo(s, withMark, tl.Create(s)) }
			if cfg.AllowedLateness == 0 {
				verify(t, cfg, source, c.want())
				return
			}
			out := play(t, cfg, source)
			out.equalTotals(t, c.want())
			out.checkChains(t)
		})
	}
}

// equalTotals compares what the last rows and overflows show, and the late
// elements.
func (o outcome) equalTotals(t *testing.T, want oracle.Result) {
	t.Helper()
	oracled := outcome{}
	for _, r := range want.Rows {
		oracled.rows = append(oracled.rows, gmv.Row(r))
	}
	for _, v := range want.Overflows {
		oracled.overflows = append(oracled.overflows, gmv.Overflow{
			Key: v.Key, Currency: v.Currency, StartMs: v.StartMs, EndMs: v.EndMs, Total: v.Total, Count: v.Count,
		})
	}
	if diff := streamtest.Diff(oracled.totals(), o.totals()); diff != "" {
		t.Errorf("totals: %s", diff)
	}
	if diff := streamtest.Diff(lateOf(want), o.late); diff != "" {
		t.Errorf("late: %s", diff)
	}
}

// checkChains checks that the rows of a key, currency and window count their
// revisions from 0 and name the values of the row before, and that at most the
// first one is ON_TIME.
func (o outcome) checkChains(t *testing.T) {
	t.Helper()
	rows := slices.Clone(o.rows)
	slices.SortFunc(rows, func(a, b gmv.Row) int {
		return cmp.Or(
			cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.StartMs, b.StartMs),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Revision, b.Revision),
		)
	})
	for i, r := range rows {
		if i == 0 || r.Revision == 0 || keyOf(rows[i-1]) != keyOf(r) {
			if r.Revision != 0 || r.PreviousMinor != nil || r.PreviousCount != nil {
				t.Errorf("a chain begins with %s", describe(r))
			}
			continue
		}
		was := rows[i-1]
		if r.Revision != was.Revision+1 || r.PreviousMinor == nil || *r.PreviousMinor != was.Minor ||
			r.PreviousCount == nil || *r.PreviousCount != was.Count || r.Count <= was.Count || r.Pane != "LATE" {
			t.Errorf("%s follows %s", describe(r), describe(was))
		}
	}
}

func describe(r gmv.Row) string {
	return strings.Join(new(casefile.Case).Lines([]oracle.Row{oracle.Row(r)}, nil, nil), "")
}
