package mart

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func beginJoin(t tester, m *Mart, job, typ string) *Run {
	t.Helper()
	r, err := m.Begin(RunInfo{Job: job, Command: "join", Work: Join, JoinType: typ})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// joinSummary is the account of a run of a join.
func joinSummary(left, right SideCounts) Summary {
	return Summary{
		Assigned: left.Assigned + right.Assigned, Added: left.Joined + left.Unmatched + right.Joined + right.Unmatched,
		Late: left.Late + right.Late, OverLimit: left.OverLimit + right.OverLimit, Left: left, Right: right,
	}
}

// joinedLine is a row of an hour of 1 June 2024 as rows.JoinLines writes it for a
// mart. A position of 0 stands for no record.
func joinedLine(hour int, key string, left, right int) string {
	side := func(source string, position int) (event, member string) {
		if position == 0 {
			return "null", ""
		}
		return fmt.Sprintf(`{"n": %d}`, position), fmt.Sprintf(`,"%s_source":"in.ndjson","%[1]s_position":%d`, source, position)
	}
	l, lm := side("left", left)
	r, rm := side("right", right)
	return fmt.Sprintf(`{"key":%q,"left":%s,"right":%s,"time":"2024-06-01T%02d:00:00Z"%s%s}`, key, l, r, hour, lm, rm)
}

func joinLateLine(side string, position int) string {
	return fmt.Sprintf(`{"side":%q,"event":{"n": %d},"time":"2024-06-01T08:00:00Z","source":"in.ndjson","position":%[2]d,"key":"k"}`, side, position)
}

func sideBadLine(side string, position int) string {
	return strings.TrimSuffix(badLine("in.ndjson", position), "}") + fmt.Sprintf(`,"side":%q}`, side)
}

// selfJoin is what a full join of a file with itself puts out: record 1 with 1
// and 2, record 2 with 1; record 3 alone on both sides; 4 late, 5 bad, on both.
func selfJoin() (map[Kind]Lines, Summary) {
	side := SideCounts{Assigned: 4, Joined: 2, Unmatched: 1, Late: 1}
	sum := joinSummary(side, side)
	sum.Bad = 2
	return map[Kind]Lines{
		Rows: of(joinedLine(8, "k", 1, 1), joinedLine(8, "k", 1, 2), joinedLine(8, "k", 2, 1), joinedLine(9, "k", 3, 0), joinedLine(9, "k", 0, 3)),
		Late: of(joinLateLine("left", 4), joinLateLine("right", 4)),
		Bad:  of(sideBadLine("left", 5), sideBadLine("right", 5)),
	}, sum
}

// TestJoin loads a self join, and then the same again, which changes nothing but
// the table of runs.
func TestJoin(t *testing.T) {
	m := newMart(t)
	all, sum := selfJoin()
	ok(t, beginJoin(t, m, "trips", "full").Replace(all, sum))
	const eight, nine = "1717228800000", "1717232400000"
	want := []string{
		"'trips'|" + eight + "|'k'|'in.ndjson'|1|'in.ndjson'|1|1|'{\"n\": 1}'|'{\"n\": 1}'",
		"'trips'|" + eight + "|'k'|'in.ndjson'|1|'in.ndjson'|2|1|'{\"n\": 1}'|'{\"n\": 2}'",
		"'trips'|" + eight + "|'k'|'in.ndjson'|2|'in.ndjson'|1|1|'{\"n\": 2}'|'{\"n\": 1}'",
		"'trips'|" + nine + "|'k'|''|-1|'in.ndjson'|3|1|NULL|'{\"n\": 3}'",
		"'trips'|" + nine + "|'k'|'in.ndjson'|3|''|-1|1|'{\"n\": 3}'|NULL",
		"'trips'|'in.ndjson'|4|'left'|1|" + eight + "|'k'|'{\"n\": 4}'",
		"'trips'|'in.ndjson'|4|'right'|1|" + eight + "|'k'|'{\"n\": 4}'",
		"'trips'|'in.ndjson'|5|'left'|1|'{'|NULL|'cut off'",
		"'trips'|'in.ndjson'|5|'right'|1|'{'|NULL|'cut off'",
	}
	var got []string
	for _, row := range dump(t, m) {
		_, row, _ = strings.Cut(row, ": ")
		got = append(got, row)
	}
	same(t, "rows", want, got)
	same(t, "runs", []string{"1|join|full|1|8|6|2|0|4|2|1|1|0|0|4|2|1|1|0|0"}, query(t, m,
		"SELECT run, work, join_type, replaced, assigned, added, late, "+strings.Join(joinCountNames, ", ")+" FROM runs"))
	_, faults := balances(t, m, "")
	same(t, "faults", nil, faults)

	before := dump(t, m)
	ok(t, beginJoin(t, m, "trips", "full").Replace(all, sum))
	same(t, "rows of the same again", before, dump(t, m))
	_, faults = balances(t, m, "")
	same(t, "faults", nil, faults)

	// Another type removes what is not its own.
	side := SideCounts{Assigned: 4, Joined: 2, Unmatched: 1, Late: 1}
	ok(t, beginJoin(t, m, "trips", "inner").Replace(map[Kind]Lines{Rows: of(joinedLine(8, "k", 1, 2), joinedLine(8, "k", 2, 1)), Late: all[Late], Bad: of()}, joinSummary(side, side)))
	same(t, "rows", []string{"1|2|1", "2|1|1"}, query(t, m, "SELECT left_position, right_position, run FROM joined"))
	same(t, "bad records", nil, query(t, m, "SELECT * FROM bad"))
	_, faults = balances(t, m, "")
	same(t, "faults", nil, faults)
}

func TestJoinRefuses(t *testing.T) {
	m := newMart(t)
	for _, c := range []struct {
		info RunInfo
		want string
	}{
		{RunInfo{Job: "j", Work: Join}, `type of join = "", want inner, left, right, full, left_semi or left_anti`},
		{RunInfo{Job: "j", Work: Join, JoinType: "outer"}, `type of join = "outer", want inner`},
		{RunInfo{Job: "j", Work: GMV, JoinType: "inner"}, `type of join = "inner" in a job of gmv, want none`},
	} {
		_, err := m.Begin(c.info)
		says(t, err, c.want)
	}
	run := beginJoin(t, m, "trips", "inner")
	for _, c := range []struct {
		kind       Kind
		line, want string
	}{
		{Rows, `{"key":"k","left":null,"right":null}`, "line 1 of the rows has no member time"},
		{Rows, row("a", 8, 0, 1), "has no member time"},
		{Rows, strings.Replace(joinedLine(8, "k", 1, 1), `_position":1`, `_position":"1"`, 1), "want a whole number"},
		{Late, lateLine("in", 1, 8), "has no member side"},
		{Counts, plainLine(8, 1, 0, 0), `window counts for job "trips", want none: a join has no windows`},
	} {
		says(t, run.Insert(c.kind, of(c.line)), c.want)
		says(t, run.Replace(map[Kind]Lines{c.kind: of(c.line)}, Summary{}), c.want)
	}
	same(t, "rows", nil, dump(t, m))

	// A name is of one kind of work.
	for _, w := range []Work{GMV, Average} {
		if _, err := m.Begin(RunInfo{Job: "trips", Work: w}); !errors.Is(err, ErrOtherJob) || !strings.Contains(err.Error(), "it is of join") {
			t.Errorf("error %v, want ErrOtherJob", err)
		}
	}
	begin(t, m, "orders")
	if _, err := m.Begin(RunInfo{Job: "orders", Work: Join, JoinType: "inner"}); !errors.Is(err, ErrOtherJob) {
		t.Errorf("error %v, want ErrOtherJob", err)
	}
	// But not of one type.
	beginJoin(t, m, "trips", "left_anti")
}

// TestJoinInsert has two streams of one job. What the second has not put out again
// stays, and does not count.
func TestJoinInsert(t *testing.T) {
	m := newMart(t)
	all, sum := selfJoin()
	first := beginJoin(t, m, "trips", "full")
	for _, kind := range []Kind{Rows, Late, Bad} {
		ok(t, first.Insert(kind, all[kind]))
	}
	ok(t, first.Finish(Done, sum))
	_, faults := balances(t, m, "")
	same(t, "faults", nil, faults)

	// The second is interrupted: the rows of 3 are not due.
	second := beginJoin(t, m, "trips", "full")
	ok(t, second.Insert(Rows, of(joinedLine(8, "k", 1, 1), joinedLine(9, "k", 4, 0))))
	ok(t, second.Insert(Rows, of(joinedLine(9, "k", 2, 1))))
	ok(t, second.Finish(Interrupted, joinSummary(SideCounts{Assigned: 4, Joined: 2, Unmatched: 2, Open: 1}, SideCounts{Assigned: 2, Joined: 1, Unmatched: 1, Open: 1})))
	same(t, "rows", []string{"1|1|2", "1|2|1", "2|1|1", "-1|3|1", "2|1|2", "3|-1|1", "4|-1|2"},
		query(t, m, "SELECT left_position, right_position, run FROM joined"))
	_, faults = balances(t, m, "")
	same(t, "faults", nil, faults)

	// A late second load of the first is refused, by a third that replaces all.
	third := beginJoin(t, m, "trips", "full")
	ok(t, third.Replace(all, sum))
	if err := second.Insert(Rows, all[Rows]); err == nil {
		t.Error("no error for a run that has ended")
	}
	_, faults = balances(t, m, "")
	same(t, "faults", nil, faults)
	if n := len(slices.DeleteFunc(dump(t, m), func(s string) bool { return !strings.HasPrefix(s, "joined") })); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
}

// TestJoinMatchAgain puts rows of left semi joins at other times than before, as
// a runner does that goes back to a checkpoint: the last one stays.
func TestJoinMatchAgain(t *testing.T) {
	at := func(t *testing.T, m *Mart) []string {
		t.Helper()
		return query(t, m, "SELECT job, left_source, left_position, (time_ms - 1717200000000) / 3600000, run FROM joined")
	}
	put := func(t *testing.T, r *Run, lines ...string) {
		t.Helper()
		ok(t, r.Insert(Rows, of(lines...)))
	}
	const semi = "left_semi"
	elsewhere := strings.Replace(joinedLine(9, "k", 1, 0), "in.ndjson", "other.ndjson", 1)
	t.Run("stream", func(t *testing.T) {
		m := newMart(t)
		other := beginJoin(t, m, "others", semi)
		put(t, other, joinedLine(8, "k", 1, 0))
		run := beginJoin(t, m, "trips", semi)
		put(t, run, joinedLine(8, "k", 1, 0), joinedLine(8, "k", 2, 0), elsewhere)
		put(t, run, joinedLine(10, "k", 1, 0), joinedLine(8, "k", 2, 0))
		same(t, "later", []string{"others|in.ndjson|1|8|1", "trips|in.ndjson|2|8|2", "trips|other.ndjson|1|9|2", "trips|in.ndjson|1|10|2"}, at(t, m))
		resumed, err := m.Resume(run.Number())
		ok(t, err)
		put(t, resumed, joinedLine(9, "k", 1, 0))
		same(t, "earlier, from a worker", []string{"others|in.ndjson|1|8|1", "trips|in.ndjson|2|8|2", "trips|in.ndjson|1|9|2", "trips|other.ndjson|1|9|2"}, at(t, m))
		// As if an older version had made the mart.
		ok(t, m.transact(func() error { return m.exec("DROP INDEX joined_left_alone") }))
		goesOn, err := m.Continue(RunInfo{Job: "trips", Work: Join, JoinType: semi})
		ok(t, err)
		put(t, goesOn, joinedLine(11, "k", 1, 0), strings.Replace(joinedLine(12, "k", 2, 0), `"n": 2`, `"n": 3`, 1))
		same(t, "after a savepoint; another record at the same place",
			[]string{"others|in.ndjson|1|8|1", "trips|in.ndjson|2|8|2", "trips|other.ndjson|1|9|2", "trips|in.ndjson|1|11|2", "trips|in.ndjson|2|12|2"}, at(t, m))
		next := beginJoin(t, m, "trips", semi)
		put(t, next, joinedLine(10, "k", 1, 0))
		put(t, run, joinedLine(9, "k", 1, 0))
		same(t, "a newer run", []string{"trips|in.ndjson|1|10|3"}, at(t, m)[4:5])
	})
	t.Run("batch", func(t *testing.T) {
		m := newMart(t)
		for range 3 { // all but the first go through a copy of the table
			run := beginJoin(t, m, "trips", semi)
			ok(t, run.Replace(map[Kind]Lines{Rows: of(joinedLine(10, "k", 1, 0), elsewhere, joinedLine(8, "k", 1, 0))}, joinSummary(SideCounts{Assigned: 2, Joined: 2}, SideCounts{})))
			same(t, "rows", []string{"trips|in.ndjson|1|8|1", "trips|other.ndjson|1|9|1"}, at(t, m))
		}
	})
	t.Run("other types", func(t *testing.T) {
		m := newMart(t)
		run := beginJoin(t, m, "trips", "left")
		put(t, run, joinedLine(8, "k", 1, 0), joinedLine(8, "k", 2, 1))
		put(t, run, joinedLine(9, "k", 1, 0), joinedLine(9, "k", 2, 1))
		if n := len(at(t, m)); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
	})
}

func TestJoinViews(t *testing.T) {
	m := newMart(t)
	all, sum := selfJoin()
	ok(t, beginJoin(t, m, "trips", "full").Replace(all, sum))
	same(t, "joined", []string{
		`trips|2024-06-01T08:00:00Z|k|{"n": 1}|{"n": 2}|in.ndjson|1|in.ndjson|2|1`,
		`trips|2024-06-01T09:00:00Z|k|null|{"n": 3}|null|null|in.ndjson|3|1`,
		`trips|2024-06-01T09:00:00Z|k|{"n": 3}|null|in.ndjson|3|null|null|1`,
	}, query(t, m, "SELECT * FROM joined_readable WHERE left_position IS NOT 2 AND right_position IS NOT 1"))
	same(t, "late", []string{`trips|left|2024-06-01T08:00:00Z|k|{"n": 4}|in.ndjson|4|1`}, query(t, m, "SELECT * FROM join_late_readable WHERE side = 'left'"))
}
