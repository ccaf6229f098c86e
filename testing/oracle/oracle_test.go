package oracle_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

const ms = time.Millisecond

var tens = windowfns.Tumbling{Size: 10 * ms}

// k is an element of the key k without a currency.
func k(timeMs, minor int64) oracle.Step {
	return oracle.Add(oracle.Element{Key: "k", Minor: minor, TimeMs: timeMs})
}

func in(key, currency string, timeMs, minor int64) oracle.Step {
	return oracle.Add(oracle.Element{Key: key, Currency: currency, Minor: minor, TimeMs: timeMs})
}

// Every expectation is derived by hand from the table of the package
// documentation. Steps are written down with what they cause.
func TestPlay(t *testing.T) {
	for _, c := range []struct {
		name     string
		windows  windowfns.Fn
		lateness int64
		steps    []oracle.Step
		want     string
	}{
		{
			name: "nothing", windows: tens,
			steps: []oracle.Step{oracle.Watermark(100)},
			want:  "pairs 0 = 0 (0 corrected) + 0",
		},
		{
			name: "in time at end - 1, late at end", windows: tens,
			steps: []oracle.Step{
				k(3, 5),
				oracle.Watermark(9),
				k(0, 2), // 9 < 10
				oracle.Watermark(10),
				k(9, 7),  // 10 >= 10 + 0
				k(10, 1), // the next window
			},
			want: `
row k/ [0,10) ON_TIME #0 7(-) of 2(-) max 3
row k/ [10,20) ON_TIME #0 1(-) of 1(-) max 10
late k/ 7 at 9 missed [{0 10}] all=true
pairs 4 = 3 (0 corrected) + 1`,
		},
		{
			name: "corrections until end + L", windows: tens, lateness: 5,
			steps: []oracle.Step{
				k(3, 5),
				oracle.Watermark(10), // ON_TIME 5
				k(4, 1),              // LATE 6
				k(2, 2),              // LATE 8
				oracle.Watermark(14),
				k(9, -9), // LATE -1, later max
				oracle.Watermark(15),
				k(1, 100), // 15 >= 10 + 5
			},
			want: `
row k/ [0,10) LATE #1 6(5) of 2(1) max 4
row k/ [0,10) LATE #2 8(6) of 3(2) max 4
row k/ [0,10) LATE #3 -1(8) of 4(3) max 9
row k/ [0,10) ON_TIME #0 5(-) of 1(-) max 3
late k/ 100 at 1 missed [{0 10}] all=true
pairs 5 = 4 (3 corrected) + 1`,
		},
		{
			name: "the first element is late: no ON_TIME row", windows: tens, lateness: 5,
			steps: []oracle.Step{oracle.Watermark(12), k(3, 5), k(3, 5)},
			want: `
row k/ [0,10) LATE #0 5(-) of 1(-) max 3
row k/ [0,10) LATE #1 10(5) of 2(1) max 3
pairs 2 = 2 (2 corrected) + 0`,
		},
		{
			name: "a watermark that falls has no effect", windows: tens,
			steps: []oracle.Step{k(3, 1), oracle.Watermark(10), oracle.Watermark(2), k(3, 1)},
			want: `
row k/ [0,10) ON_TIME #0 1(-) of 1(-) max 3
late k/ 1 at 3 missed [{0 10}] all=true
pairs 2 = 1 (0 corrected) + 1`,
		},
		{
			name: "keys and currencies stay apart", windows: tens,
			steps: []oracle.Step{in("a", "EUR", 1, 1), in("a", "USD", 2, 2), in("b", "EUR", 3, 4), in("a", "EUR", 4, 8), in("", "", 5, 16)},
			want: `
row / [0,10) ON_TIME #0 16(-) of 1(-) max 5
row a/EUR [0,10) ON_TIME #0 9(-) of 2(-) max 4
row a/USD [0,10) ON_TIME #0 2(-) of 1(-) max 2
row b/EUR [0,10) ON_TIME #0 4(-) of 1(-) max 3
pairs 5 = 5 (0 corrected) + 0`,
		},
		{
			// The windows of 25 end at 30, 40 and 50.
			name: "late for two of three windows", windows: windowfns.Sliding{Size: 30 * ms, Period: 10 * ms},
			steps: []oracle.Step{oracle.Watermark(40), k(25, 3)},
			want: `
row k/ [20,50) ON_TIME #0 3(-) of 1(-) max 25
late k/ 3 at 25 missed [{0 30} {10 40}] all=false
pairs 3 = 1 (0 corrected) + 2`,
		},
		{
			// With L = 10, 30 is missed, 40 is corrected and 50 is open.
			name: "missed, corrected and in time at once", windows: windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, lateness: 10,
			steps: []oracle.Step{oracle.Watermark(40), k(25, 3)},
			want: `
row k/ [10,40) LATE #0 3(-) of 1(-) max 25
row k/ [20,50) ON_TIME #0 3(-) of 1(-) max 25
late k/ 3 at 25 missed [{0 30}] all=false
pairs 3 = 2 (1 corrected) + 1`,
		},
		{
			name: "before 1970", windows: tens,
			steps: []oracle.Step{k(-1, 1), k(-10, 2), k(-11, 4), k(0, 8)},
			want: `
row k/ [-10,0) ON_TIME #0 3(-) of 2(-) max -1
row k/ [-20,-10) ON_TIME #0 4(-) of 1(-) max -11
row k/ [0,10) ON_TIME #0 8(-) of 1(-) max 0
pairs 4 = 4 (0 corrected) + 0`,
		},
		{
			name: "an overflow is reported, a refund brings the sum back", windows: tens, lateness: 5,
			steps: []oracle.Step{
				k(1, math.MaxInt64), k(2, 1),
				oracle.Watermark(10), // 2^63 is outside
				k(3, 1),              // still outside
				k(4, -2),             // MaxInt64: the first row
				k(5, 1),              // outside again
				k(6, -3),             // the second row follows the first
			},
			want: `
overflow k/ [0,10) LATE 9223372036854775808 of 5
overflow k/ [0,10) LATE 9223372036854775809 of 3
overflow k/ [0,10) ON_TIME 9223372036854775808 of 2
row k/ [0,10) LATE #0 9223372036854775807(-) of 4(-) max 4
row k/ [0,10) LATE #1 9223372036854775805(9223372036854775807) of 6(4) max 6
pairs 6 = 6 (4 corrected) + 0`,
		},
		{
			name: "negative overflow", windows: tens,
			steps: []oracle.Step{k(1, math.MinInt64), k(2, math.MinInt64), in("l", "", 3, math.MinInt64)},
			want: `
overflow k/ [0,10) ON_TIME -18446744073709551616 of 2
row l/ [0,10) ON_TIME #0 -9223372036854775808(-) of 1(-) max 3
pairs 3 = 3 (0 corrected) + 0`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := render(oracle.Play(c.windows, c.lateness, c.steps))
			if diff := cmp.Diff(strings.Split(strings.TrimPrefix(c.want, "\n"), "\n"), got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// render sorts what came out and appends the counts.
func render(res oracle.Result) []string {
	var out []string
	for _, r := range res.Rows {
		out = append(out, fmt.Sprintf("row %s/%s [%d,%d) %s #%d %d(%s) of %d(%s) max %s",
			r.Key, r.Currency, r.StartMs, r.EndMs, r.Pane, r.Revision,
			r.Minor, orDash(r.PreviousMinor), r.Count, orDash(r.PreviousCount), orDash(r.MaxTimeMs)))
	}
	for _, o := range res.Overflows {
		out = append(out, fmt.Sprintf("overflow %s/%s [%d,%d) %s %s of %d", o.Key, o.Currency, o.StartMs, o.EndMs, o.Pane, o.Total, o.Count))
	}
	slices.Sort(out)
	for _, l := range res.Late {
		out = append(out, fmt.Sprintf("late %s/%s %d at %d missed %v all=%v", l.Element.Key, l.Element.Currency, l.Element.Minor, l.Element.TimeMs, l.Missed, l.All))
	}
	return append(out, fmt.Sprintf("pairs %d = %d (%d corrected) + %d", res.Assigned, res.Added, res.Corrected, res.Missed))
}

func orDash[T any](n *T) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// A row that was handed out must not change when its cell goes on.
func TestPreviousValuesAreCopies(t *testing.T) {
	res := oracle.Play(tens, 5, []oracle.Step{oracle.Watermark(10), k(1, 1), k(1, 2), k(1, 4)})
	if got := *res.Rows[1].PreviousMinor; got != 1 {
		t.Errorf("previous = %d, want 1", got)
	}
	if got := *res.Rows[2].PreviousMinor; got != 3 {
		t.Errorf("previous = %d, want 3", got)
	}
}

// Averages and their sums are rounded once, and a sum outside float64 is nil.
func TestPlayAverage(t *testing.T) {
	value := func(timeMs int64, x float64) oracle.Step {
		return oracle.Add(oracle.Element{Key: "k", Value: x, TimeMs: timeMs})
	}
	res := oracle.PlayAverage(tens, 5, []oracle.Step{
		value(1, 1e300), value(2, 1), value(3, -1e300),
		oracle.Watermark(10), // ON_TIME: a third
		value(4, -1),         // LATE: zero
		value(5, math.MaxFloat64), value(6, math.MaxFloat64),
		oracle.Watermark(15),
		value(7, 2.5),
	})
	var got []string
	for _, r := range res.Rows {
		got = append(got, fmt.Sprintf("%s %s [%d,%d) #%d %s(%s) = %s / %d(%s) max %d",
			r.Key, r.Pane, r.StartMs, r.EndMs, r.Revision, orDash(r.Average), orDash(r.PreviousAverage), orDash(r.Sum),
			r.Count, orDash(r.PreviousCount), *r.MaxTimeMs))
	}
	for _, c := range res.Counts {
		if len(c.Sum) < 10 {
			got = append(got, fmt.Sprintf("%s %d %s", c.Kind, c.Elements, c.Sum))
		}
	}
	slices.Sort(got)
	want := []string{
		"k LATE [0,10) #1 0(0.3333333333333333) = 0 / 4(3) max 4",
		"k LATE [0,10) #2 3.5953862697246315e+307(0) = 1.7976931348623157e+308 / 5(4) max 5",
		"k LATE [0,10) #3 5.992310449541053e+307(3.5953862697246315e+307) = - / 6(5) max 6",
		"k ON_TIME [0,10) #0 0.3333333333333333(-) = 1 / 3(-) max 3",
		"late 1 2.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
