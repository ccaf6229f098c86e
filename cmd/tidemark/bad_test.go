package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// badRecords are records that cannot be used, with the scale 2, and why.
var badRecords = []struct{ name, raw, reason string }{
	{"truncated", `{"key":"a","time":"2024-06-01T08:00:00Z"`, `truncated JSON: ends at byte offset 40`},
	{"not JSON", `key,time,amount`, `invalid JSON: unexpected 'k' at byte offset 0`},
	{"no number", `{"key":"a","time":NaN}`, `invalid JSON: unexpected 'N' at byte offset 18`},
	{"two on a line", `{"key":"a"} {"key":"b"}`, `more text after the JSON object, at byte offset 12`},
	{"array", `[{"key":"a"}]`, `an array, want a JSON object`},
	{"null", `null`, `null, want a JSON object`},
	{"string", `"a"`, `a string, want a JSON object`},
	{"invalid UTF-8", "{\"key\":\"\xc3\x28\"}", `invalid UTF-8 at byte offset 8`},
	{"half a character", "{\"key\":\"a\"} \xe2\x82", `invalid UTF-8 at byte offset 12`},
	{"zero byte", "\x00", `invalid JSON: unexpected '\x00' at byte offset 0`},

	{"no key", `{"time":0,"amount":1}`, `field "key": missing, want a string or a number`},
	{"null key", `{"key":null,"time":0,"amount":1}`, `field "key": null, want a string or a number`},
	{"true key", `{"key":true,"time":0,"amount":1}`, `field "key": true, want a string or a number`},
	{"object key", `{"key":{"id":1},"time":0,"amount":1}`, `field "key": an object, want a string or a number`},
	{"array key", `{"key":["a"],"time":0,"amount":1}`, `field "key": an array, want a string or a number`},
	{"key in capitals", `{"Key":"a","time":0,"amount":1}`, `field "key": missing, want a string or a number`},

	{"no time", `{"key":"a","amount":1}`, `field "time": missing, want an RFC 3339 time or a whole number of ms`},
	{"null time", `{"key":"a","time":null,"amount":1}`, `field "time": null, want an RFC 3339 time or a whole number of ms`},
	{"empty time", `{"key":"a","time":"","amount":1}`, `field "time": "" is not an RFC 3339 time or a whole number of ms`},
	{"word time", `{"key":"a","time":"yesterday","amount":1}`, `field "time": "yesterday" is not an RFC 3339 time or a whole number of ms`},
	{"fraction", `{"key":"a","time":1.5,"amount":1}`, `field "time": 1.5 is not a whole number of ms`},
	{
		"no offset", `{"key":"a","time":"2024-06-01T08:00:00","amount":1}`,
		`field "time": "2024-06-01T08:00:00" has no offset, want one such as Z or +02:00 at the end`,
	},
	{"no such day", `{"key":"a","time":"2023-02-29T00:00:00Z","amount":1}`, `field "time": "2023-02-29T00:00:00Z" is not an RFC 3339 time or a whole number of ms`},
	{"microseconds", `{"key":"a","time":1559347200000000,"amount":1}`, `field "time": 1559347200000000 ms is in the year 51383, outside 1900 to 2185; is the unit us?`},
	{"before 1900", `{"key":"a","time":"1899-12-31T23:59:59.999Z","amount":1}`, `field "time": 1899-12-31T23:59:59.999Z is in the year 1899, outside 1900 to 2185`},
	{"after 2185", `{"key":"a","time":"2186-01-01T00:00:00Z","amount":1}`, `field "time": 2186-01-01T00:00:00Z is in the year 2186, outside 1900 to 2185`},

	{"no amount", `{"key":"a","time":0}`, `field "amount": missing, want a number or a string`},
	{"null amount", `{"key":"a","time":0,"amount":null}`, `field "amount": null, want a number or a string`},
	{"empty amount", `{"key":"a","time":0,"amount":""}`, `field "amount": "" is not a number`},
	{"word amount", `{"key":"a","time":0,"amount":"abc"}`, `field "amount": "abc" is not a number`},
	{"amount with a sign of money", `{"key":"a","time":0,"amount":"$5"}`, `field "amount": "$5" is not a number`},
	{"huge amount", `{"key":"a","time":0,"amount":1e400}`, `field "amount": "1e400" is outside the range of int64 minor units`},
	{"tiny amount", `{"key":"a","time":0,"amount":"1e-400"}`, `field "amount": "1e-400" has more than 2 decimals`},
	{"too fine", `{"key":"a","time":0,"amount":12.345}`, `field "amount": "12.345" has more than 2 decimals`},
	{"above int64", `{"key":"a","time":0,"amount":92233720368547758.08}`, `field "amount": "92233720368547758.08" is outside the range of int64 minor units`},
	{"below int64", `{"key":"a","time":0,"amount":"-92233720368547758.09"}`, `field "amount": "-92233720368547758.09" is outside the range of int64 minor units`},

	{"no currency", `{"key":"a","time":0,"amount":1}`, `field "currency": missing, want a string or a number`},
	{"null currency", `{"key":"a","time":0,"amount":1,"currency":null}`, `field "currency": null, want a string or a number`},

	{"too long", `{"key":"a","time":0,"amount":1,"currency":"USD","pad":"` + strings.Repeat("x", 200) + `"}`, `longer than 200 bytes, the limit on records`},
}

