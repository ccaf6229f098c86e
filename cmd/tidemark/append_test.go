//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// csvRow is the ON_TIME row of an hour with one record, in a table.
func csvRow(key string, hour int, sum int64, latest string) string {
	return fmt.Sprintf("%s,2024-06-01T%02d:00:00Z,2024-06-01T%02d:00:00Z,ON_TIME,0,%d,,1,,2024-06-01T%sZ\n", key, hour, hour+1, sum, latest)
}

const (
	csvHeader     = "key,window_start,window_end,pane,revision,sum,previous_sum,count,previous_count,max_event_time\n"
	csvLateHeader = "event,time,missed,missed_all,source,position\n"
	csvBadHeader  = "source,position,raw,reason,raw_base64\n"
)

// TestTables writes tables: in batch in place of what was there, as a stream
// behind it, with one header.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", order(`a,"b"`, "08:00:00", 1)+order("z", "10:00:00", 2)+`{"x":"\xff"}`+"\n"+order("z", "08:00:00", 4))
	write(t, dir, "rows.csv", "an older file\n")
	const flags = "gmv --input in.ndjson --window 1h --output rows.csv --late_output late.csv --bad_output bad.csv"
	row1, row2 := csvRow(`"a,""b"""`, 8, 1, "08:00:00"), csvRow("z", 10, 2, "10:00:00")
	bad := `in.ndjson,3,"{""x"":""\xff""}",invalid JSON: `

	r := succeed(t, dir, "", strings.Fields(flags)...)
	same(t, "rows", csvHeader+row1+csvRow("z", 8, 4, "08:00:00")+row2, read(t, dir, "rows.csv"))
	same(t, "late records", csvLateHeader, read(t, dir, "late.csv"))
	if got := read(t, dir, "bad.csv"); !strings.HasPrefix(got, csvBadHeader+bad) || r.lastLine() != "read=4 bad=1 assigned=3 added=3 late=0" {
		t.Errorf("%s, bad records %s", r.stderr, got)
	}
	write(t, dir, "rows.csv", "")
	for _, name := range []string{"late.csv", "bad.csv"} {
		if err := os.Remove(dir + "/" + name); err != nil {
			t.Fatal(err)
		}
	}

	late := `"{""key"":""z"",""time"":""2024-06-01T08:00:00Z"",""amount_cents"":4}",2024-06-01T08:00:00Z,` +
		`"[{""window_start"":""2024-06-01T08:00:00Z"",""window_end"":""2024-06-01T09:00:00Z""}]",true,in.ndjson,4` + "\n"
	for n := 1; n <= 2; n++ {
		if r := succeed(t, dir, "", strings.Fields(flags+" --stream")...); r.lastLine() != "read=4 bad=1 assigned=3 added=2 late=1" || r.stdout != "" {
			t.Errorf("%+v", r)
		}
		text := read(t, dir, "rows.csv")
		if strings.Count(text, csvHeader) != 1 || !strings.HasPrefix(text, csvHeader) || strings.Count(text, row1) != n || strings.Count(text, row2) != n || len(text) != len(csvHeader)+n*len(row1+row2) {
			t.Errorf("after %d runs:\n%s", n, text)
		}
		same(t, "late records", csvLateHeader+strings.Repeat(late, n), read(t, dir, "late.csv"))
		if text := read(t, dir, "bad.csv"); strings.Count(text, bad) != n || strings.Count(text, csvBadHeader) != 1 {
			t.Errorf("bad records after %d runs:\n%s", n, text)
		}
	}
	before := read(t, dir, "rows.csv")
	if _, r := hold(t, "--output "+dir+"/rows.csv", func(s *session) {
		s.write(order("c", "08:00:00", 1))
		_ = s.in.Close()
	}); r.status != exitOK {
		t.Errorf("%+v", r)
	}
	same(t, "rows behind those of files", before+csvRow("c", 8, 1, "08:00:00"), read(t, dir, "rows.csv"))
}

