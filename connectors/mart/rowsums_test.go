package mart

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
)

// sumLine is a row of an hour of 1 June 2024, and overLine an overflow.
func sumLine(key, currency string, hour, revision int, sum, count int64) string {
	start := 1_717_200_000_000 + int64(hour)*3_600_000
	r := gmv.Row{Key: key, Currency: currency, StartMs: start, EndMs: start + 3_600_000, Pane: "LATE", Revision: int64(revision), Minor: sum, Count: count}
	return string(rows.AppendGMV(nil, &r, true))
}

func overLine(key, currency string, hour int, total string, count int64) string {
	start := 1_717_200_000_000 + int64(hour)*3_600_000
	o := gmv.Overflow{Key: key, Currency: currency, StartMs: start, EndMs: start + 3_600_000, Pane: "LATE", Total: total, Count: count}
	return string(rows.AppendOverflow(nil, &o, true))
}

// moneyLine are counts whose money is not that of countsLine.
func moneyLine(currency string, hour, added int, sum string) string {
	line := countsLine(currency, hour, added, 0, 0)
	for _, name := range []string{"assigned_sum", "added_sum"} {
		line = strings.Replace(line, fmt.Sprintf(`"%s":"%d"`, name, 10*added), fmt.Sprintf(`"%s":%q`, name, sum), 1)
	}
	return line
}

// TestRowsChecked changes a mart behind its back.
func TestRowsChecked(t *testing.T) {
	const max64, over = math.MaxInt64, "9223372036854775808"
	all := map[Kind]Lines{
		Rows: of(
			sumLine("a", "EUR", 8, 0, 5, 1), sumLine("a", "EUR", 8, 1, 15, 2), sumLine("b", "EUR", 8, 0, 15, 1), sumLine("a", "USD", 8, 0, 10, 1),
			sumLine("back", "EUR", 9, 0, max64, 1), sumLine("back", "EUR", 9, 1, max64, 3), // 2 overflows, 3 is back
			sumLine("gone", "EUR", 9, 0, max64, 1),
		),
		Bad: of(overLine("back", "EUR", 9, over, 2), overLine("gone", "EUR", 9, over, 2), overLine("only", "EUR", 10, over, 2), badLine("in", 1)),
		Counts: of(countsLine("EUR", 8, 3, 1, 0), countsLine("EUR", 8, 0, 0, 1), countsLine("USD", 8, 1, 0, 0),
			moneyLine("EUR", 9, 5, "18446744073709551615"), moneyLine("EUR", 10, 2, over), countsLine("EUR", 11, 0, 0, 2)),
	}

	window := func(hour int, currency string) string {
		return fmt.Sprintf(`job "job", window 2024-06-01T%02d:00:00Z to 2024-06-01T%02d:00:00Z, currency %q: `, hour, hour+1, currency)
	}
	for statement, want := range map[string][]string{
		"DELETE FROM gmv": {
			window(8, "EUR") + "added=3, and the rows have count=0", window(8, "USD") + "added=1, and the rows have count=0",
			window(9, "EUR") + "added=5, and the rows have count=4",
		},
		"UPDATE gmv SET sum = sum + 1 WHERE key = 'b'":     {window(8, "EUR") + "added_sum=30, and the rows have sum=31"},
		"DELETE FROM gmv WHERE key = 'a'":                  {window(8, "EUR") + "added=3, and the rows have count=1", window(8, "USD") + "added=1, and the rows have count=0"},
		"DELETE FROM overflows WHERE key = 'gone'":         {window(9, "EUR") + "added=5, and the rows have count=4"},
		"DELETE FROM overflows WHERE key = 'back'":         nil,
		"UPDATE overflows SET total = '1' WHERE count = 2": {window(9, "EUR") + "added_sum=18446744073709551615, and the rows have sum=9223372036854775808", window(10, "EUR") + "added_sum=" + over + ", and the rows have sum=1"},
		"DELETE FROM window_counts WHERE currency = 'USD'": {
			window(8, "USD") + "added=0, and the rows have count=1", `job "job", all windows: assigned=13 is not the assigned=14 of run 1`,
		},
		"DELETE FROM window_counts WHERE late = 2": {`job "job", all windows: assigned=12 is not the assigned=14 of run 1`},
		"UPDATE runs SET late = 4":                 {`job "job", all windows: late=3 is not the late=4 of run 1`},
		"UPDATE runs SET added = 4":                {`job "job", all windows: added=11 is not the added=4 of run 1`},
	} {
		m := newMart(t)
		ok(t, begin(t, m, "job").Replace(all, Summary{Assigned: 14, Added: 11, Late: 3, Overflowed: 3}))
		_, faults := balances(t, m, "job")
		same(t, "before "+statement, nil, faults)
		ok(t, m.exec(statement))
		_, faults = balances(t, m, "job")
		same(t, statement, want, faults)
	}
	m := newMart(t)
	if plan := strings.Join(query(t, m, "EXPLAIN QUERY PLAN "+selectGMV, "job", 0), "\n"); strings.Contains(plan, "TEMP B-TREE") && strings.Contains(plan, "ORDER BY") {
		t.Errorf("the tables are sorted:\n%s", plan)
	}
}

