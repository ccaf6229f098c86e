package main

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openMart opens the file of a mart as anyone could.
func openMart(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw") // registered by package mart
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ask returns the rows of a query of the mart at path, columns separated by |.
func ask(t *testing.T, path, query string, args ...any) (out []string) {
	t.Helper()
	db := openMart(t, path)
	defer func() { _ = db.Close() }()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, to := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(values))
		for i, v := range values {
			if cells[i] = v.String; !v.Valid {
				cells[i] = "null"
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// alter changes the mart at path.
func alter(t *testing.T, path, statement string) {
	t.Helper()
	db := openMart(t, path)
	_, err := db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// dump is all that is in a mart but the runs. Without runs, it also leaves out
// which of them has written what.
func dump(t *testing.T, path string, runs bool) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{"gmv", "averages", "window_counts", "late", "bad", "overflows"} {
		cols := ask(t, path, "SELECT name FROM pragma_table_info(?)", table)
		if !runs {
			cols = slices.DeleteFunc(cols, func(name string) bool { return name == "run" })
		}
		for i, c := range cols {
			cols[i] = `quote("` + c + `")`
		}
		all := strings.Join(cols, ", ")
		for _, row := range ask(t, path, "SELECT "+all+" FROM "+table+" ORDER BY "+all) {
			fmt.Fprintf(&b, "%s: %s\n", table, row)
		}
	}
	return b.String()
}

// runsOf are the runs of a mart: the job, how it ended, and its counts.
func runsOf(t *testing.T, path string) []string {
	t.Helper()
	return ask(t, path, "SELECT job, status, read, bad, assigned, added, corrected, late, overflowed FROM runs ORDER BY run")
}

// event is a step of a timeline.
func event(order string) string { return `{"event": ` + strings.TrimSpace(order) + "}\n" }

func watermark(clock string) string { return `{"watermark": "2024-06-01T` + clock + `Z"}` + "\n" }

// money is an order in a currency.
func money(key, clock, currency string, cents int64) string {
	return strings.Replace(order(key, clock, cents), `"amount_cents"`, fmt.Sprintf(`"currency":%q,"amount_cents"`, currency), 1)
}

// TestMart plays a timeline with records that are late, corrected, bad and too
// large into a mart, and reconciles it.
func TestMart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	write(t, dir, "script", event(money("a", "08:00:00", "USD", 100))+event(money("a", "08:10:00", "EUR", 7))+event(money("b", "08:20:00", "USD", -30))+
		event(money("max", "08:00:00", "JPY", 1<<63-1))+event(money("max", "08:00:01", "JPY", 1))+
		event("{}")+
		watermark("09:00:00")+event(money("a", "08:30:00", "USD", 5))+event(money("a", "09:00:00", "USD", 1000))+
		watermark("09:30:00")+event(money("b", "08:59:00", "USD", 11))+event(money("c", "08:59:59", "EUR", -2)))
	const play = "gmv --timeline script --window 1h --allowed_lateness 30m --currency_field currency "
	const summary = "read=10 bad=1 assigned=9 added=7 late=2 overflowed=1"
	r := tidemark(t, dir, "", strings.Fields(play+"--output sqlite:mart.db")...)
	// What is bad is in the mart, and yet nobody has asked for it.
	if r.status != exitBad || r.stdout != "" || r.lastLine() != summary {
		t.Fatalf("%+v", r)
	}

	const day = "|2024-06-01T"
	gmv := "SELECT key, currency, window_start, pane, revision, sum, previous_sum, count, previous_count FROM gmv_readable ORDER BY window_start, key, currency"
	same(t, "rows", strings.Join([]string{
		"a|EUR" + day + "08:00:00Z|ON_TIME|0|7|null|1|null",
		"a|USD" + day + "08:00:00Z|LATE|1|105|100|2|1",
		"b|USD" + day + "08:00:00Z|ON_TIME|0|-30|null|1|null",
		"a|USD" + day + "09:00:00Z|ON_TIME|0|1000|null|1|null",
	}, "\n"), strings.Join(ask(t, path, gmv), "\n"))
	same(t, "late records", "script|11|1\nscript|12|1", strings.Join(ask(t, path, "SELECT source, position, missed_all FROM late_windows ORDER BY position"), "\n"))
	same(t, "bad records", `script|6|{}`, strings.Join(ask(t, path, "SELECT source, position, raw FROM bad"), "\n"))
	same(t, "overflows", "max|JPY|9223372036854775808|2", strings.Join(ask(t, path, "SELECT key, currency, total, count FROM overflows"), "\n"))

	job := ask(t, path, "SELECT job FROM runs")[0]
	eight := func(rest string) string { return balanceOf(job, 8, rest) }
	const jpy = `"currency":"JPY","assigned":2,"added":2,"corrected":0,"late":0,"assigned_sum":9223372036854775808,"added_sum":9223372036854775808,"corrected_sum":0,"late_sum":0`
	const eur = `"currency":"EUR","assigned":2,"added":1,"corrected":0,"late":1,"assigned_sum":5,"added_sum":7,"corrected_sum":0,"late_sum":-2`
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	same(t, "balances", eight(eur)+eight(jpy)+
		eight(`"currency":"USD","assigned":4,"added":3,"corrected":1,"late":1,"assigned_sum":86,"added_sum":75,"corrected_sum":5,"late_sum":11`)+
		balanceOf(job, 9, `"currency":"USD","assigned":1,"added":1,"corrected":0,"late":0,"assigned_sum":1000,"added_sum":1000,"corrected_sum":0,"late_sum":0`)+
		balanceOf(job, -1, eur)+balanceOf(job, -1, jpy)+
		balanceOf(job, -1, `"currency":"USD","assigned":5,"added":4,"corrected":1,"late":1,"assigned_sum":1086,"added_sum":1075,"corrected_sum":5,"late_sum":11`)+
		balanceOf(job, -1, `"assigned":9,"added":7,"corrected":1,"late":2,"assigned_sum":null,"added_sum":null,"corrected_sum":null,"late_sum":null,"bad":1`), r.stdout)
	if r.status != exitOK || r.stderr != "" {
		t.Errorf("reconcile: %+v", r)
	}

	// Played again, in other shards, it changes nothing but the runs.
	before := dump(t, path, true)
	tidemark(t, dir, "", strings.Fields(play+"--output sqlite:mart.db --shards 7")...)
	same(t, "played again", before, dump(t, path, true))

	// An output that goes elsewhere is not in the mart.
	r = tidemark(t, dir, "", strings.Fields(play+"--output sqlite:other.db --late_output late.ndjson --bad_output -")...)
	if n := strings.Count(read(t, dir, "late.ndjson"), "\n"); n != 2 || r.status != exitOK || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("%d late records, and %s", n, r.stdout)
	}
	other := dump(t, filepath.Join(dir, "other.db"), true)
	same(t, "tables without late and bad records", strings.Join(slices.DeleteFunc(strings.SplitAfter(before, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "late: ") || strings.HasPrefix(line, "bad: ") || strings.HasPrefix(line, "overflows: ")
	}), ""), other)

	tidemark(t, dir, "", strings.Fields(play+"--output sqlite:mart.db --late_output late.ndjson --bad_output -")...)
	same(t, "tables that nothing was directed at", before, dump(t, path, true))

	// Counts that somebody has changed do not go unnoticed.
	alter(t, path, "UPDATE window_counts SET added = added - 1 WHERE currency = 'EUR'")
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", job)
	if r.status != exitFailed || strings.Count(r.stdout, "\n") != 8 || !strings.Contains(r.stderr, `currency "EUR": assigned=2 is not added=0 + late=1`) {
		t.Errorf("tampered with: %+v", r)
	}
}

