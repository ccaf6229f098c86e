package windowfns_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// TestGrids: the runs of a grid are the windows that AppendWindows gives, and
// their ends never descend.
func TestGrids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.Int64Range(1, 50).Draw(t, "period")
		many := rapid.Int64Range(1, 9).Draw(t, "many")
		extra := rapid.Int64Range(0, period-1).Draw(t, "extra")
		offset := rapid.Int64Range(-period+1, period-1).Draw(t, "offset")
		ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
		tMs := rapid.Int64Range(-500, 500).Draw(t, "time")
		for _, f := range []windowfns.Grid{
			windowfns.Tumbling{Size: ms(period), Offset: ms(offset)},
			windowfns.Sliding{Size: ms(period*many + extra), Period: ms(period), Offset: ms(offset)},
			windowfns.Cumulative{Step: ms(period), Size: ms(period * many), Offset: ms(offset)},
		} {
			if err := f.Validate(); err != nil {
				t.Fatal(err)
			}
			first, last := f.Ends(tMs)
			var got []windowfns.Window
			for end := first; end <= last; end += f.StepMs() {
				got = append(got, f.EndingAt(end))
			}
			if diff := cmp.Diff(f.AppendWindows(nil, tMs), got); diff != "" {
				t.Fatalf("%v at %d: mismatch (-AppendWindows +run):\n%s", f, tMs, diff)
			}
			if f1, l1 := f.Ends(tMs + 1); f1 < first || l1 < last {
				t.Fatalf("%v: the run %d..%d at %d, and %d..%d after it", f, first, last, tMs, f1, l1)
			}
		}
	})
}
