package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark/connectors/mart"
)

// countsOf is a line of window counts: an hour of 1 June 2024, in which as many
// cents were added, corrected and late as elements, and assigned as given.
func countsOf(hour int, currency string, assigned, added, corrected, late int) string {
	return fmt.Sprintf(`{"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","currency":%q,`+
		`"assigned":%d,"added":%d,"corrected":%d,"late":%d,"assigned_sum":"%[4]d","added_sum":"%d","corrected_sum":"%d","late_sum":"%d"}`,
		hour, hour+1, currency, assigned, added, corrected, late, added, corrected, late)
}

// plain are such counts without money.
func plain(line string) string {
	line, _, _ = strings.Cut(line, `,"assigned_sum"`)
	return strings.Replace(line, `"currency":"",`, "", 1) + "}"
}

// fill runs a job of GMV that puts lines of window counts into the mart at path.
func fill(t *testing.T, path, job string, bad int64, lines ...string) {
	t.Helper()
	fillFor(t, path, mart.RunInfo{Job: job, Command: "gmv"}, bad, lines...)
}

// fillFor is fill for any job.
func fillFor(t *testing.T, path string, info mart.RunInfo, bad int64, lines ...string) {
	t.Helper()
	m, err := mart.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Begin(info)
	if err == nil {
		sum := mart.Summary{Bad: bad}
		for _, l := range lines {
			c := gjson.GetMany(l, "assigned", "added", "late")
			sum.Assigned, sum.Added, sum.Late = sum.Assigned+c[0].Int(), sum.Added+c[1].Int(), sum.Late+c[2].Int()
		}
		err = run.Replace(map[mart.Kind]mart.Lines{mart.Counts: func(emit func([]byte) error) error {
			for _, l := range lines {
				if err := emit([]byte(l)); err != nil {
					return err
				}
			}
			return nil
		}}, sum)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// balanceOf is a row of an hour; of all hours where hour is -1.
func balanceOf(job string, hour int, rest string) string {
	window := `"window_start":null,"window_end":null`
	if hour >= 0 {
		window = fmt.Sprintf(`"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z"`, hour, hour+1)
	}
	return fmt.Sprintf(`{"job":%q,%s,%s}`+"\n", job, window, rest)
}

func TestReconcile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	const huge = "170141183460469231731687303715884105727"
	large := strings.NewReplacer(`"assigned_sum":"1"`, `"assigned_sum":"`+huge+`"`, `"added_sum":"1"`, `"added_sum":"`+huge+`"`)
	fill(t, path, "orders", 2, countsOf(9, "", 3, 2, 1, 1), large.Replace(countsOf(8, "", 1, 1, 0, 0)))
	fill(t, path, "<money>", 0, countsOf(8, "USD", 1, 0, 0, 1), countsOf(8, "EUR", 2, 2, 0, 0), countsOf(9, "EUR", 1, 1, 1, 0))
	fillFor(t, path, mart.RunInfo{Job: "readings", Work: mart.Average}, 1, plain(countsOf(8, "", 3, 2, 1, 1)))
	before := contents(t, dir)

	money := balanceOf("<money>", 8, `"currency":"EUR","assigned":2,"added":2,"corrected":0,"late":0,"assigned_sum":2,"added_sum":2,"corrected_sum":0,"late_sum":0`) +
		balanceOf("<money>", 8, `"currency":"USD","assigned":1,"added":0,"corrected":0,"late":1,"assigned_sum":1,"added_sum":0,"corrected_sum":0,"late_sum":1`) +
		balanceOf("<money>", 9, `"currency":"EUR","assigned":1,"added":1,"corrected":1,"late":0,"assigned_sum":1,"added_sum":1,"corrected_sum":1,"late_sum":0`) +
		balanceOf("<money>", -1, `"currency":"EUR","assigned":3,"added":3,"corrected":1,"late":0,"assigned_sum":3,"added_sum":3,"corrected_sum":1,"late_sum":0`) +
		balanceOf("<money>", -1, `"currency":"USD","assigned":1,"added":0,"corrected":0,"late":1,"assigned_sum":1,"added_sum":0,"corrected_sum":0,"late_sum":1`) +
		balanceOf("<money>", -1, `"assigned":4,"added":3,"corrected":1,"late":1,"assigned_sum":null,"added_sum":null,"corrected_sum":null,"late_sum":null,"bad":0`)
	orders := balanceOf("orders", 8, `"assigned":1,"added":1,"corrected":0,"late":0,"assigned_sum":`+huge+`,"added_sum":`+huge+`,"corrected_sum":0,"late_sum":0`) +
		balanceOf("orders", 9, `"assigned":3,"added":2,"corrected":1,"late":1,"assigned_sum":3,"added_sum":2,"corrected_sum":1,"late_sum":1`) +
		balanceOf("orders", -1, `"assigned":4,"added":3,"corrected":1,"late":1,"assigned_sum":170141183460469231731687303715884105730,`+
			`"added_sum":170141183460469231731687303715884105729,"corrected_sum":1,"late_sum":1,"bad":2`)
	readings := balanceOf("readings", 8, `"assigned":3,"added":2,"corrected":1,"late":1`) +
		balanceOf("readings", -1, `"assigned":3,"added":2,"corrected":1,"late":1,"bad":1`)
	for _, c := range []struct{ args, want string }{
		{"--mart sqlite:mart.db", money + orders + readings},
		{"--mart sqlite:mart.db --job readings", readings},
		{"--mart sqlite:mart.db --job orders", orders},
		{"--job=<money> --mart=sqlite://" + path, money},
	} {
		r := tidemark(t, dir, "", append([]string{"reconcile"}, strings.Fields(c.args)...)...)
		if r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: status %d, standard error %q, want 0 and nothing", c.args, r.status, r.stderr)
		}
		same(t, c.args, c.want, r.stdout)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Error("the mart has changed, or there are other files")
	}

	// A run that has put counts there and not ended leaves it open how many
	// records are bad.
	m, err := mart.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Begin(mart.RunInfo{Job: "live"})
	if err == nil {
		err = run.Insert(mart.Counts, func(emit func([]byte) error) error { return emit([]byte(countsOf(8, "", 1, 1, 0, 0))) })
	}
	if err != nil {
		t.Fatal(err)
	}
	r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", "live")
	if !strings.HasSuffix(r.stdout, `"late_sum":0,"bad":null}`+"\n") || r.status != exitOK {
		t.Errorf("while a stream runs: %+v", r)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReconcileDocumented prints the rows that the documentation shows.
func TestReconcileDocumented(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "../../docs", "mart.md"), "```json\n")
	want, _, _ := strings.Cut(text, "```\n")
	dir := t.TempDir()
	fill(t, filepath.Join(dir, "mart.db"), "orders-03-02", 0, `{"window_start":"2026-03-02T09:00:00Z","window_end":"2026-03-02T10:00:00Z","currency":"EUR",`+
		`"assigned":6,"added":5,"corrected":1,"late":1,"assigned_sum":"25550","added_sum":"24350","corrected_sum":"1000","late_sum":"1200"}`)
	same(t, "rows", want, tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db").stdout)
}

// TestReconcileFails has counts that do not add up: all rows come, then the
// error.
func TestReconcileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	fill(t, path, "good", 0, countsOf(8, "", 1, 1, 0, 0))
	fill(t, path, "money", 0, strings.Replace(countsOf(8, "", 2, 1, 0, 1), `"late_sum":"1"`, `"late_sum":"0"`, 1))
	fill(t, path, "orders", 0, countsOf(8, "", 1, 1, 0, 0), countsOf(9, "", 3, 1, 1, 1))
	fillFor(t, path, mart.RunInfo{Job: "readings", Work: mart.Average}, 0, plain(countsOf(8, "", 2, 1, 0, 0)))
	for job, want := range map[string]string{
		"readings": `tidemark: the conservation law does not hold in 2 rows: job "readings", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: ` +
			"assigned=2 is not added=1 + late=0",
		"money": `tidemark: the conservation law does not hold in 2 rows: job "money", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: ` +
			"assigned_sum=2 is not added_sum=1 + late_sum=0",
		"orders": `tidemark: the conservation law does not hold in 2 rows: job "orders", window 2024-06-01T09:00:00Z to 2024-06-01T10:00:00Z: ` +
			"assigned=3 is not added=1 + late=1",
	} {
		r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", job)
		if r.status != exitFailed || r.lastLine() != want || len(lines(t, r.stderr)) != 1 {
			t.Errorf("status %d, standard error:\n%s\nwant 1 and:\n%s", r.status, r.stderr, want)
		}
		if n := len(lines(t, r.stdout)); n != map[string]int{"readings": 2, "money": 2, "orders": 3}[job] {
			t.Errorf("%d rows: %s", n, r.stdout)
		}
	}
	all := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	if n := len(lines(t, all.stdout)); all.status != exitFailed || n != 9 || !strings.Contains(all.stderr, "in 6 rows") {
		t.Errorf("status %d, %d rows, standard error %q, want 1, 9 rows and 6 of them wrong", all.status, n, all.stderr)
	}

	// Of a run that goes on, or was killed, not all counts are there yet.
	m, err := mart.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Begin(mart.RunInfo{Job: "live"})
	if err == nil {
		err = run.Insert(mart.Counts, func(emit func([]byte) error) error { return emit([]byte(countsOf(8, "", 2, 1, 0, 0))) })
	}
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	live := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", "live")
	if live.status != exitFailed || !strings.HasSuffix(live.stderr, "assigned=2 is not added=1 + late=0; "+unended+"\n") {
		t.Errorf("while a stream runs: %+v", live)
	}
}