// TestMartJobs has jobs with and without names, and inputs that change.
func TestMartJobs(t *testing.T) {
	for _, c := range []struct{ command, allJobs, day string }{
		{
			"gmv", "SELECT key, sum, count, jobs FROM gmv_all_jobs ORDER BY key: a|11|2|2\nb|2|1|1\nc|20|1|1",
			"SELECT key, sum, run FROM gmv WHERE job = 'day' ORDER BY key",
		},
		{
			"average --value_field amount_cents", "SELECT key, average, count, jobs FROM averages_all_jobs ORDER BY key: a|5.5|2|2\nb|2|1|1\nc|20|1|1",
			"SELECT key, average, run FROM averages WHERE job = 'day' ORDER BY key",
		},
	} {
		t.Run(c.command, func(t *testing.T) { testMartJobs(t, c.command, c.allJobs, c.day) })
	}
}

// testMartJobs runs a command; allJobs and day are queries, and what they find.
func testMartJobs(t *testing.T, command, allJobs, day string) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "mart.db")
	write(t, dir, "1.ndjson", order("a", "08:00:00", 1)+order("b", "08:00:00", 2)+"{}\n")
	write(t, dir, "2.ndjson", order("a", "08:30:00", 10)+order("c", "08:00:00", 20))
	load := func(from, args string) {
		t.Helper()
		r := tidemark(t, from, "", append(strings.Fields(command+" --window 1h --output sqlite:"+path), strings.Fields(args)...)...)
		if r.status != exitOK && r.status != exitBad || !counts.MatchString(r.lastLine()) || r.stdout != "" {
			t.Fatalf("%s: %+v", args, r)
		}
	}
	// The name of a job is that of its input, from wherever it is named.
	load(dir, "--input 1.ndjson")
	load(elsewhere, "--input "+dir+"/1.ndjson") // records name their source as it was given
	first := dump(t, path, true)
	for _, args := range []string{"", "--shards 1", "--shards 7"} {
		load(elsewhere, "--input "+dir+"/1.ndjson "+args)
		same(t, args, first, dump(t, path, true))
	}
	load(dir, "--input 2.ndjson")
	if got := ask(t, path, "SELECT count(DISTINCT job), count(*) FROM runs"); !slices.Equal(got, []string{"2|6"}) {
		t.Errorf("jobs and runs: %s", got)
	}
	allJobs, want, _ := strings.Cut(allJobs, ": ")
	same(t, "all jobs", want, strings.Join(ask(t, path, allJobs), "\n"))

	// What an input no longer has goes away; other jobs stay.
	load(dir, "--job day --input 1.ndjson")
	load(dir, "--job day --input 2.ndjson")
	same(t, "the job", "a|10|8\nc|20|8", strings.Join(ask(t, path, day), "\n"))
	if n := ask(t, path, "SELECT count(*) FROM bad WHERE job = 'day'"); n[0] != "0" {
		t.Errorf("%s bad records, want none", n)
	}
	for _, row := range strings.SplitAfter(first, "\n") {
		if !strings.Contains(dump(t, path, true), row) {
			t.Errorf("of the first job, %s has changed", row)
		}
	}
	if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db"); r.status != exitOK || strings.Count(r.stdout, "\n") != 6 {
		t.Errorf("%+v", r)
	}
}

