package average_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/average"
	"tidemark/windowfns"
)

const ms = time.Millisecond

var thirties = windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}

// TestTimelines plays scripts whose rows are derived by hand in the comments.
func TestTimelines(t *testing.T) {
	for _, c := range []struct {
		name     string
		windows  windowfns.Fn
		lateness time.Duration
		steps    []oracle.Step
		want     []string
	}{
		{
			// Values 1 to 6 every 10 ms. The watermark 30 closes [0,30): 1, 2, 3.
			name: "sliding", windows: thirties,
			steps: []oracle.Step{
				at("k", 0, 1), at("k", 10, 2), at("k", 20, 3), oracle.Watermark(30), at("k", 30, 4), at("k", 40, 5), at("k", 50, 6.5),
			},
			want: []string{
				"k [-20,10) ON_TIME #0 1 (was -) of 1 up to 0",
				"k [-10,20) ON_TIME #0 1.5 (was -) of 2 up to 10",
				"k [0,30) ON_TIME #0 2 (was -) of 3 up to 20",
				"k [10,40) ON_TIME #0 3 (was -) of 3 up to 30",
				"k [20,50) ON_TIME #0 4 (was -) of 3 up to 40",
				"k [30,60) ON_TIME #0 5.166666666666667 (was -) of 3 up to 50",
				"k [40,70) ON_TIME #0 5.75 (was -) of 2 up to 50",
				"k [50,80) ON_TIME #0 6.5 (was -) of 1 up to 50",
			},
		},
		{
			// At the watermark 40, with L = 10, the element at 25 is late for
			// [0,30), corrects [10,40) and is in time for [20,50).
			name: "missed, corrected and in time at once", windows: thirties, lateness: 10 * ms,
			steps: []oracle.Step{at("k", 35, 1), oracle.Watermark(40), at("k", 25, 2)},
			want: []string{
				"k [10,40) ON_TIME #0 1 (was -) of 1 up to 35",
				"k [10,40) LATE #1 1.5 (was 1) of 2 up to 35",
				"k [20,50) ON_TIME #0 1.5 (was -) of 2 up to 35",
				"k [30,60) ON_TIME #0 1 (was -) of 1 up to 35",
			},
		},
		{
			name: "values that cancel", windows: windowfns.Tumbling{Size: 10 * ms}, lateness: 5 * ms,
			steps: []oracle.Step{
				at("k", 1, 1e300), at("k", 2, 1), at("l", 3, 0.1), at("k", 3, -1e300), oracle.Watermark(10),
				at("k", 4, -1), at("l", 4, 0.2),
			},
			want: []string{
				"k [0,10) ON_TIME #0 0.3333333333333333 (was -) of 3 up to 3",
				"k [0,10) LATE #1 0 (was 0.3333333333333333) of 4 up to 4",
				"l [0,10) ON_TIME #0 0.1 (was -) of 1 up to 3",
				// The sum of 0.1 and 0.2 is 0.30000000000000004, half of it 0.15000000000000002.
				"l [0,10) LATE #1 0.15000000000000002 (was 0.1) of 2 up to 4",
			},
		},
		{
			name: "a sum outside float64 has a mean", windows: windowfns.Cumulative{Step: 10 * ms, Size: 20 * ms},
			steps: []oracle.Step{at("k", 1, math.MaxFloat64), at("k", 11, math.MaxFloat64), at("k", 12, math.Copysign(0, -1))},
			want: []string{
				"k [0,10) ON_TIME #0 1.7976931348623157e+308 (was -) of 1 up to 1",
				"k [0,20) ON_TIME #0 1.1984620899082105e+308 (was -) of 3 up to 12",
			},
		},
		{
			// Berlin leaves summer time on 2024-10-27: the day has 25 hours.
			name: "a long day", windows: windowfns.Calendar{Unit: windowfns.Day, Zone: "Europe/Berlin"},
			steps: []oracle.Step{at("k", 1_729_980_000_000, 1), at("k", 1_730_069_999_999, 2), at("k", 1_730_070_000_000, 4)},
			want: []string{
				"k [1729980000000,1730070000000) ON_TIME #0 1.5 (was -) of 2 up to 1730069999999",
				"k [1730070000000,1730156400000) ON_TIME #0 4 (was -) of 1 up to 1730070000000",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := oracle.PlayAverage(c.windows, c.lateness.Milliseconds(), c.steps)
			if diff := cmp.Diff(c.want, lines(want.Rows)); diff != "" {
				t.Errorf("oracle: mismatch (-want +got):\n%s", diff)
			}
			verify(t, average.Config{Windows: c.windows, AllowedLateness: c.lateness}, timeline(c.steps).Create, want)
		})
	}
}

// lines is rows as text, by key, window and revision.
func lines(rows []oracle.AverageRow) []string {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b oracle.AverageRow) int {
		for _, d := range []int64{int64(strings.Compare(a.Key, b.Key)), a.EndMs - b.EndMs, a.Revision - b.Revision} {
			if d != 0 {
				return int(d)
			}
		}
		return 0
	})
	var all []string
	for _, r := range rows {
		was := "-"
		if r.PreviousAverage != nil {
			was = fmt.Sprint(*r.PreviousAverage)
		}
		all = append(all, fmt.Sprintf("%s [%d,%d) %s #%d %v (was %s) of %d up to %d",
			r.Key, r.StartMs, r.EndMs, r.Pane, r.Revision, *r.Average, was, r.Count, *r.MaxTimeMs))
	}
	return all
}

