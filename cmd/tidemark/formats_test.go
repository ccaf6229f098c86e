package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// zipped is text as gzip data.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// header is that of tables whose rows [cells] makes.
const header = "key,time,amount_cents\n"

// cells is an order as a row of a table.
func cells(key, clock string, cents int64) string {
	return fmt.Sprintf("%s,2024-06-01T%sZ,%d\n", key, clock, cents)
}

// TestFormats reads files of all kinds, one at a time and together, in batch and
// as a stream.
func TestFormats(t *testing.T) {
	// The key 17 is a number here and text there, and one key everywhere.
	object := `{"amount_cents":"40","time":1717228800000,"key":17}` + "\n" + order("acme", "09:10:00", 1)
	table := "time,note,amount_cents,key\n" +
		`2024-06-01T10:00:00+02:00,"two` + "\n" + `lines, and a comma",40,17` + "\n" + "1717233000000,,+1,acme\n"
	one := hourRow("17", 8, 40, 1, "08:00:00") + hourRow("acme", 9, 1, 1, "09:10:00")
	all := map[string]string{
		"a.ndjson": object, "b.csv": table, "c.ndjson.gz": zipped(t, object), "d.csv.gz": zipped(t, table[:60]) + zipped(t, table[60:]),
	}
	dir := t.TempDir()
	run := func(in, args, rows string, read int) {
		t.Helper()
		want := result{exitOK, rows, fmt.Sprintf("read=%d bad=0 assigned=%[1]d added=%[1]d late=0\n", read)}
		got := tidemark(t, dir, "", append(strings.Fields("gmv --window 1h --input "+in), strings.Fields(args)...)...)
		if strings.Contains(args, "--stream") {
			got.stdout = sorted(t, lines(t, got.stdout))
		}
		if got != want {
			t.Errorf("%s %s: got %+v\nwant %+v", in, args, got, want)
		}
	}
	for name, text := range all {
		write(t, dir, name, text)
		run(name, "", one, 2)
		run(name, "--stream", one, 2)

		// A format that is given counts for more than the name.
		unnamed := "data" + strings.TrimPrefix(name, name[:1])
		unnamed = strings.NewReplacer(".ndjson", ".txt", ".csv", ".json").Replace(unnamed)
		write(t, dir, unnamed, text)
		kind := strings.TrimSuffix(name[2:], ".gz")
		run(unnamed, "--input_format "+kind, one, 2)
	}
	together := hourRow("17", 8, 160, 4, "08:00:00") + hourRow("acme", 9, 4, 4, "09:10:00")
	run("[a-d].*", "", together, 8)
	run("[a-d].*", "--stream --max_out_of_orderness 2h", together, 8)
	for _, args := range []string{"", "--stream"} {
		got := tidemark(t, dir, table, append(strings.Fields("gmv --window 1h --input - --input_format csv"), strings.Fields(args)...)...)
		got.stdout = sorted(t, lines(t, got.stdout))
		if want := (result{exitOK, one, "read=2 bad=0 assigned=2 added=2 late=0\n"}); got != want {
			t.Errorf("standard input %s: got %+v\nwant %+v", args, got, want)
		}
	}
}

// TestLiteralPath has a file whose name would be a pattern.
func TestLiteralPath(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "day[1]*?.csv", header+cells("a", "08:00:00", 5))
	write(t, dir, "day1.csv", header+cells("a", "08:00:00", 100))
	write(t, dir, "day[1]*?.csv.csv", header+cells("a", "08:00:00", 100))
	r := succeed(t, dir, "", "gmv", "--window", "1h", "--input", "day[1]*?.csv")
	same(t, "rows", hourRow("a", 8, 5, 1, "08:00:00"), r.stdout)
}

// TestDots reaches into objects, and finds columns whose names have dots.
func TestDots(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", `{"e":{"by":{"id":"a"},"at":"2024-06-01T08:00:00Z"},"pay":[0,2.5],"cur":"USD"}`+"\n")
	write(t, dir, "in.csv", "pay.1,e.by,e.at,e.by.id,cur\n1.50,x,2024-06-01T08:00:01Z,a,USD\n")
	r := succeed(t, dir, "", strings.Fields("gmv --window 1h --input in.* --key_field e.by.id,cur --time_field e.at --amount_field pay.1 --amount_scale 2 --currency_field cur")...)
	same(t, "rows", strings.Replace(hourRow("a|USD", 8, 400, 2, "08:00:01"), `"window_start"`, `"currency":"USD","window_start"`, 1), r.stdout)
}

