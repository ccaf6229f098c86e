package mart

import (
	"fmt"
	"strings"
	"testing"
)

// dayLine are the counts of sessions on a day of June 2024; the money is 10 each.
func dayLine(currency string, day, added, late int) string {
	return strings.NewReplacer(
		"2024-06-01T08:00:00Z", fmt.Sprintf("2024-06-%02dT00:00:00Z", day), "2024-06-01T09:00:00Z", fmt.Sprintf("2024-06-%02dT00:00:00Z", day+1),
	).Replace(countsLine(currency, 8, added, 0, late))
}

func beginSessions(t *testing.T, m *Mart, of Work) *Run {
	t.Helper()
	r, err := m.Begin(RunInfo{Job: "job", Work: of, Sessions: true})
	ok(t, err)
	return r
}

// TestSessionsChecked changes marts of sessions behind their backs: their rows are
// checked against the counts of all days.
func TestSessionsChecked(t *testing.T) {
	const over = "9223372036854775808"
	money := func(currency string) map[Kind]Lines {
		return map[Kind]Lines{
			Rows: of(
				sumLine("a", currency, 8, 0, 10, 1), sumLine("a", currency, 8, 1, 0, 0), // withdrawn
				sumLine("a", currency, 9, 0, 30, 3), sumLine("b", "", 9, 0, 10, 1), sumLine("c", currency, 10, 0, 0, 0),
			),
			// c is withdrawn too, after its sum was too large.
			Bad:    of(overLine("c", currency, 10, over, 2)),
			Counts: of(dayLine(currency, 1, 2, 1), dayLine(currency, 2, 1, 0), dayLine("", 1, 1, 0)),
		}
	}
	averages := map[Kind]Lines{
		Rows: of(
			averageLine("a", 8, 0, "1", 1), averageLine("a", 8, 1, "", 0), averageLine("a", 9, 0, "1", 3), averageLine("b", 9, 0, "2", 1),
		),
		Counts: of(
			strings.NewReplacer("2024-06-01T08:00", "2024-06-01T00:00", "2024-06-01T09:00", "2024-06-02T00:00").Replace(plainLine(8, 4, 0, 1)),
		),
	}
	const all, eur = `job "job", all windows: `, `job "job", all windows, currency "EUR": `
	for _, c := range []struct {
		name      string
		of        Work
		lines     map[Kind]Lines
		statement string
		want      []string
	}{
		{"averages", Average, averages, "DELETE FROM averages WHERE key = 'b'", []string{all + "added=4, and the rows have count=3"}},
		{"averages, not withdrawn", Average, averages, "UPDATE averages SET count = 1 WHERE count = 0", []string{all + "added=4, and the rows have count=5"}},
		{"GMV", GMV, money(""), "DELETE FROM gmv WHERE key = 'b'", []string{all + "added=4, and the rows have count=3"}},
		{"GMV, sum", GMV, money(""), "UPDATE gmv SET sum = 11 WHERE key = 'b'", []string{all + "added_sum=40, and the rows have sum=41"}},
		{"overflow withdrawn", GMV, money(""), "DELETE FROM gmv WHERE key = 'c'", []string{all + "added=4, and the rows have count=6"}},
		{"currency", GMV, money("EUR"), "UPDATE gmv SET sum = 31 WHERE sum = 30", []string{eur + "added_sum=30, and the rows have sum=31"}},
		{"currency without rows", GMV, money("EUR"), "DELETE FROM gmv WHERE key = 'a'", []string{eur + "added=3, and the rows have count=0"}},
		{"currency without counts", GMV, money("EUR"), "UPDATE gmv SET currency = 'USD' WHERE key = 'b'", []string{
			`job "job", all windows, currency "": added=1, and the rows have count=0`, `job "job", all windows, currency "USD": added=0, and the rows have count=1`,
		}},
		{"by day", GMV, money(""), "UPDATE window_counts SET added = 0 WHERE late = 0", []string{
			`job "job", window 2024-06-02T00:00:00Z to 2024-06-03T00:00:00Z: assigned=1 is not added=0 + late=0`, all + "assigned=5 is not added=3 + late=1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMart(t)
			sum := Summary{Assigned: 5, Added: 4, Late: 1}
			if c.lines[Bad] != nil {
				sum.Overflowed = 1
			}
			ok(t, beginSessions(t, m, c.of).Replace(c.lines, sum))
			_, faults := balances(t, m, "job")
			same(t, "before", nil, faults)
			ok(t, m.exec(c.statement))
			_, faults = balances(t, m, "job")
			same(t, c.statement, c.want, faults)
		})
	}
}