// badLine is a row of --bad_output.
type badLine struct {
	Source    string `json:"source"`
	Position  int64  `json:"position"`
	Raw       string `json:"raw"`
	Reason    string `json:"reason"`
	RawBase64 string `json:"raw_base64,omitempty"`
}

// example is what is said of bad records without --bad_output: the first of them.
func example(what string) string {
	return "tidemark: not understood, or outside int64: " + what + "; --bad_output FILE takes them all, with reasons\n"
}

// TestBadRecords has each kind of bad record between two good ones.
func TestBadRecords(t *testing.T) {
	const good = `{"key":"acme","time":0,"amount":"0.01","currency":"USD"}`
	in := good + "\n"
	var want []badLine
	for i, b := range badRecords {
		in += b.raw + "\r\n\n" + good + "\n"
		line := badLine{Source: "in.ndjson", Position: int64(3*i + 2), Raw: b.raw, Reason: b.reason}
		if b.name == "too long" {
			line.Raw = b.raw[:200] // what is kept of it
		}
		if !utf8.ValidString(b.raw) {
			line.Raw = strings.ToValidUTF8(strings.ReplaceAll(b.raw, "\xe2\x82", "\ufffd\ufffd"), "\ufffd")
			line.RawBase64 = base64.StdEncoding.EncodeToString([]byte(b.raw))
		}
		want = append(want, line)
	}
	dir := t.TempDir()
	write(t, dir, "in.ndjson", in)
	args := strings.Fields("gmv --input in.ndjson --window 1h --amount_field amount --amount_scale 2 --currency_field currency --max_record_bytes 200")
	n, bad := len(badRecords)+1, len(badRecords)
	summary := fmt.Sprintf("read=%d bad=%d assigned=%d added=%d late=0\n", n+bad, bad, n, n)
	row := fmt.Sprintf(`{"key":"acme","currency":"USD","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T01:00:00Z","pane":"ON_TIME","revision":0,`+
		`"sum":%d,"previous_sum":null,"count":%d,"previous_count":null,"max_event_time":"1970-01-01T00:00:00Z"}`+"\n", n, n)

	if got, want := tidemark(t, dir, "", args...), (result{exitBad, row, example("in.ndjson, position 2: "+badRecords[0].reason) + summary}); got != want {
		t.Errorf("without --bad_output: got %+v\nwant %+v", got, want)
	}
	got := tidemark(t, dir, "", append(args, "--bad_output", "bad.ndjson")...)
	if want := (result{exitOK, row, summary}); got != want {
		t.Errorf("with --bad_output: got %+v\nwant %+v", got, want)
	}
	var reported []badLine
	for _, line := range lines(t, read(t, dir, "bad.ndjson")) {
		var b badLine
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&b); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		reported = append(reported, b)
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("bad records: mismatch (-want +got):\n%s", diff)
	}
}