// TestRowsOfRuns has runs whose rows are to be checked, and others.
func TestRowsOfRuns(t *testing.T) {
	m := newMart(t)
	step := func(what string, want ...string) {
		t.Helper()
		_, faults := balances(t, m, "job")
		same(t, what, want, faults)
	}
	one := Summary{Assigned: 1, Added: 1}
	batch := map[Kind]Lines{Rows: of(sumLine("a", "", 8, 0, 10, 1)), Bad: of(), Counts: of(countsLine("", 8, 1, 0, 0))}
	ok(t, begin(t, m, "job").Replace(batch, one))
	step("batch")
	stopped := begin(t, m, "job")
	ok(t, stopped.Insert(Counts, of(countsLine("", 9, 1, 0, 0), countsLine("", 10, 1, 0, 0))))
	ok(t, stopped.Insert(Rows, of(sumLine("a", "", 9, 0, 10, 1), sumLine("a", "", 11, 0, 10, 1))))
	step("running")
	ok(t, stopped.Finish(Interrupted, Summary{Assigned: 2, Added: 2}))
	step("interrupted")
	pipe := begin(t, m, "job")
	ok(t, pipe.Insert(Counts, of(countsLine("", 12, 1, 0, 0))))
	ok(t, pipe.Insert(Rows, of(sumLine("a", "", 12, 0, 10, 1))))
	ok(t, pipe.Finish(Done, one))
	step("a pipe after an interrupted one, whose windows stay")
	again := begin(t, m, "job")
	ok(t, again.Insert(Counts, of(countsLine("", 8, 1, 0, 0))))
	ok(t, again.Insert(Rows, of(sumLine("b", "", 8, 0, 10, 1))))
	ok(t, again.Finish(Done, one))
	step("a window of two runs", `job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: added=1, and the rows have count=2`)
	failed := begin(t, m, "job")
	ok(t, failed.Finish(Failed, Summary{}))
	step("a run that wrote nothing", `job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: added=1, and the rows have count=2`)
	ok(t, begin(t, m, "job").Replace(batch, one))
	step("all replaced")

	// Rows go elsewhere, and then overflows do.
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Bad: of(overLine("a", "", 8, "9", 3)), Counts: of(countsLine("", 8, 7, 0, 0))}, Summary{Assigned: 7, Added: 7, Overflowed: 1}))
	step("no rows")
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Rows: batch[Rows], Counts: batch[Counts]}, one))
	step("an old overflow stays")
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Rows: of(), Counts: batch[Counts]}, Summary{Assigned: 1, Added: 1, Overflowed: 1}))
	step("overflows elsewhere")
}

