package gmv_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function1x2(rowByKey)
	register.Function2x1(describeAll)
	register.Iter1[gmv.Row]()
}

// TestInputWindows leaves the windows to the input's own WindowInto. The outcome
// is that of the window function, late elements, corrections and times before
// 1970 included, where Beam itself gives windows that do not hold the element.
func TestInputWindows(t *testing.T) {
	for _, c := range []struct {
		beam     *window.Fn
		fn       windowfns.Fn
		lateness time.Duration
	}{
		{window.NewFixedWindows(20 * ms), windowfns.Tumbling{Size: 20 * ms}, 0},
		{window.NewFixedWindows(20 * ms), windowfns.Tumbling{Size: 20 * ms}, 15 * ms},
		{window.NewSlidingWindows(10*ms, 30*ms), windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, 0},
		{window.NewSlidingWindows(10*ms, 30*ms), windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, 12 * ms},
		{window.NewSlidingWindows(7*ms, 25*ms), windowfns.Sliding{Size: 25 * ms, Period: 7 * ms}, 12 * ms},
	} {
		for _, seed := range []uint64{1, 2} {
			t.Run(fmt.Sprintf("%v/lateness=%v/seed=%d", c.fn, c.lateness, seed), func(t *testing.T) {
				r := newRandomCase(seed)
				r.cfg = gmv.Config{Windows: c.fn, AllowedLateness: c.lateness}
				r.script(20)
				r.steps = slices.Concat(beforeEpoch(r), r.steps)
				tl := timeline(r.steps)
				verify(t, gmv.Config{}, func(s beam.Scope) beam.PCollection {
					return beam.WindowInto(s, c.beam, tl.Create(s), beam.AllowedLateness(c.lateness))
				}, r.want())
			})
		}
	}
}

// beforeEpoch are elements around every boundary of the windows just before
// 1970, behind no watermark.
func beforeEpoch(r *randomCase) []oracle.Step {
	var steps []oracle.Step
	for t := int64(-3); t <= 0; t++ {
		for _, d := range []int64{-1, 0, 1} {
			steps = append(steps, oracle.Add(r.element(10*t+d)))
		}
	}
	return steps
}

// The trigger and the accumulation mode of the input do not matter.
func TestInputTriggerDoesNotMatter(t *testing.T) {
	r := newRandomCase(4)
	r.cfg = gmv.Config{Windows: windowfns.Tumbling{Size: 20 * ms}, AllowedLateness: 15 * ms}
	r.script(30)
	tl := timeline(r.steps)
	verify(t, gmv.Config{}, func(s beam.Scope) beam.PCollection {
		return beam.WindowInto(s, window.NewFixedWindows(20*ms), tl.Create(s),
			beam.Trigger(trigger.AfterCount(2)), beam.PanesAccumulate(), beam.AllowedLateness(15*ms))
	}, r.want())
}

// Windows of the Config replace those of the input.
func TestConfigWindowsReplaceThoseOfTheInput(t *testing.T) {
	r := newRandomCase(5)
	r.cfg = gmv.Config{Windows: windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, AllowedLateness: 15 * ms}
	r.script(30)
	tl := timeline(r.steps)
	verify(t, r.cfg, func(s beam.Scope) beam.PCollection {
		return beam.WindowInto(s, window.NewSlidingWindows(3*ms, 9*ms), tl.Create(s))
	}, r.want())
}

// A live source with marks whose elements have windows already.
func TestInputWindowsOfMarkedElements(t *testing.T) {
	tl, all := liveScript(9, 3000)
	sliding := windowfns.Sliding{Size: 6 * time.Second, Period: 2 * time.Second}
	out := play(t, gmv.Config{Watermarked: true}, func(s beam.Scope) beam.PCollection {
		return beam.WindowInto(s, window.NewSlidingWindows(sliding.Period, sliding.Size), tl.Live(s, 150), beam.AllowedLateness(time.Second))
	})
	out.judgeLive(t, gmv.Config{Windows: sliding, AllowedLateness: time.Second}, all)
}

