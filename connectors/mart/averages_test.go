package mart

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/connectors/rows"
	"tidemark/transforms/average"
)

func beginAverages(t tester, m *Mart, job string) *Run {
	t.Helper()
	r, err := m.Begin(RunInfo{Job: job, Command: "average", Work: Average})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// averageLine is a row of an hour of 1 June 2024, in which all values are the
// same; without any, the row withdraws the window.
func averageLine(key string, hour, revision int, value string, count int) string {
	previous, latest, sum := "null", fmt.Sprintf(`"2024-06-01T%02d:00:00Z"`, hour), value
	if revision > 0 {
		previous = "1"
	}
	if count == 0 {
		value, latest, sum = "null", "null", "0"
	}
	return fmt.Sprintf(`{"key":%q,"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","pane":"EARLY","revision":%d,`+
		`"average":%s,"previous_average":%[6]s,"sum":%s,"count":%d,"previous_count":%[6]s,"max_event_time":%[9]s}`,
		key, hour, hour+1, revision, value, previous, sum, count, latest)
}

// plainLine are the counts of an hour of 1 June 2024, without money.
func plainLine(hour, added, corrected, late int) string {
	line, _, _ := strings.Cut(countsLine("", hour, added, corrected, late), `,"assigned_sum"`)
	return strings.Replace(line, `"currency":"",`, "", 1) + "}"
}

// TestAverageExact puts floats in and gets the same back.
func TestAverageExact(t *testing.T) {
	m := newMart(t)
	values := []float64{
		0, 0.1, 1.0 / 3, -1e-7, 1e21, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 1 << 53, 1<<53 + 2, 3, math.Pi,
	}
	var lines []string
	for i, v := range values {
		r := average.Row{Key: fmt.Sprint(i), EndMs: 1000, Pane: "FINAL", Revision: 1, Average: &v, PreviousAverage: &v, Sum: &v, Count: 1, PreviousCount: new(int64(1))}
		lines = append(lines, string(rows.AppendAverage(nil, &r)))
	}
	ok(t, beginAverages(t, m, "job").Insert(Rows, of(lines...)))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, v := range values {
		var got [3]float64
		ok(t, m.conn.QueryRowContext(t.Context(), "SELECT average, previous_average, sum FROM averages WHERE key = ?", fmt.Sprint(i)).Scan(&got[0], &got[1], &got[2]))
		if got != [3]float64{v, v, v} {
			t.Errorf("%v came back as %v", v, got)
		}
	}
}

// TestAverageJobs has jobs of both commands side by side, and replaces them.
func TestAverageJobs(t *testing.T) {
	m := newMart(t)
	ok(t, begin(t, m, "orders").Replace(everything(1, "a"), Summary{}))
	orders := dump(t, m)
	averages := map[Kind]Lines{
		Rows: of(averageLine("a", 8, 0, "0.5", 1), averageLine("b", 8, 0, "2", 2), averageLine("a", 8, 1, "0.25", 3)),
		Late: of(lateLine("in", 1, 8)), Bad: of(badLine("in", 2)), Counts: of(plainLine(8, 3, 1, 1), plainLine(8, 2, 0, 0), plainLine(9, 0, 0, 2)),
	}
	ok(t, beginAverages(t, m, "readings").Replace(averages, Summary{Assigned: 8, Added: 5, Late: 3, Bad: 1}))
	same(t, "rows", []string{"a|1|0.25|1|3", "b|0|2|null|2"}, query(t, m, "SELECT key, revision, average, previous_average, count FROM averages"))
	same(t, "counts", []string{"|6|5|1|1|null|null|null|null", "|2|0|0|2|null|null|null|null"},
		query(t, m, "SELECT currency, assigned, added, corrected, late, assigned_sum, added_sum, corrected_sum, late_sum FROM window_counts WHERE job = 'readings'"))
	same(t, "aggregates", []string{"orders|gmv|0", "readings|average|0"}, query(t, m, "SELECT job, work, sessions FROM runs"))
	both := dump(t, m)
	ok(t, beginAverages(t, m, "readings").Replace(averages, Summary{Assigned: 8, Added: 5, Late: 3, Bad: 1}))
	same(t, "the same again", both, dump(t, m))
	got, faults := balances(t, m, "readings")
	same(t, "balances", []string{
		"readings 08 - 6=5(1)+1 <nil>=<nil>(<nil>)+<nil>",
		"readings 09 - 2=0(0)+2 <nil>=<nil>(<nil>)+<nil>", // all late: no rows
		"readings all - 8=5(1)+3 <nil>=<nil>(<nil>)+<nil> bad 1",
	}, got)
	same(t, "faults", nil, faults)

	// A name is one command's.
	_, err := m.Begin(RunInfo{Job: "orders", Work: Average})
	says(t, err, `job "orders": another command's job has that name: it is of gmv`, m.path)
	for _, info := range []RunInfo{{Job: "orders", Work: Average}, {Job: "readings", Work: GMV}, {Job: "readings"}} {
		_, err := m.Begin(info)
		for what, err := range map[string]error{"Begin": err, "CheckJob": CheckJob(m.path, info)} {
			if !errors.Is(err, ErrOtherJob) {
				t.Errorf("%s %+v: error %v, want ErrOtherJob", what, info, err)
			}
		}
	}
	for _, info := range []RunInfo{{Job: "orders"}, {Job: "readings", Work: Average}, {Job: "new", Work: Average}} {
		ok(t, CheckJob(m.path, info))
	}
	ok(t, CheckJob(filepath.Join(t.TempDir(), "new.db"), RunInfo{Job: "new"}))
	_, err = m.Begin(RunInfo{Job: "new", Work: "median"})
	says(t, err, `work = "median", want gmv, average or join`)
	same(t, "runs", []string{"3"}, query(t, m, "SELECT max(run) FROM runs"))

	// Without rows of averages, what the job of GMV has is as it was.
	ok(t, beginAverages(t, m, "readings").Replace(map[Kind]Lines{Rows: of(), Late: of(), Bad: of(), Counts: of()}, Summary{}))
	same(t, "rows of GMV", orders, dump(t, m))
}

// TestAverageRefuses has lines that are not those of averages.
func TestAverageRefuses(t *testing.T) {
	m := newMart(t)
	r := beginAverages(t, m, "job")
	good := averageLine("a", 8, 0, "0.5", 1)
	for _, c := range []struct {
		name string
		kind Kind
		line string
		want string
	}{
		{"text", Rows, strings.Replace(good, `"average":0.5`, `"average":"0.5"`, 1), `has the member average = "0.5", want a number within float64`},
		{"outside float64", Rows, strings.Replace(good, `"sum":0.5`, `"sum":1e999`, 1), "want a number within float64"},
		{"row of GMV", Rows, row("a", 8, 0, 1), "has no member average"},
		{"counts of GMV", Counts, countsLine("", 8, 1, 0, 0), "has 11 of the members window_start"},
		{"counts, one missing", Counts, strings.Replace(plainLine(8, 1, 0, 0), `"late"`, `"lat"`, 1), "has 5 of the members window_start"},
	} {
		says(t, r.Insert(c.kind, of(c.line)), c.want)
	}
	says(t, begin(t, m, "gmv").Insert(Counts, of(plainLine(8, 1, 0, 0))), "has 6 of the members")
	same(t, "rows", nil, dump(t, m))
}

// TestAverageRowsChecked changes a mart behind its back.
func TestAverageRowsChecked(t *testing.T) {
	const window = `job "job", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: `
	for statement, want := range map[string][]string{
		"UPDATE averages SET average = 7":                      nil, // values are not counted
		"DELETE FROM averages WHERE key = 'a'":                 {window + "added=5, and the rows have count=2"},
		"UPDATE averages SET count = count + 1":                {window + "added=5, and the rows have count=8"},
		"UPDATE window_counts SET late = 0":                    {window + "assigned=6 is not added=5 + late=0", `job "job", all windows: assigned=6 is not added=5 + late=0`},
		"DELETE FROM window_counts":                            {window + "added=0, and the rows have count=5", `job "job", all windows: assigned=0 is not the assigned=6 of run 1`},
		"DELETE FROM averages WHERE key = 'gone'":              nil,
		"UPDATE window_counts SET added = 4, late = 2":         {window + "added=4, and the rows have count=5", `job "job", all windows: added=4 is not the added=5 of run 1`},
		"UPDATE window_counts SET assigned = 7, added = 5 + 1": {window + "added=6, and the rows have count=5", `job "job", all windows: assigned=7 is not the assigned=6 of run 1`},
	} {
		m := newMart(t)
		ok(t, beginAverages(t, m, "job").Replace(map[Kind]Lines{
			Rows: of(
				averageLine("a", 8, 0, "1", 1), averageLine("a", 8, 1, "2", 3), averageLine("b", 8, 0, "3", 2),
				averageLine("gone", 8, 0, "4", 9), averageLine("gone", 8, 1, "", 0),
			),
			Counts: of(plainLine(8, 5, 0, 1)),
		}, Summary{Assigned: 6, Added: 5, Late: 1}))
		_, faults := balances(t, m, "job")
		same(t, "before "+statement, nil, faults)
		ok(t, m.exec(statement))
		_, faults = balances(t, m, "job")
		same(t, statement, want, faults)
	}
	m := newMart(t)
	if plan := strings.Join(query(t, m, "EXPLAIN QUERY PLAN "+selectAverages, "job", 0), "\n"); strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the table is sorted:\n%s", plan)
	}
}

