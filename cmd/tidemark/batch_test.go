package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBatch reads one and the same input in many forms.
func TestBatch(t *testing.T) {
	orders := []string{order("acme", "08:00:00", 250), order("zeta", "08:10:00", 7), order("acme", "08:59:59", -50), order("acme", "09:00:00", 1)}
	rows := hourRow("acme", 8, 200, 2, "08:59:59") + hourRow("zeta", 8, 7, 1, "08:10:00") + hourRow("acme", 9, 1, 1, "09:00:00")
	plain := strings.Join(orders, "")
	const summary = "read=4 bad=0 assigned=4 added=4 late=0\n"

	for _, c := range []struct{ name, text string }{
		{"plain", plain},
		{"no final newline", strings.TrimSuffix(plain, "\n")},
		{"carriage returns", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"carriage return at the end", strings.TrimSuffix(strings.ReplaceAll(plain, "\n", "\r\n"), "\n")},
		{"byte order mark", "\ufeff" + plain},
		{"byte order mark on a line of its own", "\ufeff\n" + plain},
		{"blank lines", "\n\n" + strings.ReplaceAll(plain, "\n", "\n \t\r\n\n") + "\n\n"},
		{"space around", strings.ReplaceAll(strings.ReplaceAll(plain, "{", " \t{"), "}", "}\t ")},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "in.ndjson", c.text)
			want := result{exitOK, rows, summary}
			if got := tidemark(t, dir, "", "gmv", "--input", "in.ndjson", "--window", "1h"); got != want {
				t.Errorf("file: got %+v\nwant %+v", got, want)
			}
			if got := tidemark(t, dir, c.text, "gmv", "--input", "-", "--window", "1h"); got != want {
				t.Errorf("standard input: got %+v\nwant %+v", got, want)
			}
			if in := read(t, dir, "in.ndjson"); in != c.text {
				t.Errorf("the input is now %q", in)
			}
		})
	}

	t.Run("other extensions", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"in", "in.json", "in.jsonl"} {
			write(t, dir, name, plain)
			if got := succeed(t, dir, "", "gmv", "--input", name, "--window", "1h"); got.stdout != rows {
				t.Errorf("%s: %s", name, got.stdout)
			}
		}
	})
	t.Run("beam's flags", func(t *testing.T) {
		args := []string{"gmv", "--input", "-", "--window", "1h", "--runner", "prism", "--job_name", "mine", "--experiments", "beam_fn_api"}
		if got := succeed(t, t.TempDir(), plain, args...); got.stdout != rows {
			t.Error(got.stdout)
		}
	})
}

func TestEmptyInput(t *testing.T) {
	const summary = "read=0 bad=0 assigned=0 added=0 late=0\n"
	for name, text := range map[string]string{"empty": "", "byte order mark": "\ufeff", "blank": "\n \r\n\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "in.ndjson", text)
			write(t, dir, "late.ndjson", "old\n")
			r := tidemark(t, dir, "", strings.Fields("gmv --input in.ndjson --window 1h --output rows.ndjson --late_output late.ndjson --bad_output bad.ndjson")...)
			if want := (result{exitOK, "", summary}); r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
			for _, out := range []string{"rows.ndjson", "late.ndjson", "bad.ndjson"} {
				if got := read(t, dir, out); got != "" {
					t.Errorf("%s: %q, want an empty file", out, got)
				}
			}
			if r := tidemark(t, dir, text, "gmv", "--input", "-", "--window", "1h"); r != (result{exitOK, "", summary}) {
				t.Errorf("standard input: %+v", r)
			}
		})
	}
}