// TestLongRecord has a record of 20 MB, above the default limit, at every place
// of a file and on standard input: it is a bad record, cut, and the others are
// read.
func TestLongRecord(t *testing.T) {
	long := `{"key":"acme","time":"2024-06-01T08:00:00Z","amount_cents":1,"pad":"` + strings.Repeat("0123456789", 2_000_000) + `"}` + "\n"
	short := order("acme", "08:30:00", 5)
	for _, c := range []struct {
		name, text string
		position   int
		good       int64
	}{
		{"alone", long, 1, 0},
		{"first", long + short + short, 1, 2},
		{"in the middle", short + long + short, 2, 2},
		{"last", short + short + long, 3, 2},
		{"last, without a newline", short + strings.TrimSuffix(long, "\n"), 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "in.ndjson", c.text)
			for source, stdin := range map[string]string{"in.ndjson": "", "-": c.text} {
				r := tidemark(t, dir, stdin, "gmv", "--input", source, "--window", "1h", "--bad_output", "bad.ndjson")
				want := result{exitOK, "", fmt.Sprintf("read=%d bad=1 assigned=%d added=%d late=0\n", c.good+1, c.good, c.good)}
				if c.good > 0 {
					want.stdout = hourRow("acme", 8, 5*c.good, c.good, "08:30:00")
				}
				if r != want {
					t.Errorf("%s: got %+v\nwant %+v", source, r, want)
				}
				raw := strings.ReplaceAll(long[:1024], `"`, `\"`)
				same(t, source+": bad records", fmt.Sprintf(`{"source":%q,"position":%d,"raw":"%s","reason":"longer than 16777216 bytes, the limit on records"}`+"\n",
					source, c.position, raw), read(t, dir, "bad.ndjson"))
			}
		})
	}
}

// TestRecordAtTheLimit has records of exactly as many bytes as are allowed.
func TestRecordAtTheLimit(t *testing.T) {
	text := strings.TrimSuffix(order("acme", "08:00:00", 5), "\n")
	limit := func(n int) []string {
		return []string{"gmv", "--input", "-", "--window", "1h", "--max_record_bytes", fmt.Sprint(n)}
	}
	want := hourRow("acme", 8, 5, 1, "08:00:00")
	for name, in := range map[string]string{"with a newline": text + "\n", "without": text} {
		if r := succeed(t, t.TempDir(), in, limit(len(text))...); r.stdout != want {
			t.Errorf("%s: %+v", name, r)
		}
		if r := tidemark(t, t.TempDir(), in, limit(len(text)-1)...); r.status != exitBad || r.stdout != "" {
			t.Errorf("%s: %+v, want a bad record", name, r)
		}
	}
}

// TestLargeRecords has files whose last record ends past the point where the
// source checkpoints itself: nothing is left to be resumed then.
func TestLargeRecords(t *testing.T) {
	record := func(n int) string {
		return `{"key":"acme","time":"2024-06-01T08:00:00Z","amount_cents":5,"pad":"` + strings.Repeat("x", n) + `"}` + "\n"
	}
	for name, in := range map[string]string{
		"one record":         record(5 << 20),
		"one above the rest": record(100) + record(4<<20),
		"many":               strings.Repeat(record(1000), 4<<20/len(record(1000))+1),
		"twice over":         strings.Repeat(record(1000), 8<<20/len(record(1000))+1),
	} {
		t.Run(name, func(t *testing.T) {
			n := int64(strings.Count(in, "\n"))
			r := succeed(t, t.TempDir(), in, "gmv", "--input", "-", "--window", "1h")
			same(t, "rows", hourRow("acme", 8, 5*n, n, "08:00:00"), r.stdout)
		})
	}
}

// TestOverflow has a total that does not fit: it is reported among the bad
// records, and its elements count as added.
func TestOverflow(t *testing.T) {
	in := order("acme", "08:00:00", 9223372036854775807) + order("acme", "08:10:00", 1) + order("zeta", "08:00:00", 1)
	const summary = "read=3 bad=0 assigned=3 added=3 late=0 overflowed=1\n"
	r := tidemark(t, t.TempDir(), in, "gmv", "--input", "-", "--window", "1h")
	said := example(`total of key "acme": overflow: the sum 9223372036854775808 is outside int64, -9223372036854775808 to 9223372036854775807`)
	if want := (result{exitBad, hourRow("zeta", 8, 1, 1, "08:00:00"), said + summary}); r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
	dir := t.TempDir()
	if r := tidemark(t, dir, in, "gmv", "--input", "-", "--window", "1h", "--bad_output", "bad.ndjson"); r.status != exitOK || r.stderr != summary {
		t.Errorf("%+v", r)
	}
	var b struct{ Source, Reason, Key, Total string }
	if err := json.Unmarshal([]byte(read(t, dir, "bad.ndjson")), &b); err != nil {
		t.Fatal(err)
	}
	if b.Source != "total" || b.Key != "acme" || b.Total != "9223372036854775808" || !strings.HasPrefix(b.Reason, "overflow: ") {
		t.Errorf("%+v", b)
	}
}
