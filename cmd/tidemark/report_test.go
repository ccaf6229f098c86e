package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLatenessReport has an input whose lateness can be counted by hand.
func TestLatenessReport(t *testing.T) {
	dir := t.TempDir()
	// The watermark is the latest time so far less the bound of 10 s. Behind the
	// second record it is 09:00:00, behind the fifth 10:00:00.
	in := order("a", "08:00:00", 1) + // first
		order("a", "09:00:10", 1) + // on time
		order("a", "08:59:59", 1) + // 0 ms behind the end of its window: needs 1 ms
		order("a", "09:00:00", 1) + // on time
		order("a", "10:00:10", 1) + // on time
		order("a", "08:00:00", 1) + // 1 h behind the end of its window
		order("a", "09:59:59.999", 1) // needs 1 ms
	write(t, dir, "in.ndjson", in)
	write(t, dir, "in.csv", header+strings.Repeat(cells("a", "08:00:00", 1), 2))
	const args = "gmv --window 1h --input in.ndjson --lateness_report --max_out_of_orderness 10s"
	row := func(lateness string, late int) string {
		return fmt.Sprintf(`{"allowed_lateness":%q,"late":%d,"assigned":7}`+"\n", lateness, late)
	}
	// Of an hour and 1 ms, three digits are shown, rounded up.
	want := result{exitOK, row("0s", 3) + row("1ms", 1) + row("1h0m10s", 0), "read=7 bad=0 assigned=7\n"}
	for _, more := range []string{"", "--stream", "--format json"} {
		if got := tidemark(t, dir, "", append(strings.Fields(args), strings.Fields(more)...)...); got != want {
			t.Errorf("%s: got %+v\nwant %+v", more, got, want)
		}
	}
	if got := tidemark(t, dir, in, strings.Fields(strings.Replace(args, "in.ndjson", "-", 1))...); got != want {
		t.Errorf("standard input: got %+v\nwant %+v", got, want)
	}
	got := tidemark(t, dir, "", strings.Fields(args+" --format table")...)
	same(t, "table", strings.Join([]string{
		"7 (record, window) pairs, windows: tumbling(1h0m0s), max_out_of_orderness: 10s",
		"  --allowed_lateness  late  % of all",
		"                  0s     3     42.86",
		"                 1ms     1     14.29",
		"             1h0m10s     0         0",
		"",
	}, "\n"), got.stdout)

	// Each step does what it says where a stream runs with it.
	for lateness, late := range map[string]int{"0s": 3, "1ms": 1, "1h0m10s": 0} {
		r := succeed(t, dir, "", strings.Fields("gmv --stream --window 1h --input in.ndjson --max_out_of_orderness 10s --allowed_lateness "+lateness)...)
		var n int
		if _, err := fmt.Sscanf(r.lastLine()[strings.Index(r.lastLine(), "late="):], "late=%d", &n); err != nil || n != late {
			t.Errorf("with %s: %s, want %d late", lateness, r.lastLine(), late)
		}
	}

	// Bad records are counted, and what is ahead of the clock is bad.
	write(t, dir, "in.ndjson", in+"{}\n"+fmt.Sprintf(`{"key":"a","time":%d,"amount_cents":1}`+"\n", time.Now().Add(48*time.Hour).UnixMilli()))
	if got := tidemark(t, dir, "", strings.Fields(args)...); got.status != exitBad || got.stdout != want.stdout || got.stderr != "read=9 bad=2 assigned=7\n" {
		t.Errorf("with bad records: %+v", got)
	}
	if got := tidemark(t, dir, "", strings.Fields(strings.Replace(args, "in.ndjson", "in.csv", 1)+" --every 20m")...); got.stdout != `{"allowed_lateness":"0s","late":0,"assigned":6}`+"\n" {
		t.Errorf("a table: %+v", got)
	}
	for _, flag := range []string{"--timeline x", "--output x.ndjson", "--late_output x.ndjson", "--bad_output x.ndjson", "--allowed_lateness 1s", "--drain", "--format pipe", "--job x"} {
		got := tidemark(t, dir, "", strings.Fields(args+" "+flag)...)
		if got.status != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, "with --lateness_report, want") {
			t.Errorf("%s: %+v, want status 2", flag, got)
		}
	}
}