// TestReconcileRows has rows that are not there any more, and a newest run that
// has failed.
func TestReconcileRows(t *testing.T) {
	counts := countsOf(8, "", 1, 1, 0, 0)
	for _, c := range []struct {
		aggregate   mart.Work
		row, counts string
	}{
		{mart.GMV, hourRow("a", 8, 2, 1, "08:00:00"), strings.ReplaceAll(counts, `"1"`, `"2"`)},
		{mart.Average, averageRow("a", 8, "2", "2", 1, "08:00:00"), plain(counts)},
	} {
		t.Run(string(c.aggregate), func(t *testing.T) { testReconcileRows(t, c.aggregate, c.row, c.counts) })
	}
}

func testReconcileRows(t *testing.T, aggregate mart.Work, row, counts string) {
	dir := t.TempDir()
	m, err := mart.Open(filepath.Join(dir, "mart.db"))
	if err != nil {
		t.Fatal(err)
	}
	lines := func(line string) mart.Lines { return func(emit func([]byte) error) error { return emit([]byte(line)) } }
	for _, job := range []string{"good", "wrong"} {
		run, err := m.Begin(mart.RunInfo{Job: job, Work: aggregate})
		if err == nil {
			all := map[mart.Kind]mart.Lines{mart.Rows: lines(strings.TrimSpace(row)), mart.Counts: lines(counts)}
			if job == "wrong" {
				all[mart.Rows] = func(func([]byte) error) error { return nil }
			}
			err = run.Replace(all, mart.Summary{Assigned: 1, Added: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := m.Begin(mart.RunInfo{Job: "good", Work: aggregate})
	if err := errors.Join(err, run.Finish(mart.Failed, mart.Summary{}), m.Close()); err != nil {
		t.Fatal(err)
	}
	const note = "tidemark: job \"good\": its newest run, 3, is failed\n"
	if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", "good"); r.status != exitOK || r.stderr != note {
		t.Errorf("%+v, want status 0 and %s", r, note)
	}
	r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	const fault = `tidemark: the conservation law does not hold: job "wrong", window 2024-06-01T08:00:00Z to 2024-06-01T09:00:00Z: added=1, and the rows have count=0` + "\n"
	if r.status != exitFailed || r.stderr != note+fault || strings.Count(r.stdout, "\n") != 4 {
		t.Errorf("%+v, want status 1, 4 rows and\n%s%s", r, note, fault)
	}
}

// unended is said of counts that do not add up while a run goes on.
const unended = "its run has not ended, so that some counts may be on their way, or lost in a crash"

func TestReconcileRefuses(t *testing.T) {
	dir := t.TempDir()
	fill(t, filepath.Join(dir, "mart.db"), "orders", 0)
	write(t, dir, "text.db", strings.Repeat("key,sum\n", 100))
	write(t, dir, "empty.db", "")
	if err := os.Mkdir(filepath.Join(dir, "folder.db"), 0o777); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for _, c := range []struct{ args, want string }{
		{"", "no mart, want --mart sqlite:PATH"},
		{"--mart mart.db", `--mart "mart.db", want sqlite:PATH`},
		{"--mart sqlite:", `--mart "sqlite:", want sqlite:PATH`},
		{"--mart sqlite://host/mart.db", `want sqlite:PATH`},
		{"--mart postgres://host/db", `want sqlite:PATH`},
		{"--mart sqlite:gone.db", `--mart: mart "gone.db": no such file`},
		{"--mart sqlite:gone/mart.db", `--mart: mart "gone/mart.db": folder "gone": no such file`},
		{"--mart sqlite:text.db", "not a mart: not a SQLite file"},
		{"--mart sqlite:empty.db", "not a mart: an empty file"},
		{"--mart sqlite:folder.db", "not a mart: a folder"},
		{"--mart sqlite:mart.db --job nobody", `--job: mart "mart.db": job "nobody": no such job`},
		{"--mart sqlite:mart.db --job=", "--job is empty, want the name of a job"},
		{"--mart sqlite:mart.db more", `unexpected argument "more"`},
		{"--mart sqlite:mart.db --runner prism", "-runner; see tidemark reconcile --help"},
	} {
		r := tidemark(t, dir, "", append([]string{"reconcile"}, strings.Fields(c.args)...)...)
		if r.status != exitUsage || r.stdout != "" || len(lines(t, r.stderr)) != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want status 2 and one line with %q", c.args, r, c.want)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("files before: %v\nand after: %v", before, after)
	}
}

// TestReconcileHelp checks that Beam's flags are not in it.
func TestReconcileHelp(t *testing.T) {
	const want = reconcileUsage + `

Mart
  --mart sqlite:PATH
        the mart to check, sqlite:PATH; it is read only
  --job name
        the name of one job; without it all jobs are checked
`
	for _, arg := range []string{"--help", "-h"} {
		r := tidemark(t, t.TempDir(), "", "reconcile", arg)
		if r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: status %d, standard error %q, want 0 and nothing", arg, r.status, r.stderr)
		}
		same(t, arg, want, r.stdout)
	}
}