// TestFields reads records that name their fields otherwise.
func TestFields(t *testing.T) {
	row := func(key, currency, start, end string, sum int, latest string) string {
		return fmt.Sprintf(`{"key":%q%s,"window_start":"2024-06-%sZ","window_end":"2024-06-%sZ","pane":"ON_TIME","revision":0,`+
			`"sum":%d,"previous_sum":null,"count":1,"previous_count":null,"max_event_time":"2024-06-%sZ"}`+"\n", key, currency, start, end, sum, latest)
	}
	day := func(key, currency string, sum int) string {
		return row(key, currency, "01T00:00:00", "02T00:00:00", sum, "01T08:00:00")
	}
	for _, c := range []struct{ name, args, text, want string }{
		{
			"nested, and a scale", "--window 24h --key_field e.co --time_field e.at --amount_field e.pay.0 --amount_scale 2",
			`{"e":{"co":17,"at":"2024-06-01T10:00:00+02:00","pay":["12.34"]}}`, day("17", "", 1234),
		},
		{
			"several keys", "--window 24h --key_field co,shop", `{"co":"a","shop":5,"time":"2024-06-01T08:00:00Z","amount_cents":"-3e2"}`,
			day("a|5", "", -300),
		},
		{
			"currencies", "--window 24h --currency_field cur",
			`{"key":"a","cur":"USD","time":"2024-06-01T08:00:00Z","amount_cents":1}` + "\n" +
				`{"key":"a","cur":"EUR","time":"2024-06-01T08:00:00Z","amount_cents":2}`,
			day("a", `,"currency":"EUR"`, 2) + day("a", `,"currency":"USD"`, 1),
		},
		{"seconds", "--window 24h --time_unit s", `{"key":"","time":1717228800,"amount_cents":1}`, day("", "", 1)},
		{"nanoseconds in a string", "--window 24h --time_unit ns", `{"key":"","time":"1717228800000000000","amount_cents":1}`, day("", "", 1)},
		{
			"a local day", "--calendar day --time_zone America/New_York", `{"key":"a","time":"2024-06-01T08:00:00Z","amount_cents":1}`,
			row("a", "", "01T04:00:00", "02T04:00:00", 1, "01T08:00:00"),
		},
		{
			"an offset", "--window 24h --window_offset 6h", `{"key":"a","time":"2024-06-01T08:00:00Z","amount_cents":1}`,
			row("a", "", "01T06:00:00", "02T06:00:00", 1, "01T08:00:00"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := succeed(t, t.TempDir(), c.text, strings.Fields("gmv --input - "+c.args)...)
			same(t, "rows", c.want, r.stdout)
		})
	}
}

// TestSameBytes checks that neither shards nor the order of the input nor
// chance show in the output.
func TestSameBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var in []string
	for i := range 3000 {
		key := fmt.Sprintf("company %d", random.IntN(40))
		clock := fmt.Sprintf("%02d:%02d:%02d", random.IntN(24), random.IntN(60), random.IntN(60))
		in = append(in, order(key, clock, random.Int64N(20_000)-5_000))
		if i%100 == 0 {
			in = append(in, fmt.Sprintf(`{"key":%d}`+"\n", i))
		}
	}
	dir := t.TempDir()
	write(t, dir, "in.ndjson", strings.Join(in, ""))
	run := func(args ...string) (rows, bad string) {
		t.Helper()
		all := append(strings.Fields("gmv --input in.ndjson --window 1h --every 20m --output rows.ndjson --bad_output bad.ndjson"), args...)
		r := succeed(t, dir, "", all...)
		if want := "read=3030 bad=30 assigned=9000 added=9000 late=0\n"; r.stderr != want {
			t.Errorf("%q: %s, want %s", args, r.stderr, want)
		}
		return read(t, dir, "rows.ndjson"), read(t, dir, "bad.ndjson")
	}

	rows, bad := run()
	if n := strings.Count(rows, "\n"); n < 2000 {
		t.Fatalf("%d rows, want more to compare", n)
	}
	for _, args := range [][]string{nil, {"--shards", "1"}, {"--shards", "2"}, {"--shards", "7"}, {"--shards", "65536"}} {
		rowsAgain, badAgain := run(args...)
		if rowsAgain != rows || badAgain != bad {
			t.Errorf("%q: other rows, or other bad records", args)
		}
	}
	for range 3 {
		random.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		write(t, dir, "in.ndjson", strings.Join(in, ""))
		if rowsAgain, _ := run(); rowsAgain != rows {
			t.Error("other rows for another order of the input")
		}
	}
	if !slices.IsSortedFunc(lines(t, rows), byWindow) {
		t.Error("rows are not sorted by the end of their window")
	}
}

// byWindow orders rows by the end of their window.
func byWindow(a, b string) int {
	end := func(row string) string {
		_, rest, _ := strings.Cut(row, `"window_end":"`)
		return rest[:len("2024-06-01T00:00:00Z")]
	}
	return strings.Compare(end(a), end(b))
}