// TestMalformedFiles has files that are wrong in all kinds of ways: whatever is
// in them is counted, and the rest is read.
func TestMalformedFiles(t *testing.T) {
	a, b := cells("a", "08:00:00", 1), cells("b", "08:00:00", 2)
	good := hourRow("a", 8, 1, 1, "08:00:00") + hourRow("b", 8, 2, 1, "08:00:00")
	onlyB := hourRow("b", 8, 2, 1, "08:00:00")
	bad := func(position int, raw, reason string) string {
		return fmt.Sprintf(`{"source":"IN","position":%d,"raw":%q,"reason":%q}`+"\n", position, raw, reason)
	}
	const (
		open = "invalid CSV: a quote is opened and never closed"
		cut  = "the gzip data is cut short here: what was behind cannot be read"
	)
	stored := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x00\xff\x00\x00\xff" // gzip data that is as long as the 255 bytes behind
	for _, c := range []struct {
		name, file, text string
		rows, bad        string
		read             int
	}{
		{"byte order mark", "in.csv", "\ufeff" + header + a + b, good, "", 2},
		{"carriage returns", "in.csv", strings.ReplaceAll(header+a+"\n"+b, "\n", "\r\n"), good, "", 2},
		{"no final newline", "in.csv", header + a + strings.TrimSpace(b), good, "", 2},
		{"quotes everywhere", "in.csv", `"key","time","amount_cents"` + "\n" + `"a","2024-06-01T08:00:00Z","1"` + "\n" + b, good, "", 2},
		{"a header only", "in.csv", header, "", "", 0},
		{"empty", "in.csv", "", "", "", 0},
		{"a missing column", "in.csv", "key,time\na,2024-06-01T08:00:00Z\n", "", bad(2, "a,2024-06-01T08:00:00Z", `field "amount_cents": missing, the header has no column of that name`), 1},
		{"ragged", "in.csv", header + "a,2024-06-01T08:00:00Z\n" + b + "c,2024-06-01T08:00:00Z,1,\n", onlyB, bad(2, "a,2024-06-01T08:00:00Z", "2 columns, want the 3 of the header") +
			bad(4, "c,2024-06-01T08:00:00Z,1,", "4 columns, want the 3 of the header"), 3},
		{"a quote that never closes", "in.csv", header + `a,"2024-06-01T08:00:00Z,1` + "\n" + b, onlyB, bad(2, `a,"2024-06-01T08:00:00Z,1`, open), 2},
		{"a header that never closes", "in.csv", `key,"time,amount_cents` + "\n" + b, "", bad(1, `key,"time,amount_cents`, "the header is malformed: "+open) +
			bad(2, strings.TrimSpace(b), "the header, line 1, is malformed: "+open), 2},
		{"carriage returns only", "in.csv", "key\rb\r", "", bad(1, "key\rb", "the header is malformed: a carriage return inside a line, want lines that end with a newline"), 1},
		{"cut short", "in.ndjson.gz", stored + order("b", "08:00:00", 2) + `{"key":`, onlyB, bad(2, `{"key":`, cut), 2},
		{"cut short between rows", "in.csv.gz", stored + header + b, onlyB, bad(3, "", cut), 2},
		{"cut short in quotes", "in.csv.gz", stored + header + `a,"b` + "\n" + b + "c,2024", onlyB, bad(2, `a,"b`, open) + bad(4, "c,2024", cut), 3},
		{"not compressed", "in.csv.gz", header + b, "", bad(1, "", "the gzip data is damaged here: gzip: invalid header: what is behind cannot be read"), 1},
		{"empty and compressed", "in.csv.gz", zipped(t, ""), "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.file, c.text)
			n := strings.Count(c.bad, "\n")
			summary := fmt.Sprintf("read=%d bad=%d assigned=%d added=%[3]d late=0\n", c.read, n, c.read-n)
			wrong := strings.ReplaceAll(c.bad, "IN", c.file)
			for _, args := range []string{"", "--stream"} {
				all := append(strings.Fields("gmv --window 1h --input "+c.file), strings.Fields(args)...)
				got := tidemark(t, dir, "", append(all, "--bad_output", "bad"+args+".ndjson")...)
				if got.stdout = sorted(t, lines(t, got.stdout)); got != (result{exitOK, c.rows, summary}) {
					t.Errorf("%s: got %+v\nwant %s and %s", args, got, c.rows, summary)
				}
				same(t, args+" bad records", wrong, read(t, dir, "bad"+args+".ndjson"))
			}
			// Without an output for what is bad, the status says so.
			got := tidemark(t, dir, "", "gmv", "--window", "1h", "--input", c.file)
			if want := map[bool]int{false: exitOK, true: exitBad}[n > 0]; got.status != want || got.lastLine()+"\n" != summary {
				t.Errorf("without --bad_output: %+v, want status %d", got, want)
			}
		})
	}
}