// TestRandomTimelines plays random scripts over windows of every kind, with and
// without allowed lateness, with values that cancel, overflow and vanish.
func TestRandomTimelines(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 2))
		windows := []windowfns.Fn{
			windowfns.Tumbling{Size: 20 * ms, Offset: -3 * ms},
			thirties,
			windowfns.Cumulative{Step: 8 * ms, Size: 24 * ms},
			windowfns.Calendar{Unit: windowfns.Day, Zone: "America/Los_Angeles"},
		}[seed%4]
		cfg := average.Config{Windows: windows, AllowedLateness: time.Duration(seed/4*13) * ms, Shards: 1 + rng.IntN(4)}
		t.Run(fmt.Sprintf("seed=%d/%v/lateness=%v", seed, windows, cfg.AllowedLateness), func(t *testing.T) {
			steps := script(rng, windows, cfg.AllowedLateness.Milliseconds())
			verify(t, cfg, timeline(steps).Create, oracle.PlayAverage(windows, cfg.AllowedLateness.Milliseconds(), steps))
		})
	}
}

// script is random elements and watermarks, many within a millisecond of a
// deadline.
func script(rng *rand.Rand, windows windowfns.Fn, latenessMs int64) (steps []oracle.Step) {
	w := windows.AppendWindows(nil, 0)[0]
	size, wm := w.EndMs-w.StartMs, []int64{0, -5_000_000_000, 1_730_000_000_000}[rng.IntN(3)]
	for range 32 {
		if rng.IntN(4) == 0 {
			ws := windows.AppendWindows(nil, wm+rng.Int64N(size))
			wm = max(wm, ws[rng.IntN(len(ws))].EndMs+rng.Int64N(2)*latenessMs-rng.Int64N(2))
			steps = append(steps, oracle.Watermark(wm))
		}
		steps = append(steps, at([]string{"", "a", "a", "b\x00\xff"}[rng.IntN(4)], wm+rng.Int64N(3*size+1)-2*size, someValue(rng)))
	}
	return steps
}

func someValue(rng *rand.Rand) float64 {
	special := []float64{1e300, -1e300, 1, 0.1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}
	if rng.IntN(2) == 0 {
		return special[rng.IntN(len(special))]
	}
	return math.Round(rng.NormFloat64()*1e4) / 100
}

// TestOrderAndBundles brings the same elements in time in several orders and
// bundles: the rows are the same to the last bit.
func TestOrderAndBundles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var steps []oracle.Step
	for range 60 {
		steps = append(steps, at([]string{"a", "b"}[rng.IntN(2)], rng.Int64N(50), someValue(rng)))
	}
	want := oracle.PlayAverage(thirties, 0, steps)
	for _, perBundle := range []int{1, 7, len(steps)} {
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		tl := timeline(steps)
		verify(t, average.Config{Windows: thirties, Watermarked: true, Shards: 1 + rng.IntN(4)}, func(s beam.Scope) beam.PCollection {
			return tl.Live(s, perBundle)
		}, want)
	}
}

func TestErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	ok, col := average.Config{Windows: thirties}, beam.Create(s, sample{})
	for _, c := range []struct {
		cfg  average.Config
		fn   any
		want string
	}{
		{average.Config{}, valueOf, "Windows is nil"},
		{ok, nil, "valueOf = <nil>, want func(average_test.sample) average.Entry"},
		{ok, func(sample) average.Entry { return average.Entry{} }, "valueOf = "},
		{average.Config{Windows: thirties, MarksDecide: true}, valueOf, "MarksDecide without Watermarked, want both"},
	} {
		_, _, err := average.TryPerKey(s, c.cfg, c.fn, col)
		_, _, _, countsErr := average.TryPerKeyWithCounts(s, c.cfg, c.fn, col)
		for name, err := range map[string]error{"PerKey": err, "PerKeyWithCounts": countsErr} {
			if err == nil || !strings.HasPrefix(err.Error(), "average."+name+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want an error with %s", name, err, c.want)
			}
		}
		for _, construct := range []func(){
			func() { average.PerKey(s, c.cfg, c.fn, col) }, func() { average.PerKeyWithCounts(s, c.cfg, c.fn, col) },
		} {
			if err := recovered(construct); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("panic with %v, want %s", err, c.want)
			}
		}
	}
}

func recovered(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if err, ok = r.(error); !ok {
				err = errors.New("no error")
			}
		}
	}()
	f()
	return nil
}

// A value that is not finite fails the job.
func TestNaN(t *testing.T) {
	_, err := streamtest.TryRun(func(s beam.Scope) {
		average.PerKey(s, average.Config{Windows: thirties}, valueOf, timeline([]oracle.Step{at("k", 0, math.NaN())}).Create(s))
	})
	if err == nil || !strings.Contains(err.Error(), "average: value NaN, want a finite number") {
		t.Errorf("%v, want an error on NaN", err)
	}
}