// TestAppendRefused has files that other tables cannot stand behind. It shows
// before anything is written, to any output.
func TestAppendRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1))
	write(t, dir, "late.csv", "event,time\n")
	write(t, dir, "rows.csv", csvHeader)
	write(t, dir, "torn.ndjson", `{"key":"to`)
	before := contents(t, dir)
	for _, c := range []struct{ args, want string }{
		{"--output new.ndjson --late_output late.csv", `--late_output: output "late.csv": begins with "event,time", want the header "event,time,missed,`},
		{"--output sqlite:mart.db --job j --late_output late.csv", `--late_output: output "late.csv": begins with "event,time"`},
		{"--output rows.csv --currency_field currency", `--output: output "rows.csv": begins with "key,window_start,`},
	} {
		for _, in := range []string{"in.ndjson", "-"} {
			args := append(strings.Fields("gmv --stream --window 1h --input "+in), strings.Fields(c.args)...)
			r := tidemark(t, dir, order("a", "08:00:00", 1), args...)
			if r.status != exitUsage || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.want) {
				t.Errorf("%s: %+v, want status 2 and %s", args, r, c.want)
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Fatalf("%s: files before: %v\nand after: %v", args, before, after)
			}
		}
	}
	// In batch a file is replaced, whatever it holds; a torn line stays apart.
	succeed(t, dir, "", strings.Fields("gmv --window 1h --input in.ndjson --output torn.ndjson --late_output late.csv --stream=false")...)
	same(t, "late records", csvLateHeader, read(t, dir, "late.csv"))
	write(t, dir, "torn.ndjson", before[dir+"/torn.ndjson"])
	succeed(t, dir, "", strings.Fields("gmv --window 1h --input in.ndjson --output torn.ndjson --stream")...)
	same(t, "rows", `{"key":"to`+"\n"+hourRow("a", 8, 1, 1, "08:00:00"), read(t, dir, "torn.ndjson"))
}

// TestFutureLimit has a record that is too far ahead of the clock.
func TestFutureLimit(t *testing.T) {
	ahead := fmt.Sprintf(`{"key":"a","time":%d,"amount_cents":1}`+"\n", time.Now().Add(72*time.Hour).UnixMilli())
	in := order("a", "08:00:00", 1) + ahead + order("a", "08:30:00", 2)
	dir := t.TempDir()
	for args, want := range map[string]struct {
		status  int
		summary string
	}{
		"--stream":                       {exitBad, "read=3 bad=1 assigned=2 added=2 late=0"},
		"--stream --future_limit 73h":    {exitOK, "read=3 bad=0 assigned=3 added=2 late=1"},
		"--stream --future_limit 0":      {exitOK, "read=3 bad=0 assigned=3 added=2 late=1"},
		"--stream --future_limit 71h":    {exitBad, "read=3 bad=1 assigned=2 added=2 late=0"},
		"":                               {exitOK, "read=3 bad=0 assigned=3 added=3 late=0"},
		"--stream --bad_output b.ndjson": {exitOK, "read=3 bad=1 assigned=2 added=2 late=0"},
	} {
		r := tidemark(t, dir, in, append(strings.Fields("gmv --window 1h --input -"), strings.Fields(args)...)...)
		if r.status != want.status || r.lastLine() != want.summary {
			t.Errorf("%s: %+v, want status %d and %s", args, r, want.status, want.summary)
		}
		if row := hourRow("a", 8, 3, 2, "08:30:00"); strings.Contains(want.summary, "bad=1") && r.stdout != row {
			t.Errorf("%s: %s, want %s", args, r.stdout, row)
		}
	}
	if bad := read(t, dir, "b.ndjson"); !strings.Contains(bad, `"source":"-","position":2,`) || !strings.Contains(bad, "ahead of the clock, the limit is 24h0m0s: a wrong clock would make everyone else late") {
		t.Error(bad)
	}
}

// TestOutOfOrderness has records at the bound, which are in order, and 1 ms behind
// it, where one is late.
func TestOutOfOrderness(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1)+order("a", "09:00:10.999", 2)+order("a", "08:59:59.999", 4)+order("b", "09:00:00.999", 8))
	for bound, late := range map[string]string{"11s": "", "10.999s": `"position":3`, "2h": ""} {
		r := succeed(t, dir, "", strings.Fields("gmv --stream --window 1h --input in.ndjson --late_output late.ndjson --max_out_of_orderness "+bound)...)
		got := read(t, dir, "late.ndjson")
		if late == "" && (got != "" || r.stderr != "read=4 bad=0 assigned=4 added=4 late=0\n") {
			t.Errorf("%s: %+v, late records %s, want none", bound, r, got)
		}
		if late != "" && (strings.Count(got, "\n") != 1 || !strings.Contains(got, late)) {
			t.Errorf("%s: late records %s, want one with %s", bound, got, late)
		}
		checkCounts(t, r.lastLine(), got)
		write(t, dir, "late.ndjson", "")
	}
}
