package timeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
)

func event(number int, text string) timeline.Step {
	return timeline.Step{Number: number, Kind: timeline.Event, Event: []byte(text)}
}

func watermark(number int, ms int64) timeline.Step {
	return timeline.Step{Number: number, Kind: timeline.Watermark, WatermarkMs: ms}
}

func TestParse(t *testing.T) {
	const beforeAll = records.MinTimeMs - 1
	for _, c := range []struct {
		name, script string
		want         []timeline.Step
	}{
		{"nothing", "", nil},
		{"comments and blank lines", "\n# a\n  # b\n\t\r\n#", nil},
		{"byte order mark", "\ufeff# a\n", nil},
		{
			"events as they stand", `{"event": {"b": 1 , "a":"#"}}` + "\n \t" + `{ "event" :[ 1, 2 ] } ` + "\r\n" + `{"event":null}`,
			[]timeline.Step{event(1, `{"b": 1 , "a":"#"}`), event(2, `[ 1, 2 ]`), event(3, `null`)},
		},
		{
			"invalid UTF-8 in an event", "{\"event\":{\"a\":\"\xff\"}}",
			[]timeline.Step{event(1, "{\"a\":\"\xff\"}")},
		},
		{
			"steps count, lines do not", "\n# a\n" + `{"watermark": 1}` + "\n\n# b\n" + `{"event": {}}`,
			[]timeline.Step{watermark(1, 1), event(2, `{}`)},
		},
		{
			"watermarks in ms", `{"watermark": 0}` + "\n" + `{"watermark": -1}` + "\n" + `{"watermark": 1718089200000}` + "\n" + `{"watermark": "60000"}` + "\n" + `{"watermark": 6e4}`,
			[]timeline.Step{watermark(1, 0), watermark(2, -1), watermark(3, 1718089200000), watermark(4, 60000), watermark(5, 60000)},
		},
		{
			"watermarks in RFC 3339", `{"watermark": "2019-07-24T08:05:00Z"}` + "\n" + `{"watermark": "1970-01-01T02:00:00.0015+02:00"}` + "\n" + `{"watermark": "1969-12-31T23:59:59.9999Z"}`,
			[]timeline.Step{watermark(1, 1563955500000), watermark(2, 1), watermark(3, -1)},
		},
		{
			"the range of times", `{"watermark": "1899-12-31T23:59:59Z"}` + "\n" + `{"watermark": -9e18}` + "\n" + `{"watermark": "1900-01-01T00:00:00Z"}` + "\n" + `{"watermark": "2185-12-31T23:59:59.999Z"}`,
			[]timeline.Step{watermark(1, beforeAll), watermark(2, beforeAll), watermark(3, records.MinTimeMs), watermark(4, records.MaxTimeMs)},
		},
		{
			"infinity", `{"watermark": "+inf"}` + "\n" + `{"watermark": "2186-01-01T00:00:00Z"}` + "\n" + `{"watermark": 9e99}` + "\n" + `{"watermark": 5}` + "\n" + `{"processing_time": "1s"}`,
			[]timeline.Step{
				watermark(1, timeline.Infinity), watermark(2, timeline.Infinity), watermark(3, timeline.Infinity), watermark(4, 5),
				{Number: 5, Kind: timeline.ProcessingTime, Advance: time.Second},
			},
		},
		{
			"escapes", `{"\u0065vent": {}}` + "\n" + `{"watermark": "\u002binf"}`,
			[]timeline.Step{event(1, `{}`), watermark(2, timeline.Infinity)},
		},
		{
			"processing time", `{"processing_time": "30s"}` + "\n" + `{"processing_time": "1h0.001s"}`,
			[]timeline.Step{
				{Number: 1, Kind: timeline.ProcessingTime, Advance: 30 * time.Second},
				{Number: 2, Kind: timeline.ProcessingTime, Advance: time.Hour + time.Millisecond},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := timeline.Parse([]byte(c.script))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMalformed(t *testing.T) {
	const (
		steps = `, want one of {"event": {...}}, {"watermark": ...}, {"processing_time": "..."}`
		mark  = `, want an RFC 3339 string, an integer in ms, or "+inf"`
		clock = `, want a positive whole number of milliseconds, as in "30s"`
	)
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ script, want string }{
		{`event`, `line 1, step 1: not a JSON object` + steps},
		{`{"event": {}`, `line 1, step 1: not a JSON object` + steps},
		{`{"event": {}} {}`, `line 1, step 1: not a JSON object` + steps},
		{`{"event": {}} # the first`, `line 1, step 1: not a JSON object` + steps},
		{"{\n\"event\": {}}", `line 1, step 1: not a JSON object` + steps},
		{`[]`, `line 1, step 1: not a JSON object` + steps},
		{`null`, `line 1, step 1: not a JSON object` + steps},
		{`"+inf"`, `line 1, step 1: not a JSON object` + steps},
		{`{}`, `line 1, step 1: 0 fields` + steps},
		{`{"event": {}, "watermark": 1}`, `line 1, step 1: 2 fields` + steps},
		{`{"event": {}, "note": "first"}`, `line 1, step 1: 2 fields` + steps},
		{`{"watermark": 1, "watermark": 2}`, `line 1, step 1: 2 fields` + steps},
		{`{"note": "first"}`, `line 1, step 1: field "note"` + steps},
		{`{"EVENT": {}}`, `line 1, step 1: field "EVENT"` + steps},
		{`{"` + long + `": {}}`, `line 1, step 1: field "` + long[:64] + `"` + steps},
		{`{"": {}}`, `line 1, step 1: field ""` + steps},
		{`{"a\nb": {}}`, `line 1, step 1: field "a\nb"` + steps},
		{`{"left": {}}`, `line 1, step 1: field "left"` + steps},

		{`{"watermark": null}`, `line 1, step 1: watermark: null` + mark},
		{`{"watermark": false}`, `line 1, step 1: watermark: false` + mark},
		{`{"watermark": []}`, `line 1, step 1: watermark: []` + mark},
		{`{"watermark": {"ms": 1}}`, `line 1, step 1: watermark: {"ms": 1}` + mark},
		{`{"watermark": [` + "1,\r\t2" + `]}`, `line 1, step 1: watermark: [1, 2]` + mark},
		{`{"watermark": ["` + long + `"]}`, `line 1, step 1: watermark: ["` + long[:62] + mark},
		{`{"watermark": "` + long + `"}`, `line 1, step 1: watermark: "` + long[:64] + `..." is not an RFC 3339 time or a whole number of ms` + mark},
		{`{"watermark": 0.5}`, `line 1, step 1: watermark: 0.5 is not a whole number of ms` + mark},
		{`{"watermark": ""}`, `line 1, step 1: watermark: "" is not an RFC 3339 time or a whole number of ms` + mark},
		{`{"watermark": "inf"}`, `line 1, step 1: watermark: "inf" is not an RFC 3339 time or a whole number of ms` + mark},
		{`{"watermark": "+INF"}`, `line 1, step 1: watermark: "+INF" is not an RFC 3339 time or a whole number of ms` + mark},
		{`{"watermark": "2019-07-24"}`, `line 1, step 1: watermark: "2019-07-24" is not an RFC 3339 time or a whole number of ms` + mark},
		{
			`{"watermark": "2019-07-24T08:05:00"}`,
			`line 1, step 1: watermark: "2019-07-24T08:05:00" has no offset, want one such as Z or +02:00 at the end` + mark,
		},

		{`{"processing_time": 1000}`, `line 1, step 1: processing_time: 1000` + clock},
		{`{"processing_time": null}`, `line 1, step 1: processing_time: null` + clock},
		{`{"processing_time": "` + long + `"}`, `line 1, step 1: processing_time: "` + long[:64] + `"` + clock},
		{`{"processing_time": {}}`, `line 1, step 1: processing_time: {}` + clock},
		{`{"processing_time": ""}`, `line 1, step 1: processing_time: ""` + clock},
		{`{"processing_time": "1 s"}`, `line 1, step 1: processing_time: "1 s"` + clock},
		{`{"processing_time": "0s"}`, `line 1, step 1: processing_time: "0s"` + clock},
		{`{"processing_time": "-30s"}`, `line 1, step 1: processing_time: "-30s"` + clock},
		{`{"processing_time": "1us"}`, `line 1, step 1: processing_time: "1us"` + clock},

		{`{"watermark": "+inf"}` + "\n\n" + `{"event": {}}`, `line 3, step 2: an event after a watermark of +inf`},
		{`{"watermark": 9e99}` + "\n" + `{"watermark": 1}` + "\n" + `{"event": {}}`, `line 3, step 3: an event after a watermark of +inf`},
		{"# one\n" + `{"event": {}}` + "\r\n\r\n# two\n" + `{"watermark": 1}` + "\n{}\n[]", `line 6, step 3: 0 fields` + steps},
	} {
		got, err := timeline.Parse([]byte(c.script))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: error %v\nwant %s", c.script, err, c.want)
		}
		if got != nil {
			t.Errorf("%q: steps %+v beside an error", c.script, got)
		}
	}
}

// TestParseJoin reads scripts with events of two sides.
func TestParseJoin(t *testing.T) {
	const script = `{"left": {"key": "a"}}` + "\n" + `{"right": 1}` + "\n" + `{"watermark": 5}` + "\n" + `{"l\u0065ft": null}` + "\n" + `{"processing_time": "1s"}`
	got, err := timeline.Parse([]byte(script), timeline.Left, timeline.Right)
	if err != nil {
		t.Fatal(err)
	}
	want := []timeline.Step{
		{Number: 1, Kind: timeline.Left, Event: []byte(`{"key": "a"}`)},
		{Number: 2, Kind: timeline.Right, Event: []byte(`1`)},
		watermark(3, 5),
		{Number: 4, Kind: timeline.Left, Event: []byte(`null`)},
		{Number: 5, Kind: timeline.ProcessingTime, Advance: time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	for kind, want := range map[timeline.Kind]bool{timeline.Event: true, timeline.Left: true, timeline.Right: true, timeline.Watermark: false, timeline.ProcessingTime: false} {
		if kind.IsEvent() != want {
			t.Errorf("kind %d is an event: %v", kind, !want)
		}
	}

	const steps = `, want one of {"left": {...}}, {"right": {...}}, {"watermark": ...}, {"processing_time": "..."}`
	for _, c := range []struct{ script, want string }{
		{`{"event": {}}`, `line 1, step 1: field "event"` + steps},
		{`{"left": {}, "right": {}}`, `line 1, step 1: 2 fields` + steps},
		{`{"LEFT": {}}`, `line 1, step 1: field "LEFT"` + steps},
		{`left`, `line 1, step 1: not a JSON object` + steps},
		{`{"watermark": null}`, `line 1, step 1: watermark: null, want an RFC 3339 string, an integer in ms, or "+inf"`},
		{`{"watermark": "+inf"}` + "\n" + `{"left": {}}`, `line 2, step 2: an event after a watermark of +inf`},
		{`{"watermark": "+inf"}` + "\n" + `{"right": {}}`, `line 2, step 2: an event after a watermark of +inf`},
	} {
		got, err := timeline.Parse([]byte(c.script), timeline.Left, timeline.Right)
		if err == nil || err.Error() != c.want || got != nil {
			t.Errorf("%q: %+v, error %v\nwant %s", c.script, got, err, c.want)
		}
	}
}

// FuzzParse checks that Parse takes any bytes, and what its steps and errors
// promise.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "#", "{}", "null", "[", `{"event":{"key":"a","time":0}}`, "{\"event\":\"\xff\"}", `{"event":null}`,
		`{"watermark":"2019-07-24T08:04:00Z"}`, `{"watermark":-1}`, `{"watermark":1e999999999}`, `{"watermark":"+inf"}` + "\n" + `{"event":1}`,
		`{"watermark":"\ud800"}`, `{"processing_time":"30s"}`, `{"processing_time":null}`, `{"a":1,"a":2}`, "{\"event\":1}\r\n# x\n\n{\"watermark\":2}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		before := string(script)
		steps, err := timeline.Parse(script)
		if string(script) != before {
			t.Fatal("Parse has changed the script")
		}
		lines := strings.Count(before, "\n") + 1
		if err != nil {
			var line, step int
			if n, _ := fmt.Sscanf(err.Error(), "line %d, step %d: ", &line, &step); n != 2 || line < 1 || line > lines || step < 1 || step > line {
				t.Fatalf("error %q of %d lines", err, lines)
			}
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error on several lines: %q", err)
			}
			return
		}
		if len(steps) > lines {
			t.Fatalf("%d steps of %d lines", len(steps), lines)
		}
		ended := false
		for i, st := range steps {
			if st.Number != i+1 {
				t.Fatalf("step %d has the number %d", i+1, st.Number)
			}
			switch st.Kind {
			case timeline.Event:
				if ended || len(st.Event) == 0 || !strings.Contains(before, string(st.Event)) {
					t.Fatalf("event %q, after infinity: %v", st.Event, ended)
				}
			case timeline.Watermark:
				ended = ended || st.WatermarkMs == timeline.Infinity
				if ms := st.WatermarkMs; ms != timeline.Infinity && (ms < records.MinTimeMs-1 || ms > records.MaxTimeMs) {
					t.Fatalf("watermark %d", ms)
				}
			case timeline.ProcessingTime:
				if st.Advance <= 0 || st.Advance%time.Millisecond != 0 {
					t.Fatalf("processing time %v", st.Advance)
				}
			default:
				t.Fatalf("kind %d", st.Kind)
			}
		}
	})
}

func TestInfinity(t *testing.T) {
	if timeline.Infinity != math.MaxInt64 {
		t.Errorf("%d", int64(timeline.Infinity))
	}
}