// TestMartRefused checks what is said of marts before anything is read.
func TestMartRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1))
	write(t, dir, "text.db", strings.Repeat("key,sum\n", 100))
	fill(t, filepath.Join(dir, "mart.db"), "orders", 0)
	fill(t, filepath.Join(dir, "next.db"), "orders", 0)
	alter(t, filepath.Join(dir, "next.db"), "PRAGMA user_version = 4")
	before := contents(t, dir)
	for _, c := range []struct{ args, want string }{
		{"--input in.ndjson --output sqlite:next.db", `--output: mart "next.db": not a mart of this version: its schema version (user_version) is 4, want 3`},
		{"--input in.ndjson --late_output sqlite:text.db", `--late_output: mart "text.db": not a mart: not a SQLite file`},
		{"--input in.ndjson --output sqlite:in.ndjson", `--output: mart "in.ndjson": not a mart`},
		{"--input in.ndjson --output sqlite:gone/mart.db", `--output: mart "gone/mart.db": folder "gone": no such file`},
		{"--input in.ndjson --output sqlite:.", `--output: mart ".": not a mart: a folder`},
		{"--input in.ndjson --output sqlite:new.db --bad_output sqlite:mart.db", "--bad_output sqlite:mart.db: want one mart, and there is new.db already"},
		{"--input - --output sqlite:mart.db", "a mart that is fed from standard input without --job"},
		{"--input - --stream --bad_output sqlite:mart.db", "a mart that is fed from standard input without --job"},
		{"--input in.ndjson --job x", "--job without a mart"},
		{"--input in.ndjson --output sqlite:mart.db --job=", "--job is empty, want a name"},
		{"--input in.ndjson --output sqlite:mart.db --format table", "--format table with --output sqlite:mart.db"},
		{"--input in.ndjson --lateness_report --job x", "--job with --lateness_report"},
	} {
		r := tidemark(t, dir, "{}\n", append(strings.Fields("gmv --window 1h"), strings.Fields(c.args)...)...)
		if r.status != exitUsage || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want status 2 and %s", c.args, r, c.want)
		}
		if after := contents(t, dir); !maps.Equal(before, after) {
			t.Fatalf("%s: files before: %v\nand after: %v", c.args, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		}
	}
	// One mart by two names is one.
	succeed(t, dir, "", strings.Fields("gmv --window 1h --input in.ndjson --output sqlite:mart.db --bad_output sqlite:./mart.db --late_output sqlite://"+dir+"/mart.db")...)
}
