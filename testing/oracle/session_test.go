package oracle_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
)

// The gap is 10, so that an element at t has the window [t, t+10) by itself.
func TestSessions(t *testing.T) {
	for _, c := range []playCase{
		{
			name: "windows that touch stay apart", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{k(0, 1), k(5, 2), k(15, 4)},
			want: `
row k/ [0,15) ON_TIME #0 3(-) of 2(-) max 5
row k/ [15,25) ON_TIME #0 4(-) of 1(-) max 15
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "across 1970", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{k(-15, 1), k(-6, 2), k(4, 4), k(-25, 8)},
			want: `
row k/ [-15,4) ON_TIME #0 3(-) of 2(-) max -6
row k/ [-25,-15) ON_TIME #0 8(-) of 1(-) max -25
row k/ [4,14) ON_TIME #0 4(-) of 1(-) max 4
pairs 4 = 4 (0 corrected) + 0`,
		},
		{
			name: "one that bridges two, of one key and currency", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{in("a", "EUR", 0, 1), in("a", "EUR", 15, 2), in("a", "USD", 8, 4), in("b", "EUR", 8, 8), in("a", "EUR", 8, 16)},
			want: `
row a/EUR [0,25) ON_TIME #0 19(-) of 3(-) max 15
row a/USD [8,18) ON_TIME #0 4(-) of 1(-) max 8
row b/EUR [8,18) ON_TIME #0 8(-) of 1(-) max 8
pairs 5 = 5 (0 corrected) + 0`,
		},
		{
			// Touches the one before it, overlaps the one behind it.
			name: "between two", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{k(0, 1), k(15, 2), k(10, 4)},
			want: `
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 0
row k/ [10,25) ON_TIME #0 6(-) of 2(-) max 15
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "an element in time extends a session that has fired", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{
				k(0, 1),
				oracle.Watermark(12), // ON_TIME of [0,10)
				k(3, 2),              // 12 < 13: [0,10) is withdrawn
				oracle.Watermark(13), // ON_TIME of [0,13)
				k(2, 4),              // 13 >= 12
			},
			want: `
row k/ [0,10) LATE #1 0(1) of 0(1) max -
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 0
row k/ [0,13) ON_TIME #0 3(-) of 2(-) max 3
late k/ 4 at 2 missed [{2 12}] all=true
pairs 3 = 2 (0 corrected) + 1`,
		},
		{
			name: "a correction inside a session", cfg: oracle.Config{Windows: sessions, AllowedLateness: 10 * ms},
			steps: []oracle.Step{
				k(0, 1), k(5, 2),
				oracle.Watermark(15), // ON_TIME 3
				k(3, 4),              // its own window ended at 13, takes elements until 23: LATE 7
			},
			want: `
row k/ [0,15) LATE #1 7(3) of 3(2) max 5
row k/ [0,15) ON_TIME #0 3(-) of 2(-) max 5
pairs 3 = 3 (1 corrected) + 0`,
		},
		{
			name: "a correction inside an open session is no LATE row", cfg: oracle.Config{Windows: sessions, AllowedLateness: 10 * ms},
			steps: []oracle.Step{
				k(0, 1), k(9, 2),
				oracle.Watermark(15),
				k(1, 4), // its own window ended at 11, the session ends at 19
			},
			want: `
row k/ [0,19) ON_TIME #0 7(-) of 3(-) max 9
pairs 3 = 3 (1 corrected) + 0`,
		},
		{
			name: "a correction in front of a session", cfg: oracle.Config{Windows: sessions, AllowedLateness: 20 * ms},
			steps: []oracle.Step{
				k(10, 1),
				oracle.Watermark(20), // ON_TIME of [10,20)
				k(5, 2),              // [10,20) is withdrawn, [5,20) is LATE
				k(0, 4),              // and so is [5,20)
			},
			want: `
row k/ [0,20) LATE #0 7(-) of 3(-) max 10
row k/ [10,20) LATE #1 0(1) of 0(1) max -
row k/ [10,20) ON_TIME #0 1(-) of 1(-) max 10
row k/ [5,20) LATE #0 3(-) of 2(-) max 10
row k/ [5,20) LATE #1 0(3) of 0(2) max -
pairs 3 = 3 (2 corrected) + 0`,
		},
		{
			name: "a bridge from a session that has fired to an open one", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{
				k(0, 1), k(15, 2),
				oracle.Watermark(12), // ON_TIME of [0,10)
				k(7, 4),              // [7,17) is open: [0,10) is withdrawn, [15,25) had no row
			},
			want: `
row k/ [0,10) LATE #1 0(1) of 0(1) max -
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 0
row k/ [0,25) ON_TIME #0 7(-) of 3(-) max 15
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "the same with early and final rows", cfg: oracle.Config{Windows: sessions, EarlyCount: 1, FinalRows: true},
			steps: []oracle.Step{
				k(0, 1), k(15, 2), // EARLY, both
				oracle.Watermark(12), // ON_TIME and FINAL of [0,10)
				k(7, 4),              // both are withdrawn, and [0,25) is EARLY
				oracle.Watermark(25), // ON_TIME of [0,25), FINAL of all that is left
			},
			want: `
row k/ [0,10) EARLY #0 1(-) of 1(-) max 0
row k/ [0,10) FINAL #2 1(1) of 1(1) max 0
row k/ [0,10) LATE #3 0(1) of 0(1) max -
row k/ [0,10) ON_TIME #1 1(1) of 1(1) max 0
row k/ [0,25) EARLY #0 7(-) of 3(-) max 15
row k/ [0,25) FINAL #2 7(7) of 3(3) max 15
row k/ [0,25) ON_TIME #1 7(7) of 3(3) max 15
row k/ [15,25) EARLY #0 2(-) of 1(-) max 15
row k/ [15,25) EARLY #1 0(2) of 0(1) max -
row k/ [15,25) FINAL #2 0(0) of 0(0) max -
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			// [0,10) closes at 15, but an element before 10 is taken until its own
			// window closes, at the latest at 25.
			name: "withdrawn after FINAL", cfg: oracle.Config{Windows: sessions, AllowedLateness: 5 * ms, FinalRows: true},
			steps: []oracle.Step{
				k(0, 1),
				oracle.Watermark(16), // ON_TIME and FINAL of [0,10)
				k(2, 2),              // own [2,12), closes at 17: [0,12) is LATE
				oracle.Watermark(17), // FINAL of [0,12)
				k(9, 4),              // own [9,19) is open
			},
			want: `
row k/ [0,10) FINAL #1 1(1) of 1(1) max 0
row k/ [0,10) LATE #2 0(1) of 0(1) max -
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 0
row k/ [0,12) FINAL #1 3(3) of 2(2) max 2
row k/ [0,12) LATE #0 3(-) of 2(-) max 2
row k/ [0,12) LATE #2 0(3) of 0(2) max -
row k/ [0,19) FINAL #1 7(7) of 3(3) max 9
row k/ [0,19) ON_TIME #0 7(-) of 3(-) max 9
pairs 3 = 3 (1 corrected) + 0`,
		},
		{
			name: "its own window is missed", cfg: oracle.Config{Windows: sessions, AllowedLateness: 5 * ms},
			steps: []oracle.Step{
				k(9, 1),
				oracle.Watermark(15),
				k(0, 2), // closed at 15, though [9,19) is open
			},
			want: `
row k/ [9,19) ON_TIME #0 1(-) of 1(-) max 9
late k/ 2 at 0 missed [{0 10}] all=true
pairs 2 = 1 (0 corrected) + 1`,
		},
		{
			name: "all of a session that grows count again", cfg: oracle.Config{Windows: sessions, EarlyCount: 2},
			steps: []oracle.Step{
				k(0, 1), k(1, 2), // EARLY of [0,11)
				k(5, 4),   // withdrawn; EARLY of [0,15)
				k(3, 8),   // one
				k(2, 16),  // two: EARLY
				k(20, 32), // another
				oracle.Watermark(15),
			},
			want: `
row k/ [0,11) EARLY #0 3(-) of 2(-) max 1
row k/ [0,11) EARLY #1 0(3) of 0(2) max -
row k/ [0,15) EARLY #0 7(-) of 3(-) max 5
row k/ [0,15) EARLY #1 31(7) of 5(3) max 5
row k/ [0,15) ON_TIME #2 31(31) of 5(5) max 5
row k/ [20,30) ON_TIME #0 32(-) of 1(-) max 20
pairs 6 = 6 (0 corrected) + 0`,
		},
		{
			name: "also those of a session that has fired", cfg: oracle.Config{Windows: sessions, EarlyCount: 3},
			steps: []oracle.Step{
				k(0, 1),
				oracle.Watermark(10), // ON_TIME of [0,10)
				k(5, 2),              // withdrawn; two of [0,15) are not shown
				k(6, 4),              // three of [0,16): EARLY
			},
			want: `
row k/ [0,10) LATE #1 0(1) of 0(1) max -
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 0
row k/ [0,16) EARLY #0 7(-) of 3(-) max 6
row k/ [0,16) ON_TIME #1 7(7) of 3(3) max 6
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "a delay goes on through a merge, and begins anew where rows are withdrawn", cfg: oracle.Config{Windows: sessions, EarlyDelay: 10 * ms},
			steps: []oracle.Step{
				k(0, 1),
				oracle.Elapse(4 * ms),
				k(5, 2),               // [0,15), not shown since 0
				oracle.Elapse(6 * ms), // 10: EARLY
				oracle.Elapse(5 * ms),
				k(8, 4),               // 15: withdrawn; [0,18) is not shown since now
				oracle.Elapse(9 * ms), // 24
				oracle.Elapse(ms),     // 25: EARLY
			},
			want: `
row k/ [0,15) EARLY #0 3(-) of 2(-) max 5
row k/ [0,15) EARLY #1 0(3) of 0(2) max -
row k/ [0,18) EARLY #0 7(-) of 3(-) max 8
row k/ [0,18) ON_TIME #1 7(7) of 3(3) max 8
pairs 3 = 3 (0 corrected) + 0`,
		},
		{
			name: "overflow of a session that grows", cfg: oracle.Config{Windows: sessions},
			steps: []oracle.Step{
				k(0, math.MaxInt64),
				oracle.Watermark(10), // ON_TIME
				k(5, 1),              // withdrawn
				oracle.Watermark(15), // 2^63 is outside
				k(6, -1),             // [0,16): MaxInt64; [0,15) had no row
			},
			want: `
overflow k/ [0,15) ON_TIME 9223372036854775808 of 2
row k/ [0,10) LATE #1 0(9223372036854775807) of 0(1) max -
row k/ [0,10) ON_TIME #0 9223372036854775807(-) of 1(-) max 0
row k/ [0,16) ON_TIME #0 9223372036854775807(-) of 3(-) max 6
pairs 3 = 3 (0 corrected) + 0`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

// A row that withdraws has neither an average nor a time, and what follows it has
// no average before it.
func TestWithdrawnAverage(t *testing.T) {
	value := func(timeMs int64, x float64) oracle.Step {
		return oracle.Add(oracle.Element{Key: "k", Value: x, TimeMs: timeMs})
	}
	res := oracle.Config{Windows: sessions, EarlyCount: 1, FinalRows: true}.PlayAverage([]oracle.Step{value(0, 1), value(5, 2)})
	var got []string
	for _, r := range res.Rows {
		got = append(got, fmt.Sprintf("[%d,%d) #%d %s %s(%s) = %s / %d(%s) max %s",
			r.StartMs, r.EndMs, r.Revision, r.Pane, orDash(r.Average), orDash(r.PreviousAverage), orDash(r.Sum), r.Count, orDash(r.PreviousCount), orDash(r.MaxTimeMs)))
	}
	slices.Sort(got)
	want := []string{
		"[0,10) #0 EARLY 1(-) = 1 / 1(-) max 0",
		"[0,10) #1 EARLY -(1) = 0 / 0(1) max -",
		"[0,10) #2 FINAL -(-) = 0 / 0(0) max -",
		"[0,15) #0 EARLY 1.5(-) = 3 / 2(-) max 5",
		"[0,15) #1 ON_TIME 1.5(1.5) = 3 / 2(2) max 5",
		"[0,15) #2 FINAL 1.5(1.5) = 3 / 2(2) max 5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// The counts of sessions are those of UTC days, also before 1970.
func TestSessionCounts(t *testing.T) {
	const day = 86_400_000
	res := oracle.Config{Windows: sessions}.Play([]oracle.Step{k(-1, 1), k(0, 2), k(-day, 4), k(-day-1, 8), k(day-1, 16), oracle.Watermark(-day), k(-day-20, 32)})
	var got []string
	for _, c := range res.Counts {
		got = append(got, fmt.Sprintf("%s [%d,%d) %d %s", c.Kind, c.StartMs/day, c.EndMs/day, c.Elements, c.Sum))
	}
	slices.Sort(got)
	want := []string{
		"added [-1,0) 2 5",
		"added [-2,-1) 1 8",
		"added [0,1) 2 18",
		"assigned [-1,0) 2 5",
		"assigned [-2,-1) 2 40",
		"assigned [0,1) 2 18",
		"late [-2,-1) 1 32",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
