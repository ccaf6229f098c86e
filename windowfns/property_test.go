package windowfns_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// drawTime draws an accepted time: 1900-01-01 to 2185-12-31, UTC.
func drawTime(t *rapid.T) int64 {
	return rapid.Int64Range(at("1900-01-01T00:00:00Z"), at("2186-01-01T00:00:00Z")-1).Draw(t, "tMs")
}

func drawMs(t *rapid.T, label string, lo, hi int64) time.Duration {
	return time.Duration(rapid.Int64Range(lo, hi).Draw(t, label)) * time.Millisecond
}

// drawOffset draws an offset between -step and step, both excluded.
func drawOffset(t *rapid.T, step time.Duration) time.Duration {
	return drawMs(t, "offset", 1-step.Milliseconds(), step.Milliseconds()-1)
}

// maxSizeMs is the longest Size that Validate accepts, in milliseconds.
const maxSizeMs = 876600 * 60 * 60 * 1000

func drawTumbling(t *rapid.T) windowfns.Tumbling {
	size := drawMs(t, "size", 1, maxSizeMs)
	return windowfns.Tumbling{Size: size, Offset: drawOffset(t, size)}
}

func drawSliding(t *rapid.T) windowfns.Sliding {
	period := drawMs(t, "period", 1, maxSizeMs/20)
	size := drawMs(t, "size", period.Milliseconds(), 20*period.Milliseconds())
	return windowfns.Sliding{Size: size, Period: period, Offset: drawOffset(t, period)}
}

func drawCumulative(t *rapid.T) windowfns.Cumulative {
	step := drawMs(t, "step", 1, maxSizeMs/20)
	size := step * time.Duration(rapid.IntRange(1, 20).Draw(t, "steps"))
	return windowfns.Cumulative{Step: step, Size: size, Offset: drawOffset(t, size)}
}

func drawCalendar(t *rapid.T) windowfns.Calendar {
	return windowfns.Calendar{
		Unit: rapid.SampledFrom([]windowfns.CalendarUnit{windowfns.Day, windowfns.Week, windowfns.Month}).Draw(t, "unit"),
		Zone: rapid.SampledFrom(testZones).Draw(t, "zone"),
	}
}

func drawSession(t *rapid.T) windowfns.Session {
	return windowfns.Session{Gap: drawMs(t, "gap", 1, maxSizeMs)}
}

// TestContract checks what the Fn interface promises, for every function.
func TestContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawTumbling(t) }),
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawSliding(t) }),
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawCumulative(t) }),
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawCalendar(t) }),
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawSession(t) }),
		).Draw(t, "fn")
		if err := fn.Validate(); err != nil {
			t.Fatal(err)
		}
		tMs := drawTime(t)
		ws := fn.AppendWindows(nil, tMs)
		if len(ws) == 0 {
			t.Fatal("no window")
		}
		for i, w := range ws {
			if !w.Contains(tMs) {
				t.Errorf("window %d, %s, does not contain %d", i, show(w), tMs)
			}
			if i > 0 && w.EndMs <= ws[i-1].EndMs {
				t.Errorf("window %d, %s, does not end after %s", i, show(w), show(ws[i-1]))
			}
		}
		if again := fn.AppendWindows(nil, tMs); !cmp.Equal(ws, again) {
			t.Errorf("a second call gives %v, the first gave %v", again, ws)
		}
	})
}

// TestTiling checks that every time near a window, its first and last instants
// included, lies in it or in the window that begins or ends where it does.
func TestTiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawTumbling(t) }),
			rapid.Custom(func(t *rapid.T) windowfns.Fn { return drawCalendar(t) }),
		).Draw(t, "fn")
		only := func(tMs int64) windowfns.Window {
			ws := fn.AppendWindows(nil, tMs)
			if len(ws) != 1 {
				t.Fatalf("%d has %d windows, want 1", tMs, len(ws))
			}
			return ws[0]
		}
		w := only(drawTime(t))
		within := rapid.Int64Range(w.StartMs, w.EndMs-1).Draw(t, "within")
		for _, tMs := range []int64{w.StartMs, within, w.EndMs - 1} {
			if got := only(tMs); got != w {
				t.Errorf("%d is in %s, want %s", tMs, show(got), show(w))
			}
		}
		if next := only(w.EndMs); next.StartMs != w.EndMs {
			t.Errorf("the window after %s is %s", show(w), show(next))
		}
		if before := only(w.StartMs - 1); before.EndMs != w.StartMs {
			t.Errorf("the window before %s is %s", show(w), show(before))
		}
	})
}

func TestTumblingSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawTumbling(t)
		w := f.AppendWindows(nil, drawTime(t))[0]
		size, offset := f.Size.Milliseconds(), f.Offset.Milliseconds()
		if w.EndMs-w.StartMs != size || (w.StartMs-offset)%size != 0 {
			t.Errorf("%v gives %s", f, show(w))
		}
	})
}

// TestSlidingBruteForce tries every window start k*Period + Offset from well
// before the time to well after it.
func TestSlidingBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, tMs := drawSliding(t), drawTime(t)
		size, period, offset := f.Size.Milliseconds(), f.Period.Milliseconds(), f.Offset.Milliseconds()
		var want []windowfns.Window
		for k := (tMs-size)/period - 3; k <= tMs/period+3; k++ {
			w := windowfns.Window{StartMs: k*period + offset, EndMs: k*period + offset + size}
			if w.Contains(tMs) {
				want = append(want, w)
			}
		}
		if diff := cmp.Diff(want, f.AppendWindows(nil, tMs)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestCumulativeBruteForce tries every window near the time, of every length.
func TestCumulativeBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, tMs := drawCumulative(t), drawTime(t)
		size, step, offset := f.Size.Milliseconds(), f.Step.Milliseconds(), f.Offset.Milliseconds()
		var want []windowfns.Window
		for k := tMs/size - 3; k <= tMs/size+3; k++ {
			for j := int64(1); j <= size/step; j++ {
				w := windowfns.Window{StartMs: k*size + offset, EndMs: k*size + offset + j*step}
				if w.Contains(tMs) {
					want = append(want, w)
				}
			}
		}
		if diff := cmp.Diff(want, f.AppendWindows(nil, tMs)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestSessionOverlap checks that two elements share a session, by windows that
// overlap, if and only if they are less than Gap apart.
func TestSessionOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := windowfns.Session{Gap: drawMs(t, "gap", 1, maxSizeMs)}
		gap := f.Gap.Milliseconds()
		a := drawTime(t)
		b := a + rapid.OneOf(rapid.Int64Range(-2*gap, 2*gap), rapid.Int64Range(gap-2, gap+2), rapid.Int64Range(-gap-2, 2-gap)).Draw(t, "apart")
		v, w := f.AppendWindows(nil, a)[0], f.AppendWindows(nil, b)[0]
		if v.StartMs != a || v.EndMs-v.StartMs != gap {
			t.Errorf("%v gives %d the window %s", f, a, show(v))
		}
		overlap := v.StartMs < w.EndMs && w.StartMs < v.EndMs
		if near := max(a, b)-min(a, b) < gap; overlap != near {
			t.Errorf("%v, %d ms apart: windows that overlap %v, want %v", f, b-a, overlap, near)
		}
	})
}
