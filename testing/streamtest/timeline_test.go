package streamtest_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
)

type reading struct {
	Sensor string
	Milli  int64
	Tags   []string
}

func init() {
	beam.RegisterType(reflect.TypeFor[reading]())
	register.Function1x2(bySensor)
	register.Function2x1(countOf)
	register.Iter1[reading]()
}

func bySensor(r reading) (string, reading) { return r.Sensor, r }

func countOf(_ string, it func(*reading) bool) int {
	n := 0
	for r := (reading{}); it(&r); {
		n++
	}
	return n
}

// panes counts readings per sensor in fixed windows of 10 ms, firing early and
// late ones at once.
func panes(s beam.Scope, col beam.PCollection) beam.PCollection {
	keyed := beam.ParDo(s, bySensor, col)
	windowed := beam.WindowInto(s, window.NewFixedWindows(10*time.Millisecond), keyed,
		beam.Trigger(trigger.Always()), beam.PanesDiscard(), beam.AllowedLateness(time.Second))
	return beam.ParDo(s, countOf, beam.GroupByKey(s, windowed))
}

// TestTimelineOrder plays elements around a watermark. The panes say that each
// step was through before the next began: the first element of the window came
// before its end, the second exactly at it.
func TestTimelineOrder(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(3, reading{Sensor: "a"}).
		Watermark(9).At(4, reading{Sensor: "a"}).
		Watermark(10).At(5, reading{Sensor: "a"}).
		At(12, reading{Sensor: "a"}).
		WatermarkToInfinity()

	var counts *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		counts = streamtest.Capture(s, panes(s, tl.Create(s)))
	})
	pane := func(start int64, timing typex.PaneTiming) streamtest.Element[int] {
		return streamtest.Element[int]{Value: 1, TimeMs: start + 9, StartMs: start, EndMs: start + 10, Pane: typex.PaneInfo{Timing: timing}}
	}
	want := []streamtest.Element[int]{
		pane(0, typex.PaneEarly), pane(0, typex.PaneEarly), pane(0, typex.PaneLate), pane(10, typex.PaneEarly),
	}
	got := streamtest.Elements[int](counts)
	for i := range got {
		got[i].Pane = typex.PaneInfo{Timing: got[i].Pane.Timing} // indexes are Prism's business
	}
	if diff := streamtest.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTimelineIsPlayedAgain(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(1, "x", "y").Watermark(5).Watermark(5).Watermark(3).At(6, "z")
	for range 2 {
		var c *streamtest.Captured
		streamtest.Run(t, func(s beam.Scope) { c = streamtest.Capture(s, tl.Create(s)) })
		if diff := streamtest.Diff([]string{"x", "y", "z"}, streamtest.Values[string](c)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTimelineErrors(t *testing.T) {
	p := func(f func(*streamtest.Timeline)) *streamtest.Timeline {
		var tl streamtest.Timeline
		f(&tl)
		return &tl
	}
	for _, c := range []struct {
		name string
		tl   *streamtest.Timeline
		want string
	}{
		{"empty", p(func(*streamtest.Timeline) {}), "no elements, want at least one, for their type"},
		{"no elements in a step", p(func(tl *streamtest.Timeline) { tl.At(7) }), "step 1: no elements at 7 ms, want at least one"},
		{"nil", p(func(tl *streamtest.Timeline) { tl.Watermark(1).At(7, nil) }), "step 2: a nil element at 7 ms"},
		{"two types", p(func(tl *streamtest.Timeline) { tl.At(1, 2).At(3, "x") }), "step 2: an element of type string at 3 ms, want int as before"},
		{"after infinity", p(func(tl *streamtest.Timeline) { tl.At(1, 2).WatermarkToInfinity().At(3, 4) }), "step 3: an element at 3 ms after a watermark at infinity"},
		{"far out", p(func(tl *streamtest.Timeline) { tl.At(math.MaxInt64, 2) }), "step 1: an element at 9223372036854775807 ms, want a time from -9223372036854775 to 9223372036854775"},
		{"time stands still", p(func(tl *streamtest.Timeline) { tl.At(1, 2).ProcessingTime(0) }), "step 2: processing time advances by 0s, want a positive whole number of milliseconds"},
		{"the first error counts", p(func(tl *streamtest.Timeline) { tl.At(1).At(2) }), "step 1: no elements at 1 ms, want at least one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := beam.NewPipelineWithRoot()
			_, err := c.tl.TryCreate(s)
			if want := "streamtest.Timeline: " + c.want; err == nil || err.Error() != want {
				t.Errorf("TryCreate: %v, want %s", err, want)
			}
			if _, err2 := c.tl.TryLive(s, 1); err2 == nil || err2.Error() != err.Error() {
				t.Errorf("TryLive: %v, want %v", err2, err)
			}
			if c.tl.Err() != nil && c.tl.Err() != err {
				t.Errorf("Err: %v, want %v", c.tl.Err(), err)
			}
			defer func() {
				if r := recover(); r == nil {
					t.Error("Create did not panic")
				}
			}()
			c.tl.Create(s)
		})
	}
}

func TestLiveErrors(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(1, "x").ProcessingTime(time.Second)
	_, s := beam.NewPipelineWithRoot()
	if _, err := tl.TryLive(s, 1); err == nil || !strings.Contains(err.Error(), "processing time cannot be played live") {
		t.Error(err)
	}
	if _, err := new(streamtest.Timeline).At(1, "x").TryLive(s, 0); err == nil || !strings.Contains(err.Error(), "0 steps a bundle, want at least 1") {
		t.Error(err)
	}
}
