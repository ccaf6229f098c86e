package rows

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func TestAppendGMV(t *testing.T) {
	minor, count := int64(-5), int64(2)
	first := gmv.Row{
		Key: "caf\u00e9 \"17\"", Currency: "EUR", StartMs: 1_563_955_440_000, EndMs: 1_563_955_500_000,
		Pane: "ON_TIME", Minor: 129_900, Count: 3, MaxTimeMs: new(int64(1_563_955_499_999)),
	}
	second := gmv.Row{
		StartMs: -60_000, EndMs: 0, Pane: "LATE", Revision: 1, Minor: math.MinInt64,
		PreviousMinor: &minor, Count: math.MaxInt64, PreviousCount: &count, MaxTimeMs: new(int64(-1)),
	}
	for _, tc := range []struct {
		row      gmv.Row
		currency bool
		want     string
	}{
		{first, false, `{"key":"caf` + "\u00e9" + ` \"17\"","window_start":"2019-07-24T08:04:00Z","window_end":"2019-07-24T08:05:00Z",` +
			`"pane":"ON_TIME","revision":0,"sum":129900,"previous_sum":null,"count":3,"previous_count":null,` +
			`"max_event_time":"2019-07-24T08:04:59.999Z"}`},
		{first, true, `{"key":"caf` + "\u00e9" + ` \"17\"","currency":"EUR","window_start":"2019-07-24T08:04:00Z","window_end":"2019-07-24T08:05:00Z",` +
			`"pane":"ON_TIME","revision":0,"sum":129900,"previous_sum":null,"count":3,"previous_count":null,` +
			`"max_event_time":"2019-07-24T08:04:59.999Z"}`},
		{second, true, `{"key":"","currency":"","window_start":"1969-12-31T23:59:00Z","window_end":"1970-01-01T00:00:00Z",` +
			`"pane":"LATE","revision":1,"sum":-9223372036854775808,"previous_sum":-5,"count":9223372036854775807,"previous_count":2,` +
			`"max_event_time":"1969-12-31T23:59:59.999Z"}`},
	} {
		if got := string(AppendGMV([]byte("before"), &tc.row, tc.currency)); got != "before"+tc.want {
			t.Errorf("AppendGMV(%+v)\n got %s\nwant %s", tc.row, got, tc.want)
		}
	}
}

func TestAppendOverflow(t *testing.T) {
	o := gmv.Overflow{
		Key: `a"b` + "\n", Currency: "USD", StartMs: 0, EndMs: 60_000, Pane: "ON_TIME",
		Total: "9223372036854775808", Count: 2, Reason: "overflow: too much",
	}
	const raw, end = `\"window_start\":\"1970-01-01T00:00:00Z\",\"window_end\":\"1970-01-01T00:01:00Z\",\"pane\":\"ON_TIME\",` +
		`\"sum\":9223372036854775808,\"count\":2}"`,
		`"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:01:00Z","total":"9223372036854775808"}`
	for currency, want := range map[bool]string{
		false: `{"source":"total","position":0,"raw":"{\"key\":\"a\\\"b\\n\",` + raw +
			`,"reason":"overflow: too much","key":"a\"b\n",` + end,
		true: `{"source":"total","position":0,"raw":"{\"key\":\"a\\\"b\\n\",\"currency\":\"USD\",` + raw +
			`,"reason":"overflow: too much","key":"a\"b\n","currency":"USD",` + end,
	} {
		if got := string(AppendOverflow([]byte("before"), &o, currency)); got != "before"+want {
			t.Errorf("AppendOverflow\n got %s\nwant %s", got, want)
		}
	}
}

