package oracle_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

var sessions = windowfns.Session{Gap: 10 * ms}

// playCase is a script with what it comes to, derived by hand from the package
// documentation. Steps are written down with what they cause.
type playCase struct {
	name  string
	cfg   oracle.Config
	steps []oracle.Step
	want  string
}

func (c playCase) run(t *testing.T) {
	got := render(c.cfg.Play(c.steps))
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(c.want, "\n"), "\n"), got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestEarly(t *testing.T) {
	for _, c := range []playCase{
		{
			name: "whenever two are not shown", cfg: oracle.Config{Windows: tens, EarlyCount: 2},
			steps: []oracle.Step{
				k(1, 1), k(2, 2), // EARLY 3
				k(3, 4), k(0, 8), // EARLY 15
				k(4, 16),
				oracle.Watermark(10), // ON_TIME 31
			},
			want: `
row k/ [0,10) EARLY #0 3(-) of 2(-) max 2
row k/ [0,10) EARLY #1 15(3) of 4(2) max 3
row k/ [0,10) ON_TIME #2 31(15) of 5(4) max 4
pairs 5 = 5 (0 corrected) + 0`,
		},
		{
			name: "ON_TIME comes though all is shown, and nothing EARLY after it", cfg: oracle.Config{Windows: tens, AllowedLateness: 5 * ms, EarlyCount: 1},
			steps: []oracle.Step{
				k(1, 1), // EARLY 1
				oracle.Watermark(9),
				k(2, 2),              // EARLY 3
				oracle.Watermark(10), // ON_TIME 3
				k(3, 4),              // LATE 7
				k(13, 8),             // EARLY 8 of the next window
			},
			want: `
row k/ [0,10) EARLY #0 1(-) of 1(-) max 1
row k/ [0,10) EARLY #1 3(1) of 2(1) max 2
row k/ [0,10) LATE #3 7(3) of 3(2) max 3
row k/ [0,10) ON_TIME #2 3(3) of 2(2) max 2
row k/ [10,20) EARLY #0 8(-) of 1(-) max 13
row k/ [10,20) ON_TIME #1 8(8) of 1(1) max 13
pairs 4 = 4 (1 corrected) + 0`,
		},
		{
			name: "an element after the end is LATE, never EARLY", cfg: oracle.Config{Windows: tens, AllowedLateness: 5 * ms, EarlyCount: 1, EarlyDelay: ms},
			steps: []oracle.Step{oracle.Watermark(12), k(3, 5), oracle.Elapse(ms)},
			want: `
row k/ [0,10) LATE #0 5(-) of 1(-) max 3
pairs 1 = 1 (1 corrected) + 0`,
		},
		{
			name: "ten after the first that is not shown", cfg: oracle.Config{Windows: tens, EarlyDelay: 10 * ms},
			steps: []oracle.Step{
				k(1, 1),
				oracle.Elapse(9 * ms),
				k(2, 2),
				oracle.Elapse(ms),       // 10 after the first: EARLY 3
				oracle.Elapse(100 * ms), // nothing new
				k(3, 4),
				oracle.Elapse(25 * ms), // EARLY 7, once
				k(4, 8),
				oracle.Watermark(10), // ON_TIME 15
				oracle.Elapse(10 * ms),
			},
			want: `
row k/ [0,10) EARLY #0 3(-) of 2(-) max 2
row k/ [0,10) EARLY #1 7(3) of 3(2) max 3
row k/ [0,10) ON_TIME #2 15(7) of 4(3) max 4
pairs 4 = 4 (0 corrected) + 0`,
		},
		{
			name: "a row by count ends the wait", cfg: oracle.Config{Windows: tens, EarlyCount: 2, EarlyDelay: 10 * ms},
			steps: []oracle.Step{
				k(1, 1),
				oracle.Elapse(4 * ms),
				k(2, 2), // EARLY 3, by count
				oracle.Elapse(4 * ms),
				k(3, 4),               // at 8
				oracle.Elapse(2 * ms), // 10 after the first element, but that is shown
				oracle.Elapse(8 * ms), // 18: EARLY 7
			},
			want: `
row k/ [0,10) EARLY #0 3(-) of 2(-) max 2
row k/ [0,10) EARLY #1 7(3) of 3(2) max 3
row k/ [0,10) ON_TIME #2 7(7) of 3(3) max 3
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "each key, currency and window by itself", cfg: oracle.Config{Windows: tens, EarlyCount: 2},
			steps: []oracle.Step{in("a", "EUR", 1, 1), in("a", "USD", 1, 2), in("b", "EUR", 1, 4), in("a", "EUR", 11, 8), in("a", "USD", 2, 16)},
			want: `
row a/EUR [0,10) ON_TIME #0 1(-) of 1(-) max 1
row a/EUR [10,20) ON_TIME #0 8(-) of 1(-) max 11
row a/USD [0,10) EARLY #0 18(-) of 2(-) max 2
row a/USD [0,10) ON_TIME #1 18(18) of 2(2) max 2
row b/EUR [0,10) ON_TIME #0 4(-) of 1(-) max 1
pairs 5 = 5 (0 corrected) + 0`,
		},
		{
			name: "an overflow is reported early, and counts as shown", cfg: oracle.Config{Windows: tens, EarlyCount: 2},
			steps: []oracle.Step{
				k(1, math.MaxInt64), k(2, 1), // 2^63 is outside
				k(3, -8),         // one that is not shown
				k(4, 7),          // two: MaxInt64
				k(5, 1), k(6, 1), // outside again
				k(7, -2), // one
			},
			want: `
overflow k/ [0,10) EARLY 9223372036854775808 of 2
overflow k/ [0,10) EARLY 9223372036854775809 of 6
row k/ [0,10) EARLY #0 9223372036854775807(-) of 4(-) max 4
row k/ [0,10) ON_TIME #1 9223372036854775807(9223372036854775807) of 7(4) max 7
pairs 7 = 7 (0 corrected) + 0`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestFinal(t *testing.T) {
	for _, c := range []playCase{
		{
			name: "when the window closes", cfg: oracle.Config{Windows: tens, AllowedLateness: 5 * ms, FinalRows: true},
			steps: []oracle.Step{
				k(1, 1),
				oracle.Watermark(10), // ON_TIME 1
				k(2, 2),              // LATE 3
				oracle.Watermark(14),
				k(3, 4),              // LATE 7
				oracle.Watermark(15), // FINAL 7
				k(4, 8),              // late
			},
			want: `
row k/ [0,10) FINAL #3 7(7) of 3(3) max 3
row k/ [0,10) LATE #1 3(1) of 2(1) max 2
row k/ [0,10) LATE #2 7(3) of 3(2) max 3
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 1
late k/ 8 at 4 missed [{0 10}] all=true
pairs 4 = 3 (2 corrected) + 1`,
		},
		{
			name: "right after ON_TIME without lateness", cfg: oracle.Config{Windows: tens, EarlyCount: 1, FinalRows: true},
			steps: []oracle.Step{k(1, 1), oracle.Watermark(10)},
			want: `
row k/ [0,10) EARLY #0 1(-) of 1(-) max 1
row k/ [0,10) FINAL #2 1(1) of 1(1) max 1
row k/ [0,10) ON_TIME #1 1(1) of 1(1) max 1
pairs 1 = 1 (0 corrected) + 0`,
		},
		{
			name: "of a window whose only row is LATE", cfg: oracle.Config{Windows: tens, AllowedLateness: 5 * ms, FinalRows: true},
			steps: []oracle.Step{oracle.Watermark(10), k(1, 1)},
			want: `
row k/ [0,10) FINAL #1 1(1) of 1(1) max 1
row k/ [0,10) LATE #0 1(-) of 1(-) max 1
pairs 1 = 1 (1 corrected) + 0`,
		},
		{
			// k's total is outside int64 at the end, but its last row is not; l has no row.
			name: "the last row, not the total", cfg: oracle.Config{Windows: tens, AllowedLateness: 5 * ms, FinalRows: true},
			steps: []oracle.Step{
				k(1, 5), in("l", "", 1, math.MaxInt64), in("l", "", 2, 1),
				oracle.Watermark(10),
				k(2, math.MaxInt64),
			},
			want: `
overflow k/ [0,10) LATE 9223372036854775812 of 2
overflow l/ [0,10) ON_TIME 9223372036854775808 of 2
row k/ [0,10) FINAL #1 5(5) of 1(1) max 1
row k/ [0,10) ON_TIME #0 5(-) of 1(-) max 1
pairs 4 = 4 (1 corrected) + 0`,
		},
		{
			// The windows of 25 end at 30, 40 and 50, and close 10 later.
			name: "partly late, early and final", cfg: oracle.Config{
				Windows: windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, AllowedLateness: 10 * ms, EarlyCount: 1, FinalRows: true,
			},
			steps: []oracle.Step{oracle.Watermark(40), k(25, 3)},
			want: `
row k/ [10,40) FINAL #1 3(3) of 1(1) max 25
row k/ [10,40) LATE #0 3(-) of 1(-) max 25
row k/ [20,50) EARLY #0 3(-) of 1(-) max 25
row k/ [20,50) FINAL #2 3(3) of 1(1) max 25
row k/ [20,50) ON_TIME #1 3(3) of 1(1) max 25
late k/ 3 at 25 missed [{0 30}] all=false
pairs 3 = 2 (1 corrected) + 1`,
		},
	} {
		t.Run(c.name, c.run)
	}
}