// TestSessionsOfRuns has runs with sessions and with other windows, done and
// interrupted.
func TestSessionsOfRuns(t *testing.T) {
	m := newMart(t)
	const wrong = `job "job", all windows: added=%d, and the rows have count=%d`
	step := func(what string, want ...string) {
		t.Helper()
		_, faults := balances(t, m, "job")
		same(t, what, want, faults)
	}
	insert := func(r *Run, status, row, counts string) {
		t.Helper()
		ok(t, r.Insert(Rows, of(row)))
		ok(t, r.Insert(Counts, of(counts)))
		ok(t, r.Finish(status, Summary{}))
	}
	hours := map[Kind]Lines{Rows: of(sumLine("a", "", 8, 0, 10, 1)), Bad: of(), Counts: of(countsLine("", 8, 1, 0, 0))}
	ok(t, begin(t, m, "job").Replace(hours, Summary{Assigned: 1, Added: 1}))
	step("hours")
	insert(beginSessions(t, m, GMV), Done, sumLine("a", "", 9, 0, 20, 2), dayLine("", 1, 2, 0))
	step("and sessions")
	ok(t, m.exec("UPDATE gmv SET count = count + 5 WHERE run = 1"))
	step("the hour is wrong", fmt.Sprintf(wrong, 3, 8))
	insert(beginSessions(t, m, GMV), Interrupted, sumLine("a", "", 10, 0, 10, 1), dayLine("", 2, 7, 0))
	step("interrupted")
	insert(begin(t, m, "job"), Done, sumLine("a", "", 11, 0, 10, 1), countsLine("", 11, 1, 0, 0))
	step("after an interrupted one nothing can be said")

	sessions := map[Kind]Lines{Rows: of(sumLine("a", "", 9, 0, 20, 2)), Bad: of(), Counts: of(dayLine("", 1, 3, 0))}
	ok(t, beginSessions(t, m, GMV).Replace(sessions, Summary{Assigned: 3, Added: 3}))
	step("replaced", fmt.Sprintf(wrong, 3, 2))
	ok(t, begin(t, m, "job").Replace(hours, Summary{Assigned: 1, Added: 1}))
	step("hours again")
	ok(t, m.exec("UPDATE gmv SET count = 5"))
	step("an hour is wrong", `job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: added=1, and the rows have count=5`)
}

// TestEarlyRows has rows of windows that were open when a run ended.
func TestEarlyRows(t *testing.T) {
	m := newMart(t)
	step := func(what string, want ...string) {
		t.Helper()
		_, faults := balances(t, m, "job")
		same(t, what, want, faults)
	}
	pipe := func(hour int) {
		t.Helper()
		r := begin(t, m, "job")
		ok(t, r.Insert(Rows, of(sumLine("z", "", hour, 0, 10, 1))))
		ok(t, r.Insert(Counts, of(countsLine("", hour, 1, 0, 0))))
		ok(t, r.Finish(Done, Summary{}))
	}
	early := func(line string) string { return strings.Replace(line, `"LATE"`, `"EARLY"`, 1) }
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{
		Rows:   of(early(sumLine("a", "", 8, 0, 10, 1)), early(sumLine("a", "", 8, 1, 20, 2)), sumLine("a", "", 8, 2, 20, 2)),
		Counts: of(countsLine("", 8, 2, 0, 0)),
	}, Summary{Assigned: 2, Added: 2}))
	step("the last revision counts")
	ok(t, m.exec("UPDATE gmv SET count = 4"))
	step("and is checked", `job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: added=2, and the rows have count=4`)
	ok(t, m.exec("UPDATE gmv SET count = 2"))

	stopped := begin(t, m, "job")
	ok(t, stopped.Insert(Rows, of(early(sumLine("a", "", 9, 0, 10, 1)))))
	ok(t, stopped.Insert(Counts, of(countsLine("", 9, 3, 0, 0))))
	ok(t, stopped.Finish(Interrupted, Summary{}))
	step("interrupted")
	pipe(12)
	step("EARLY rows of an interrupted run stay")

	killed := begin(t, m, "job")
	ok(t, killed.Insert(Rows, of(early(sumLine("a", "", 8, 0, 10, 1)))))
	pipe(13)
	step("an EARLY row of a run that was killed before its counts came")
	same(t, "statuses", []string{"done", "interrupted", "done", "crashed", "done"}, query(t, m, "SELECT status FROM runs ORDER BY run"))
}