// TestNewerState has a row and an overflow of one key from several runs.
func TestNewerState(t *testing.T) {
	m := newMart(t)
	r := rowSums{history: history{whole: 4}}
	old, whole, kept, live := &keyState{run: 2, count: 5}, &keyState{run: 4, count: 4}, &keyState{run: 3, count: 6}, &keyState{run: 5, count: 1}
	for _, c := range []struct{ newer, older *keyState }{{old, whole}, {kept, whole}, {kept, old}, {live, kept}, {live, whole}} {
		if r.newer(c.newer, c.older) != c.newer || r.newer(c.older, c.newer) != c.newer {
			t.Errorf("of %+v and %+v, want the first", c.newer, c.older)
		}
	}
	for run, line := range []string{sumLine("a", "", 8, 0, 10, 1), overLine("a", "", 8, "20", 2), sumLine("a", "", 8, 0, 10, 1)} {
		r, kind := begin(t, m, "job"), Rows
		if strings.Contains(line, "total") {
			kind = Bad
		}
		added := 1 + run%2
		ok(t, r.Insert(kind, of(line)))
		ok(t, r.Insert(Rows, of(sumLine("z", "", 9, 0, 10, 1))))
		ok(t, r.Insert(Counts, of(countsLine("", 8, added, 0, 0), countsLine("", 9, 1, 0, 0))))
		ok(t, r.Finish(Done, Summary{Overflowed: int64(run % 2)}))
		_, faults := balances(t, m, "job")
		same(t, fmt.Sprint("run ", run+1), nil, faults)
	}
}

func TestNote(t *testing.T) {
	m := newMart(t)
	want := func(want string) {
		t.Helper()
		ok(t, m.Balances("job", func(b *Balance) error {
			if got := b.Note(); got != want {
				t.Errorf("note %q, want %q", got, want)
			}
			return nil
		}))
	}
	r := begin(t, m, "job")
	want(`job "job": its newest run, 1, is running`)
	ok(t, r.Replace(nil, Summary{}))
	want("")
	for _, status := range []string{Failed, Interrupted} {
		r := begin(t, m, "job")
		ok(t, r.Finish(status, Summary{}))
		want(fmt.Sprintf(`job "job": its newest run, %d, is %s`, r.Number(), status))
	}
	begin(t, m, "job")
	ok(t, m.exec("UPDATE runs SET status = 'crashed' WHERE status = 'running'"))
	want(`job "job": its newest run, 4, is crashed`)
}

// TestAllJobsExact draws sums of several jobs near the edges of 64 bits.
func TestAllJobsExact(t *testing.T) {
	m := newMart(t)
	check := func(t tester, sums []int64) {
		t.Helper()
		want := new(big.Int)
		ok(t, m.exec("DELETE FROM gmv"))
		for i, s := range sums {
			want.Add(want, big.NewInt(s))
			ok(t, m.exec("INSERT INTO gmv VALUES (?, 2, 1, 'k', '', 1, 0, 'LATE', ?, NULL, 1, NULL, NULL)", fmt.Sprint(i), s))
		}
		kind := "integer"
		if !want.IsInt64() {
			kind = "text"
		}
		got := query(t, m, "SELECT sum, typeof(sum), count, jobs FROM gmv_all_jobs")
		if len(got) != 1 || got[0] != fmt.Sprintf("%v|%s|%d|%[3]d", want, kind, len(sums)) {
			t.Fatalf("%v: got %v, want %v", sums, got, want)
		}
	}
	const highest, lowest = math.MaxInt64, math.MinInt64
	for _, sums := range [][]int64{
		{highest},
		{lowest},
		{highest, 1},
		{lowest, -1},
		{highest, 1, -1},
		{lowest, -1, 1},
		{highest, lowest},
		{highest, highest},
		{lowest, lowest},
		{highest, highest, lowest, lowest},
		{1e9, -1},
		{-1e9, 1},
		{999_999_999, 1},
		{-999_999_999, -1},
		{0},
		{-1},
		{9e18, 1e18},
		{-9e18, -1e18},
		{highest - 854_775_807, 854_775_807, 1},
		{lowest + 854_775_808, -854_775_808, -1},
	} {
		check(t, sums)
	}
	edges := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Int64Range(highest-3, highest), rapid.Int64Range(lowest, lowest+3),
		rapid.Int64Range(1e9-2, 1e9+2), rapid.Int64Range(-1e9-2, -1e9+2))
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.SliceOfN(edges, 1, 6).Draw(t, "sums")) })
}