func TestAverageViews(t *testing.T) {
	m := newMart(t)
	huge := fmt.Sprint(math.MaxFloat64)
	ok(t, beginAverages(t, m, "a").Insert(Rows, of(
		averageLine("one", 8, 0, "0.1", 3), averageLine("two", 8, 0, "0.5", 1), averageLine("huge", 8, 0, huge, 1),
		averageLine("gone", 8, 1, "", 0), averageLine("back", 8, 1, "", 0),
	)))
	ok(t, beginAverages(t, m, "b").Insert(Rows, of(averageLine("two", 8, 0, "2", 3), averageLine("huge", 8, 0, huge, 1), averageLine("back", 8, 0, "7", 2))))
	same(t, "all jobs", []string{
		"back|1717228800000|1717232400000|7|2|1",
		"huge|1717228800000|1717232400000|" + huge + "|2|2",
		"one|1717228800000|1717232400000|0.1|3|1",
		"two|1717228800000|1717232400000|1.625|4|2",
	}, query(t, m, "SELECT * FROM averages_all_jobs ORDER BY key"))
	same(t, "readable", []string{
		"a|gone|2024-06-01T08:00:00Z|2024-06-01T09:00:00Z|EARLY|1|null|1|0|0|1|null|1",
		"a|one|2024-06-01T08:00:00Z|2024-06-01T09:00:00Z|EARLY|0|0.1|null|0.1|3|null|2024-06-01T08:00:00Z|1",
	}, query(t, m, "SELECT * FROM averages_readable WHERE key IN ('one', 'gone') ORDER BY key"))
}