func TestAppendLate(t *testing.T) {
	const (
		tail = `,"time":"1970-01-01T00:00:00.050Z","missed":[{"window_start":"1970-01-01T00:00:00Z",` +
			`"window_end":"1970-01-01T00:01:00Z"}],"missed_all":true,"source":"in.ndjson","position":7}`
		deepest = maxDepth - 1 // and the row itself
	)
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for _, tc := range []struct{ name, event, want string }{
		{"object", `{"a":1}`, `{"a":1}`},
		{"as written", `{ "a" : 1.50e+2 ,"a":"\u0041\/<\u2028` + "\u2028" + `"}`, `{ "a" : 1.50e+2 ,"a":"\u0041\/<\u2028` + "\u2028" + `"}`},
		{"carriage return", "{\"a\":1}\r", `{"a":1}`},
		{"white space around", " \t\r\n{\"a\": 1} \t\r\n", `{"a": 1}`},
		{"several lines", "{\r\n\t\"a\": [1,\n2]}", "{  \t\"a\": [1, 2]}"},
		{"number", "17", "17"},
		{"null", "null", "null"},
		{"empty", "", `""`},
		{"blank", " \n", `" \n"`},
		{"cut off", `{"a":`, `"{\"a\":"`},
		{"two values", `1,"x":2`, `"1,\"x\":2"`},
		{"closing the row", `1}`, `"1}"`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", `"{\"a\":\"\ufffd\"}"`},
		{"deep", nested(deepest), nested(deepest)},
		{"too deep for a row", nested(deepest + 1), `"` + nested(deepest+1) + `"`},
		{"too deep", nested(deepest + 2), `"` + nested(deepest+2) + `"`},
	} {
		rec := Late{
			Event: []byte(tc.event), TimeMs: 50, Missed: []windowfns.Window{{StartMs: 0, EndMs: 60_000}}, All: true,
			Source: "in.ndjson", Position: 7,
		}
		got := string(AppendLate([]byte("before"), &rec))
		if got != `before{"event":`+tc.want+tail {
			t.Errorf("%s:\n got %.300s\nwant %.300s", tc.name, got, `before{"event":`+tc.want+tail)
		}
		if !json.Valid([]byte(got[len("before"):])) {
			t.Errorf("%s: encoding/json does not read the row", tc.name)
		}
		if string(rec.Event) != tc.event {
			t.Errorf("%s: the event became %q", tc.name, rec.Event)
		}
	}
}

func TestAppendLateWindows(t *testing.T) {
	const a, b = `{"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:02Z"}`,
		`{"window_start":"1970-01-01T00:00:01Z","window_end":"1970-01-01T00:00:03Z"}`
	all := []windowfns.Window{{StartMs: 0, EndMs: 2000}, {StartMs: 1000, EndMs: 3000}}
	for n, want := range []string{"[]", "[" + a + "]", "[" + a + "," + b + "]"} {
		got := string(AppendLate(nil, &Late{Event: []byte("{}"), TimeMs: 1000, Missed: all[:n], Source: "-", Position: 1}))
		want = `{"event":{},"time":"1970-01-01T00:00:01Z","missed":` + want + `,"missed_all":false,"source":"-","position":1}`
		if got != want {
			t.Errorf("%d windows:\n got %s\nwant %s", n, got, want)
		}
	}
}

func TestAppendBad(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{"", `"raw":"","reason":"why \"so\""}`},
		{`{"a":`, `"raw":"{\"a\":","reason":"why \"so\""}`},
		{"a,b\r", `"raw":"a,b\r","reason":"why \"so\""}`},
		{"two\nlines\x00", `"raw":"two\nlines\u0000","reason":"why \"so\""}`},
		{"\ufffd", "\"raw\":\"\ufffd\"" + `,"reason":"why \"so\""}`},
		{"a\xff\xfe", `"raw":"a\ufffd\ufffd","reason":"why \"so\"","raw_base64":"Yf/+"}`},
		{"\xc3", `"raw":"\ufffd","reason":"why \"so\"","raw_base64":"ww=="}`},
	} {
		got := string(AppendBad([]byte("before"), &Bad{Source: `in\x`, Position: -1, Raw: []byte(tc.raw), Reason: `why "so"`}))
		if want := `before{"source":"in\\x","position":-1,` + tc.want; got != want {
			t.Errorf("AppendBad of %q\n got %s\nwant %s", tc.raw, got, want)
		}
	}
}
