package streamtest_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/testing/streamtest"
)

// TestStepped plays a script on a runner that could do it by itself. The source asks
// until the answer is true, with how far it is; nothing is out before its turn.
func TestStepped(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(5, "a", "b").Watermark(4).At(3, "c").Watermark(2).At(9, "d")

	var mu sync.Mutex
	var asked []streamtest.Progress
	var c *streamtest.Captured
	ready := func(p streamtest.Progress) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, p)
		// Every question is put twice, and what was emitted has to be there.
		n := len(streamtest.Values[string](c))
		if n > p.Elements {
			t.Errorf("%d elements are out, %+v", n, p)
		}
		times := 0
		for _, q := range asked {
			if q == p {
				times++
			}
		}
		return times > 1 && n == p.Elements
	}
	streamtest.Run(t, func(s beam.Scope) {
		mu.Lock()
		asked = nil
		mu.Unlock()
		c = streamtest.Capture(s, tl.Stepped(s, 0, ready))
	})
	want := []streamtest.Element[string]{
		{Value: "a", TimeMs: 5, Global: true},
		{Value: "b", TimeMs: 5, Global: true},
		{Value: "c", TimeMs: 3, Global: true},
		{Value: "d", TimeMs: 9, Global: true},
	}
	got := streamtest.Elements[string](c)
	for i := range got {
		got[i].Pane = beam.PaneInfo{}
	}
	if diff := streamtest.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	steps := []streamtest.Progress{{0, math.MinInt64}, {2, math.MinInt64}, {2, 4}, {3, 4}, {4, 4}}
	if diff := cmp.Diff(steps, slices.Compact(asked)); diff != "" {
		t.Errorf("questions: mismatch (-want +got):\n%s", diff)
	}
}

// TestSteppedRests plays a script whose source rests, and so ends at once when its
// watermark gets to infinity: nothing is asked after that. The last step takes it there,
// or the end of the script.
func TestSteppedRests(t *testing.T) {
	for name, end := range map[string]func(*streamtest.Timeline){
		"last step": func(tl *streamtest.Timeline) { tl.WatermarkToInfinity() },
		"end":       func(*streamtest.Timeline) {},
	} {
		t.Run(name, func(t *testing.T) {
			var tl streamtest.Timeline
			end(tl.At(5, "a").Watermark(4).At(3, "b"))
			var c *streamtest.Captured
			ready := func(p streamtest.Progress) bool {
				if p.WatermarkMs > 4 {
					t.Errorf("asked at the end of time, %+v", p)
				}
				return len(streamtest.Values[string](c)) == p.Elements
			}
			streamtest.Run(t, func(s beam.Scope) {
				c = streamtest.Capture(s, tl.Stepped(s, time.Millisecond, ready))
			})
			if diff := streamtest.Diff([]string{"a", "b"}, streamtest.Values[string](c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSteppedErrors(t *testing.T) {
	always := func(streamtest.Progress) bool { return true }
	_, s := beam.NewPipelineWithRoot()
	for want, tl := range map[string]*streamtest.Timeline{
		"no elements": {},
		"processing time cannot be played step by step without TestStream": new(streamtest.Timeline).At(1, "x").ProcessingTime(time.Second),
	} {
		if _, err := tl.TryStepped(s, 0, always); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
