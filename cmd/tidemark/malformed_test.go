package main

import (
	"strings"
	"testing"
)

// TestMalformedTimelines checks that a malformed step ends the command before
// anything runs, with the line and the number of the step.
func TestMalformedTimelines(t *testing.T) {
	const (
		event = `{"event": {"key": "a", "time": 1000, "amount_cents": 1}}`
		steps = `want one of {"event": {...}}, {"watermark": ...}, {"processing_time": "..."}`
		mark  = `want an RFC 3339 string, an integer in ms, or "+inf"`
		clock = `want a positive whole number of milliseconds, as in "30s"`
	)
	for _, c := range []struct{ name, script, want string }{
		{"not JSON", "watermark 5", "line 1, step 1: not a JSON object, " + steps},
		{"truncated", event + "\n" + event[:20], "line 2, step 2: not a JSON object, " + steps},
		{"two on a line", `{"watermark": 1} {"watermark": 2}`, "line 1, step 1: not a JSON object, " + steps},
		{"array", `[]`, "line 1, step 1: not a JSON object, " + steps},
		{"null", `null`, "line 1, step 1: not a JSON object, " + steps},
		{"no field", `{}`, "line 1, step 1: 0 fields, " + steps},
		{"two fields", `{"watermark": 1, "processing_time": "1s"}`, "line 1, step 1: 2 fields, " + steps},
		{"a field twice", `{"watermark": 1, "watermark": 2}`, "line 1, step 1: 2 fields, " + steps},
		{"unknown field", `{"advance": 1}`, `line 1, step 1: field "advance", ` + steps},
		{"a side of a join", `{"left": {"key": "a", "time": 1}}`, `line 1, step 1: field "left", ` + steps},
		{"field in capitals", `{"Watermark": 1}`, `line 1, step 1: field "Watermark", ` + steps},

		{"watermark null", `{"watermark": null}`, "line 1, step 1: watermark: null, " + mark},
		{"watermark true", `{"watermark": true}`, "line 1, step 1: watermark: true, " + mark},
		{"watermark object", `{"watermark": {}}`, "line 1, step 1: watermark: {}, " + mark},
		{"watermark fraction", `{"watermark": 1.5}`, "line 1, step 1: watermark: 1.5 is not a whole number of ms, " + mark},
		{"watermark word", `{"watermark": "soon"}`, `line 1, step 1: watermark: "soon" is not an RFC 3339 time or a whole number of ms, ` + mark},
		{"watermark -inf", `{"watermark": "-inf"}`, `line 1, step 1: watermark: "-inf" is not an RFC 3339 time or a whole number of ms, ` + mark},
		{
			"watermark without offset", `{"watermark": "2024-06-01T08:00:00"}`,
			`line 1, step 1: watermark: "2024-06-01T08:00:00" has no offset, want one such as Z or +02:00 at the end, ` + mark,
		},

		{"processing time number", `{"processing_time": 30}`, "line 1, step 1: processing_time: 30, " + clock},
		{"processing time without unit", `{"processing_time": "30"}`, `line 1, step 1: processing_time: "30", ` + clock},
		{"processing time zero", `{"processing_time": "0s"}`, `line 1, step 1: processing_time: "0s", ` + clock},
		{"processing time back", `{"processing_time": "-1s"}`, `line 1, step 1: processing_time: "-1s", ` + clock},
		{"processing time not whole", `{"processing_time": "1500us"}`, `line 1, step 1: processing_time: "1500us", ` + clock},

		{
			"event after infinity", event + "\n{\"watermark\": \"+inf\"}\n" + event,
			"line 3, step 3: an event after a watermark of +inf",
		},
		{
			"event after the year 2185", `{"watermark": "2186-01-01T00:00:00Z"}` + "\n" + event,
			"line 2, step 2: an event after a watermark of +inf",
		},
		{
			"lines count, comments are no steps", "# a\n\n" + event + "\n\r\n  # b\n{}\n" + event,
			"line 6, step 2: 0 fields, " + steps,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "script", c.script)
			write(t, dir, "rows.ndjson", "old\n")
			r := tidemark(t, dir, "", strings.Fields("gmv --timeline script --window 1h --output rows.ndjson")...)
			want := result{status: exitUsage, stderr: "tidemark: --timeline script: " + c.want + "\n"}
			if r != want {
				t.Errorf("got  %+v\nwant %+v", r, want)
			}
			if rows := read(t, dir, "rows.ndjson"); rows != "old\n" {
				t.Errorf("the output is %q, want it left alone", rows)
			}
		})
	}
}

