package gmv_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function3x0(atZero)
	register.Emitter3[beam.EventTime, int64, sale]()
}

func atZero(mark int64, v sale, emit func(beam.EventTime, int64, sale)) { emit(0, mark, v) }

// TestSuspectsOfALeadingSplit brings elements that are past their last deadline
// by their own source's watermark, far ahead of the runner's, which another split
// holds back. Deadlines lie around full minutes and days, where the layers of the
// gate round them, and the runner's watermark is a millisecond before them and
// then right at them: what the runner is still in time for is added, and what it
// is not comes out late.
func TestSuspectsOfALeadingSplit(t *testing.T) {
	const midnight = 1_730_073_600_000 // 2024-10-28T00:00:00Z
	tumbling := windowfns.Tumbling{Size: time.Second, Offset: ms}
	sliding := windowfns.Sliding{Size: 36 * time.Hour, Period: 12*time.Hour - ms}
	for _, c := range []struct {
		windows  windowfns.Fn
		lateness time.Duration
	}{
		{tumbling, 0},
		{tumbling, 59 * time.Second},
		{tumbling, 25 * time.Hour},
		{sliding, 0},
		{sliding, 2 * time.Hour},
	} {
		t.Run(fmt.Sprintf("%v/lateness=%v", c.windows, c.lateness), func(t *testing.T) {
			cfg := gmv.Config{Windows: c.windows, AllowedLateness: c.lateness, Watermarked: true}
			r := randomCase{cfg: cfg}
			var tl streamtest.Timeline
			var steps []oracle.Step
			wm := func(at int64) {
				tl.Watermark(at)
				steps = append(steps, oracle.Watermark(at))
			}
			for _, around := range []int64{midnight, midnight + 60_000, midnight + 7_200_000, midnight + 86_400_000} {
				for _, off := range []int64{-1, 0, 1, 30_000} {
					// The element whose first deadline is the last before around + off.
					at := around + off - c.lateness.Milliseconds() - 1
					for r.windowsAt(at)[0].EndMs+c.lateness.Milliseconds() > around+off {
						at = r.windowsAt(at)[0].StartMs - 1
					}
					all := r.windowsAt(at)
					for _, before := range []int64{1, 0} {
						wm(all[0].EndMs + c.lateness.Milliseconds() - before)
						e := oracle.Element{Key: "k", Minor: 1 << (len(steps) / 2), TimeMs: at}
						steps = append(steps, oracle.Add(e))
						v := saleOf(e)
						v.Mark = all[len(all)-1].EndMs + c.lateness.Milliseconds() + 3*86_400_000
						tl.At(at, v)
					}
				}
			}
			want := oracle.Play(c.windows, c.lateness.Milliseconds(), steps)
			if len(want.Late) == 0 || want.Added == 0 {
				t.Fatalf("%d late, %d added, want both", want.Missed, want.Added)
			}
			verify(t, cfg, func(s beam.Scope) beam.PCollection { return beam.ParDo(s, withMark, tl.Create(s)) }, want)
		})
	}
}

// A mark that cannot be a watermark fails the job and says what to do instead.
func TestMarksThatAreNoWatermarks(t *testing.T) {
	for _, windows := range []windowfns.Fn{windowfns.Tumbling{Size: time.Second}, nil} {
		_, err := streamtest.TryRun(func(s beam.Scope) {
			col := beam.ParDo(s, withMark, beam.Create(s, sale{Mark: math.MaxInt64}))
			if windows == nil {
				col = beam.WindowInto(s, window.NewFixedWindows(time.Second), col)
			}
			gmv.PerKey(s, gmv.Config{Windows: windows, Watermarked: true}, entryOf, beam.ParDo(s, atZero, col))
		})
		if want := "a source that does not know it sends elements without marks"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %s", err, want)
		}
	}
}