// TestTwinsOfSlidingWindows brings equal elements at once. Beam hands each out
// once for each of its windows; each is one late record all the same.
func TestTwinsOfSlidingWindows(t *testing.T) {
	twin := oracle.Element{Key: "k", Minor: 1, TimeMs: 25}
	steps := []oracle.Step{oracle.Watermark(45), oracle.Add(twin), oracle.Add(twin), oracle.Add(twin)}
	var tl streamtest.Timeline
	tl.Watermark(45).At(25, saleOf(twin), saleOf(twin), saleOf(twin))
	out := play(t, gmv.Config{}, func(s beam.Scope) beam.PCollection {
		return beam.WindowInto(s, window.NewSlidingWindows(10*ms, 30*ms), tl.Create(s))
	})
	out.equals(t, oracle.Play(windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, 0, steps))
}

func rowByKey(r gmv.Row) (string, gmv.Row) { return r.Key, r }

func describeAll(_ string, rows func(*gmv.Row) bool) string {
	var all []string
	for r := (gmv.Row{}); rows(&r); {
		all = append(all, describe(r))
	}
	slices.Sort(all)
	return fmt.Sprintf("%q", all)
}

// TestRowsWindowedAgain puts the rows in windows of Beam's own and groups them.
// ON_TIME rows are in time for the window that they belong to, even without
// allowed lateness downstream; corrections are in time for a window that takes
// them as long as theirs does.
func TestRowsWindowedAgain(t *testing.T) {
	r := newRandomCase(6)
	r.cfg = gmv.Config{Windows: windowfns.Tumbling{Size: 20 * ms}, AllowedLateness: 30 * ms}
	r.scriptFrom(1_730_000_000_000, 60) // Beam gets windows before 1970 wrong
	tl := timeline(r.steps)
	for _, lateness := range []time.Duration{0, 30 * ms} {
		t.Run(fmt.Sprintf("lateness=%v", lateness), func(t *testing.T) {
			var groups *streamtest.Captured
			streamtest.Run(t, func(s beam.Scope) {
				rows, _, _ := gmv.PerKey(s, r.cfg, entryOf, tl.Create(s))
				again := beam.WindowInto(s, window.NewFixedWindows(20*ms), beam.ParDo(s, rowByKey, rows),
					beam.Trigger(trigger.Always()), beam.PanesDiscard(), beam.AllowedLateness(lateness))
				groups = streamtest.Capture(s, beam.ParDo(s, describeAll, beam.GroupByKey(s, again)))
			})
			var want, got []string
			for _, row := range r.want().Rows {
				if row.Pane == "ON_TIME" || lateness > 0 {
					want = append(want, fmt.Sprintf("[%d,%d) %q", row.StartMs, row.EndMs, []string{describe(gmv.Row(row))}))
				}
			}
			for _, e := range streamtest.Elements[string](groups) {
				got = append(got, fmt.Sprintf("[%d,%d) %s", e.StartMs, e.EndMs, e.Value))
			}
			if diff := streamtest.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRetention lets the gate forget. Elements older than its memory come out
// late like any other, whatever the retention: nothing is lost.
func TestRetention(t *testing.T) {
	for _, retention := range []time.Duration{0, ms, 100 * ms, 24 * time.Hour} {
		for _, lateness := range []time.Duration{0, 15 * ms} {
			t.Run(fmt.Sprintf("retention=%v/lateness=%v", retention, lateness), func(t *testing.T) {
				r := newRandomCase(7)
				r.cfg = gmv.Config{Windows: windowfns.Sliding{Size: 20 * ms, Period: 10 * ms}, AllowedLateness: lateness, Retention: retention}
				// Elements of ever older windows behind a watermark of today, then
				// again, when the gate has seen their windows before.
				const today = 1_800_000_000_000
				r.steps = append(r.steps, oracle.Watermark(today))
				for range 2 {
					for age := int64(1); age < 2*today; age *= 10 {
						r.steps = append(r.steps, oracle.Add(r.element(today-age)))
					}
					r.steps = append(r.steps, oracle.Watermark(today+40))
				}
				verify(t, r.cfg, timeline(r.steps).Create, r.want())
			})
		}
	}
}