// TestMalformedEvents checks that an event that cannot be used is a bad record,
// at its step, and that the rest is played.
func TestMalformedEvents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "script", strings.Join([]string{
		`# the steps count, not the lines`,
		`{"event": {"key": "a", "time": 1000, "amount_cents": 1}}`,
		`{"event": null}`,
		`{"event": {"time": 1000, "amount_cents": 2}}`,
		`{"watermark": 2000}`,
		`{"event": {"key": "a", "time": "1000 ms", "amount_cents": 4}}`,
		`{"event": {"key": "a", "time": 3000, "amount_cents": 8.5}}`,
		`{"event": {"key": "a", "time": 3000, "amount_cents": 16, "pad": "` + strings.Repeat("x", 100) + `"}}`,
		`{"event": {"key": "a", "time": 3000, "amount_cents": 32, "note": "` + "\xff" + `"}}`,
		`{"event": {"key": "a", "time": 4000, "amount_cents": 64}}`,
	}, "\n"))
	args := strings.Fields("gmv --timeline script --window 1s --max_record_bytes 100")

	r := tidemark(t, dir, "", args...)
	rows := `{"key":"a","window_start":"1970-01-01T00:00:01Z","window_end":"1970-01-01T00:00:02Z","pane":"ON_TIME","revision":0,` +
		`"sum":1,"previous_sum":null,"count":1,"previous_count":null,"max_event_time":"1970-01-01T00:00:01Z"}` + "\n" +
		`{"key":"a","window_start":"1970-01-01T00:00:04Z","window_end":"1970-01-01T00:00:05Z","pane":"ON_TIME","revision":0,` +
		`"sum":64,"previous_sum":null,"count":1,"previous_count":null,"max_event_time":"1970-01-01T00:00:04Z"}` + "\n"
	if want := (result{exitBad, rows, example("script, step 2: null, want a JSON object") + "read=8 bad=6 assigned=2 added=2 late=0\n"}); r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}

	succeed(t, dir, "", append(args, "--bad_output", "bad.ndjson")...)
	same(t, "bad records", strings.Join([]string{
		`{"source":"script","position":2,"raw":"null","reason":"null, want a JSON object"}`,
		`{"source":"script","position":3,"raw":"{\"time\": 1000, \"amount_cents\": 2}","reason":"field \"key\": missing, want a string or a number"}`,
		`{"source":"script","position":5,"raw":"{\"key\": \"a\", \"time\": \"1000 ms\", \"amount_cents\": 4}",` +
			`"reason":"field \"time\": \"1000 ms\" is not an RFC 3339 time or a whole number of ms"}`,
		`{"source":"script","position":6,"raw":"{\"key\": \"a\", \"time\": 3000, \"amount_cents\": 8.5}",` +
			`"reason":"field \"amount_cents\": \"8.5\" has more than 0 decimals"}`,
		`{"source":"script","position":7,"raw":"{\"key\": \"a\", \"time\": 3000, \"amount_cents\": 16, \"pad\": \"` +
			strings.Repeat("x", 100) + `\"}","reason":"longer than 100 bytes, the limit on records"}`,
		`{"source":"script","position":8,"raw":"{\"key\": \"a\", \"time\": 3000, \"amount_cents\": 32, \"note\": \"\ufffd\"}",` +
			`"reason":"invalid UTF-8 at byte offset 56","raw_base64":"eyJrZXkiOiAiYSIsICJ0aW1lIjogMzAwMCwgImFtb3VudF9jZW50cyI6IDMyLCAibm90ZSI6ICL/In0="}`,
		"",
	}, "\n"), read(t, dir, "bad.ndjson"))
}
