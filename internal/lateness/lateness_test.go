package lateness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

func TestSteps(t *testing.T) {
	r := New(windowfns.Tumbling{Size: 10 * time.Millisecond}, 5)
	// The watermark is 5 behind the latest: 14 is not late for [0, 10), 15 is.
	for _, tMs := range []int64{14, 9, 15, 9, 5, 1000, 0, 989} {
		r.Add(tMs)
	}
	// Late: 9 and 5 at 10 (need 1 each), 0 at 995 (986), 989 at 995 (6).
	want := []Step{{0, 4}, {1, 2}, {6, 1}, {986, 0}}
	if diff := cmp.Diff(want, r.Steps()); diff != "" || r.Pairs() != 8 {
		t.Errorf("%d pairs, want 8, mismatch (-want +got):\n%s", r.Pairs(), diff)
	}
	if diff := cmp.Diff([]Step{{0, 0}}, New(windowfns.Tumbling{Size: time.Second}, 0).Steps()); diff != "" {
		t.Errorf("of nothing: mismatch (-want +got):\n%s", diff)
	}
}

// TestStepsHold checks each step against the rule of windows: with the lateness
// that it names, exactly so many pairs are late, where rounding does not matter.
func TestStepsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOf(rapid.Int64Range(-400, 400)).Draw(t, "times")
		bound := rapid.Int64Range(0, 50).Draw(t, "bound")
		fn := windowfns.Sliding{Size: 40 * time.Millisecond, Period: 20 * time.Millisecond}
		r := New(fn, bound)
		for _, tMs := range times {
			r.Add(tMs)
		}
		steps := r.Steps()
		if last := steps[len(steps)-1]; last.Late != 0 {
			t.Fatalf("%+v: nothing allows everything", steps)
		}
		for i, s := range steps {
			if i > 0 && (s.LatenessMs <= steps[i-1].LatenessMs || s.Late >= steps[i-1].Late) {
				t.Fatalf("%+v do not ascend", steps)
			}
			late, latest := int64(0), int64(-1<<40)
			for _, tMs := range times {
				for _, w := range fn.AppendWindows(nil, tMs) {
					if latest-bound >= w.EndMs+s.LatenessMs {
						late++
					}
				}
				latest = max(latest, tMs)
			}
			if late != s.Late {
				t.Fatalf("with a lateness of %d ms, %d pairs are late, want %d", s.LatenessMs, s.Late, late)
			}
		}
	})
}

func TestRoundUp(t *testing.T) {
	for ms, want := range map[int64]int64{1: 1, 999: 999, 1000: 1000, 1001: 1010, 9990: 9990, 9991: 10000, 123456: 124000} {
		if got := roundUp(ms); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", ms, got, want)
		}
	}
}