// TestStreamsDoWhatTheReportSays runs a shuffled file as a stream, in one shard and
// in seven: what is late is what the report says, and the late records and, where no
// corrections share rows, the rows are the same in both. The file has several
// bundles, between which the runner's watermark stands still.
func TestStreamsDoWhatTheReportSays(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(5, 5))
	var in strings.Builder
	note := strings.Repeat("x", 4000)
	for i := range 4000 {
		at := 1_717_200_000_000 + 300*int64(i) - random.Int64N(2)*random.Int64N(90_000)
		fmt.Fprintf(&in, `{"key":"k%d","time":%d,"amount_cents":%d,"value":%d.5,"note":%q}`+"\n", random.IntN(9), at, i, i%7, note)
	}
	write(t, dir, "in.ndjson", in.String())
	write(t, dir, "rows.ndjson", "")
	write(t, dir, "late.ndjson", "")
	for _, c := range []struct {
		args string
		rows bool // are the same without corrections
	}{
		{"gmv --window 1m", true},
		{"gmv --window 30s --max_out_of_orderness 20s", true},
		{"average --window 3m --every 1m", true},
		{"average --session_gap 20s", false},
	} {
		args := strings.Fields(c.args + " --input in.ndjson")
		for _, line := range lines(t, tidemark(t, dir, "", append(args, "--lateness_report")...).stdout)[:2] {
			var step struct {
				Lateness       string `json:"allowed_lateness"`
				Late, Assigned int
			}
			if err := json.Unmarshal([]byte(line), &step); err != nil || step.Late == 0 {
				t.Fatalf("%s: %s, %v, want something that is late", c.args, line, err)
			}
			var rows, late [2][]string
			for i, shards := range []string{"1", "7"} {
				r := succeed(t, dir, "", append(args, "--stream", "--allowed_lateness", step.Lateness, "--shards", shards,
					"--output", "rows.ndjson", "--late_output", "late.ndjson")...)
				if want := fmt.Sprintf("read=4000 bad=0 assigned=%d added=%d late=%d", step.Assigned, step.Assigned-step.Late, step.Late); r.lastLine() != want {
					t.Errorf("%s, lateness %s, %s shards: %s, want %s", c.args, step.Lateness, shards, r.lastLine(), want)
				}
				rows[i], late[i] = lines(t, read(t, dir, "rows.ndjson")), lines(t, read(t, dir, "late.ndjson"))
				checkCounts(t, r.lastLine(), strings.Join(late[i], "\n"))
				slices.Sort(rows[i])
				slices.Sort(late[i])
				write(t, dir, "rows.ndjson", "")
				write(t, dir, "late.ndjson", "")
			}
			if !slices.Equal(late[0], late[1]) {
				t.Errorf("%s, lateness %s: other late records in seven shards", c.args, step.Lateness)
			}
			if c.rows && step.Lateness == "0s" && !slices.Equal(rows[0], rows[1]) {
				t.Errorf("%s: other rows in seven shards", c.args)
			}
		}
	}
}

// TestRowFormats prints rows for people and for programs; late and bad records
// stay JSON.
func TestRowFormats(t *testing.T) {
	dir := t.TempDir()
	in := money("Zürich", "08:00:00", "EUR", -5) + money("a\tb", "09:30:00", "USD", 123456) + "{}\n"
	const bad = `{"source":"-","position":3,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n"
	for args, want := range map[string]string{
		"--format pipe": "Zürich|1717228800000|-5\n" + `a\tb|1717232400000|123456` + "\n",
		"--format table --currency_field currency": "key     currency  window_start          window_end            pane     revision     sum  previous_sum  count  previous_count  max_event_time\n" +
			"Zürich  EUR       2024-06-01T08:00:00Z  2024-06-01T09:00:00Z  ON_TIME         0      -5                    1                  2024-06-01T08:00:00Z\n" +
			`a\tb    USD       2024-06-01T09:00:00Z  2024-06-01T10:00:00Z  ON_TIME         0  123456                    1                  2024-06-01T09:30:00Z` + "\n",
	} {
		r := succeed(t, dir, in, append(strings.Fields("gmv --window 1h --input - --bad_output -"), strings.Fields(args)...)...)
		same(t, args, want+bad, r.stdout)
		// A stream of files has the same columns, whatever the order of its rows.
		write(t, dir, "in.ndjson", in)
		r = succeed(t, dir, "", append(strings.Fields("gmv --window 1h --input in.ndjson --stream --bad_output bad.ndjson"), strings.Fields(args)...)...)
		for _, line := range lines(t, want) {
			if !strings.Contains(r.stdout, line+"\n") || len(r.stdout) != len(want) {
				t.Errorf("%s, as a stream:\n%s\nwant:\n%s", args, r.stdout, want)
			}
		}
	}
	if r := succeed(t, dir, "", strings.Fields("gmv --window 1h --input - --format table")...); strings.Count(r.stdout, "\n") != 1 || !strings.HasPrefix(r.stdout, "key  window_start") {
		t.Errorf("no rows: %s", r.stdout)
	}
}

// TestMeter renders the line that shows how far a run is.
func TestMeter(t *testing.T) {
	begin := time.Date(2024, 6, 1, 9, 0, 0, 0, time.UTC)
	m := newMeter(begin)
	ms := func(hour int) int64 { return time.Date(2024, 6, 1, hour, 0, 0, 0, time.UTC).UnixMilli() }
	for _, c := range []struct {
		read      int64
		watermark int64
		at        time.Duration
		want      string
	}{
		{0, 0, 0, "\r0 records, 0 records/s"},
		{1000, -1 << 62, 2 * time.Second, "\r1000 records, 500 records/s"},
		{4000, ms(8), 3 * time.Second, "\r4000 records, 3000 records/s, watermark 2024-06-01T08:00:00Z, 1h0m3s behind the clock"},
		{4000, ms(9), 4 * time.Second, "\r4000 records, 0 records/s, watermark 2024-06-01T09:00:00Z, 4s behind the clock" + strings.Repeat(" ", len("3000")-len("0")+len("1h0m3s")-len("4s"))},
		{4001, 1 << 62, 5 * time.Second, "\r4001 records, 1 records/s, all read" + strings.Repeat(" ", len(", watermark 2024-06-01T09:00:00Z, 4s behind the clock")-len(", all read"))},
	} {
		if got := m.line(c.read, c.watermark, begin.Add(c.at)); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	if got, want := m.clear(), "\r"+strings.Repeat(" ", len("4001 records, 1 records/s, all read"))+"\r"; got != want {
		t.Errorf("cleared with %q, want %q", got, want)
	}
}