// TestTimeZero has a record of 1970 among those of today: in batch it gets a row
// of its own, in a stream it is late.
func TestTimeZero(t *testing.T) {
	dir := t.TempDir()
	epoch := `{"key":"acme","time":0,"amount_cents":3}`
	write(t, dir, "in.ndjson", order("acme", "08:00:00", 1)+epoch+"\n"+order("acme", "08:30:00", 2))
	r := succeed(t, dir, "", strings.Fields("gmv --input in.ndjson --window 1h --late_output late.ndjson")...)
	same(t, "rows", `{"key":"acme","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T01:00:00Z","pane":"ON_TIME","revision":0,`+
		`"sum":3,"previous_sum":null,"count":1,"previous_count":null,"max_event_time":"1970-01-01T00:00:00Z"}`+"\n"+
		hourRow("acme", 8, 3, 2, "08:30:00"), r.stdout)
	if late := read(t, dir, "late.ndjson"); late != "" || r.stderr != "read=3 bad=0 assigned=3 added=3 late=0\n" {
		t.Errorf("late records %q and %s, want none", late, r.stderr)
	}

	play := func(events ...string) string {
		return `{"event": ` + strings.Join(events, "}\n{\"event\": ") + "}\n"
	}
	write(t, dir, "script", play(strings.TrimSpace(order("acme", "08:00:00", 1)))+`{"watermark": "2024-06-01T08:00:00Z"}`+"\n"+
		play(epoch, strings.TrimSpace(order("acme", "08:30:00", 2))))
	r = succeed(t, dir, "", strings.Fields("gmv --timeline script --window 1h --late_output late.ndjson")...)
	same(t, "rows", hourRow("acme", 8, 3, 2, "08:30:00"), r.stdout)
	same(t, "late records", `{"event":`+epoch+`,"time":"1970-01-01T00:00:00Z",`+
		`"missed":[{"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T01:00:00Z"}],"missed_all":true,"source":"script","position":3}`+"\n",
		read(t, dir, "late.ndjson"))
	if want := "read=3 bad=0 assigned=3 added=2 late=1\n"; r.stderr != want {
		t.Errorf("%s, want %s", r.stderr, want)
	}
}

// TestLogs checks that nothing is logged on standard output, nothing at all where
// nothing is wrong, and nothing behind the summary.
func TestLogs(t *testing.T) {
	const summary = "read=1 bad=0 assigned=1 added=1 late=0\n"
	for _, level := range []string{"error", "warn", "info", "debug"} {
		r := tidemark(t, t.TempDir(), order("acme", "08:00:00", 1), "gmv", "--input", "-", "--window", "1h", "--log_level", level)
		if want := hourRow("acme", 8, 1, 1, "08:00:00"); r.status != exitOK || r.stdout != want {
			t.Errorf("%s: status %d, standard output %q, want 0 and %q", level, r.status, r.stdout, want)
		}
		if quiet := level == "error" || level == "warn"; quiet != (r.stderr == summary) || !strings.HasSuffix(r.stderr, summary) {
			t.Errorf("%s: standard error\n%s", level, r.stderr)
		}
	}
}

// TestOutputs checks which row goes where, and that old files are replaced whole.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"rows.ndjson", "bad.ndjson"} {
		write(t, dir, name, strings.Repeat("an older and longer file\n", 100))
	}
	if err := os.Symlink("rows.ndjson", filepath.Join(dir, "link.ndjson")); err != nil {
		t.Fatal(err)
	}
	in := order("acme", "08:00:00", 1) + "{}\n"
	const summary = "read=2 bad=1 assigned=1 added=1 late=0\n"
	said := example(`-, position 2: field "key": missing, want a string or a number`)
	row := hourRow("acme", 8, 1, 1, "08:00:00")
	bad := `{"source":"-","position":2,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n"
	for _, c := range []struct {
		name, args string
		want       result
		files      map[string]string
	}{
		{"bad records to a file", "--bad_output bad.ndjson", result{exitOK, row, summary}, map[string]string{"bad.ndjson": bad}},
		{"rows to a file", "--output ./rows.ndjson", result{exitBad, "", said + summary}, map[string]string{"rows.ndjson": row}},
		{"rows by a link", "--output link.ndjson", result{exitBad, "", said + summary}, map[string]string{"rows.ndjson": row, "link.ndjson": row}},
		{"bad records to standard output", "--output rows.ndjson --bad_output -", result{exitOK, bad, summary}, map[string]string{"rows.ndjson": row}},
		{"nowhere", "", result{exitBad, row, said + summary}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tidemark(t, dir, in, strings.Fields("gmv --input - --window 1h "+c.args)...); got != c.want {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
			for name, want := range c.files {
				same(t, name, want, read(t, dir, name))
			}
		})
	}
	if names := contents(t, dir); len(names) != 3 {
		t.Errorf("files: %v", names)
	}
}
