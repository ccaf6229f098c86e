package main

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/connectors/mart"
	"tidemark/windowfns"
)

// measured is a value of key at the time of day hh:mm:ss on 1 June 2024.
func measured(key, clock, value string) string {
	return fmt.Sprintf(`{"key":%q,"time":"2024-06-01T%sZ","value":%s}`+"\n", key, clock, value)
}

// TestMartAverage plays a timeline with records that are late, corrected and bad
// into the mart of a job of GMV, and reconciles both.
func TestMartAverage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	write(t, dir, "orders.ndjson", order("a", "08:00:00", 1))
	succeed(t, dir, "", strings.Fields("gmv --window 1h --input orders.ndjson --output sqlite:mart.db --job orders")...)
	write(t, dir, "script", event(measured("a", "08:00:00", "0.1"))+event(measured("a", "08:10:00", "0.2"))+event(measured("max", "08:00:00", "1.7976931348623157e308"))+
		event(measured("max", "08:00:01", "1.7976931348623157e308"))+event("{}")+
		watermark("09:00:00")+event(measured("a", "08:30:00", "3"))+event(measured("a", "09:00:00", "-1"))+
		watermark("09:30:00")+event(measured("b", "08:59:00", "11")))
	play := strings.Fields("average --timeline script --window 1h --allowed_lateness 30m --output sqlite:mart.db --job readings")
	r := tidemark(t, dir, "", play...)
	if r.status != exitBad || r.stdout != "" || r.lastLine() != "read=8 bad=1 assigned=7 added=6 late=1" {
		t.Fatalf("%+v", r)
	}
	const day = "|2024-06-01T"
	same(t, "rows", strings.Join([]string{
		"a" + day + "08:00:00Z|LATE|1|1.1|0.15000000000000002|3.3|3|2",
		"max" + day + "08:00:00Z|ON_TIME|0|1.7976931348623157e+308|null|null|2|null", // the sum is outside float64
		"a" + day + "09:00:00Z|ON_TIME|0|-1|null|-1|1|null",
	}, "\n"), strings.Join(ask(t, path, "SELECT key, window_start, pane, revision, average, previous_average, sum, count, previous_count FROM averages_readable ORDER BY window_start, key"), "\n"))
	same(t, "late records", "script|10|1", strings.Join(ask(t, path, "SELECT source, position, missed_all FROM late_windows WHERE job = 'readings'"), "\n"))
	same(t, "bad records", "script|5|{}", strings.Join(ask(t, path, "SELECT source, position, raw FROM bad WHERE job = 'readings'"), "\n"))

	readings := balanceOf("readings", 8, `"assigned":6,"added":5,"corrected":1,"late":1`) +
		balanceOf("readings", 9, `"assigned":1,"added":1,"corrected":0,"late":0`) +
		balanceOf("readings", -1, `"assigned":7,"added":6,"corrected":1,"late":1,"bad":1`)
	orders := balanceOf("orders", 8, `"assigned":1,"added":1,"corrected":0,"late":0,"assigned_sum":1,"added_sum":1,"corrected_sum":0,"late_sum":0`) +
		balanceOf("orders", -1, `"assigned":1,"added":1,"corrected":0,"late":0,"assigned_sum":1,"added_sum":1,"corrected_sum":0,"late_sum":0,"bad":0`)
	if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db"); r != (result{exitOK, orders + readings, ""}) {
		t.Errorf("reconcile: %+v, want\n%s", r, orders+readings)
	}

	// Played again, in other shards, it changes nothing but the runs.
	before := dump(t, path, true)
	tidemark(t, dir, "", append(play, "--shards", "7")...)
	same(t, "played again", before, dump(t, path, true))

	// A name is one command's, before anything is read.
	all := contents(t, dir)
	for _, c := range []struct{ args, want string }{
		{"average --window 1h --input orders.ndjson --value_field amount_cents --output sqlite:mart.db --job orders", "it is of gmv"},
		{"gmv --window 1h --input orders.ndjson --bad_output sqlite:mart.db --job readings", "it is of average"},
		{"gmv --stream --window 1h --input - --output sqlite:mart.db --job readings", "it is of average"},
	} {
		r := tidemark(t, dir, "{}\n", strings.Fields(c.args)...)
		const says = `--job: mart "mart.db": job `
		if r.status != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, says) || !strings.HasSuffix(r.stderr, ": another command's job has that name: "+c.want+"\n") {
			t.Errorf("%s: %+v, want status 2 and %s", c.args, r, c.want)
		}
		if after := contents(t, dir); !maps.Equal(all, after) {
			t.Errorf("%s: files have changed: %v", c.args, slices.Collect(maps.Keys(after)))
		}
	}

	// Rows that somebody has changed do not go unnoticed.
	alter(t, path, "UPDATE averages SET count = count + 1 WHERE pane = 'LATE'")
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db", "--job", "readings")
	if r.status != exitFailed || r.stdout != readings || !strings.HasSuffix(r.stderr, "09:00:00Z: added=5, and the rows have count=6\n") {
		t.Errorf("tampered with: %+v", r)
	}
}

// TestMartAverageStreams fills marts from a pipe and from a file. The rows are
// those of a batch.
func TestMartAverageStreams(t *testing.T) {
	dir := t.TempDir()
	in := measured("a", "08:00:00", "1") + measured("b", "08:30:00", "2") + measured("a", "09:00:00", "4") + measured("a", "08:59:00", "8")
	write(t, dir, "in.ndjson", in)
	for i, args := range []string{"--input in.ndjson", "--stream --max_out_of_orderness 1h --input in.ndjson", "--stream --max_out_of_orderness 1h --input -"} {
		name := fmt.Sprintf("%d.db", i)
		succeed(t, dir, in, append(strings.Fields("average --window 1h --job readings --output sqlite:"+name), strings.Fields(args)...)...)
		same(t, args, "a|8|4.5|2\nb|8|2|1\na|9|4|1", strings.Join(ask(t, filepath.Join(dir, name), "SELECT key, substr(window_start, 12, 2) + 0, average, count FROM averages_readable"), "\n"))
		if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:"+name); r.status != exitOK || r.stderr != "" || strings.Count(r.stdout, "\n") != 3 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// TestMartInfo checks what a run is said to be.
func TestMartInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	for _, c := range []struct {
		kind    *kind
		windows windowfns.Fn
		want    mart.RunInfo
	}{
		{&gmvCommand, windowfns.Tumbling{Size: time.Hour}, mart.RunInfo{Job: "j", Command: "gmv x", Work: mart.GMV}},
		{&averageCommand, windowfns.Session{Gap: time.Hour}, mart.RunInfo{Job: "j", Command: "average x", Work: mart.Average, Sessions: true}},
	} {
		var g aggregateFlags
		fs := onFlagSet(new(flag.FlagSet), "any", "")
		g.define(fs, c.kind)
		if err := fs.parse([]string{"--output", "sqlite:" + path, "--job", "j"}); err != nil {
			t.Fatal(err)
		}
		out, err := g.outputs(fs, c.kind, c.windows, input{name: "in.ndjson"}, []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		if out.mart.info != c.want {
			t.Errorf("%+v, want %+v", out.mart.info, c.want)
		}
	}
}
