package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTimelines plays the scripts of testdata/timelines. A line that begins with
// "# $ tidemark" says how; NAME.rows.ndjson and NAME.late.ndjson beside NAME.ndjson
// hold what has to come out.
func TestTimelines(t *testing.T) {
	const prompt = "# $ tidemark "
	paths, err := filepath.Glob("testdata/timelines/*.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, path := range paths {
		name, _ := strings.CutSuffix(filepath.Base(path), ".ndjson")
		if strings.Contains(name, ".") {
			continue // what comes out of one
		}
		played++
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, line, ok := strings.Cut(string(script), prompt)
			if !ok {
				t.Fatalf("%s has no line that begins with %q", path, prompt)
			}
			line, _, _ = strings.Cut(line, "\n")
			dir := t.TempDir()
			write(t, dir, name, string(script))
			args := append(strings.Fields(line), "--timeline", name, "--late_output", "late.ndjson")
			r := succeed(t, dir, "", args...)
			rows, late := sorted(t, lines(t, r.stdout)), read(t, dir, "late.ndjson")
			if updating() {
				golden(t, name+".rows.ndjson", rows)
				golden(t, name+".late.ndjson", late)
			}
			same(t, "rows", read(t, "testdata/timelines", name+".rows.ndjson"), rows)
			same(t, "late records", read(t, "testdata/timelines", name+".late.ndjson"), late)

			// Without --late_output, late records are counted and nothing else.
			again := succeed(t, dir, "", args[:len(args)-2]...)
			if again.stderr != r.stderr || sorted(t, lines(t, again.stdout)) != rows {
				t.Errorf("without --late_output: %+v\nwith it: %+v", again, r)
			}
			checkCounts(t, r.lastLine(), late)

			// Shards change nothing.
			again = succeed(t, dir, "", append(args, "--shards", "7")...)
			if again.stderr != r.stderr || sorted(t, lines(t, again.stdout)) != rows || read(t, dir, "late.ndjson") != late {
				t.Errorf("in 7 shards: %+v\nin one: %+v", again, r)
			}
		})
	}
	if played < 11 {
		t.Errorf("%d timelines, want 11", played)
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	write(t, "testdata/timelines", name, text)
}

// checkCounts checks the conservation law, and that late is what the late
// records say.
func checkCounts(t *testing.T, summary, late string) {
	t.Helper()
	var read, bad, assigned, added, missed int
	if _, err := fmt.Sscanf(summary, "read=%d bad=%d assigned=%d added=%d late=%d", &read, &bad, &assigned, &added, &missed); err != nil {
		t.Fatalf("%q: %v", summary, err)
	}
	if assigned != added+missed || bad != 0 {
		t.Errorf("%s: assigned is not added + late", summary)
	}
	if n := strings.Count(late, `{"window_start":`); n != missed {
		t.Errorf("%s, and the late records name %d windows", summary, n)
	}
}

// rowKey is what tells one row from another.
type rowKey struct {
	Key      string `json:"key"`
	Currency string `json:"currency"`
	Start    string `json:"window_start"`
	End      string `json:"window_end"`
	Revision int    `json:"revision"`
}

// sorted sorts rows by window, key and revision. Rows of one key and window have
// to be in the order of their revisions, from 0, already; the rest of the order
// is not settled where one watermark brings several rows.
func sorted(t *testing.T, rows []string) string {
	t.Helper()
	keys := map[string]rowKey{}
	next := map[rowKey]int{}
	for _, row := range rows {
		var k rowKey
		if err := json.Unmarshal([]byte(row), &k); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		keys[row] = k
		revision := k.Revision
		k.Revision = 0
		if next[k] != revision {
			t.Errorf("%s: want revision %d here", row, next[k])
		}
		next[k]++
	}
	slices.SortFunc(rows, func(a, b string) int {
		x, y := keys[a], keys[b]
		return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Start, y.Start), cmp.Compare(x.Key, y.Key),
			cmp.Compare(x.Currency, y.Currency), cmp.Compare(x.Revision, y.Revision))
	})
	return strings.Join(append(rows, ""), "\n")
}

// TestTimelineSteps plays steps that change nothing.
func TestTimelineSteps(t *testing.T) {
	const event = `{"event": {"key": "acme", "time": "2024-06-01T08:00:00Z", "amount_cents": 1}}`
	for _, c := range []struct{ name, script, rows, summary string }{
		{"nothing", "", "", "read=0 bad=0 assigned=0 added=0 late=0\n"},
		{"comments only", "# nothing\n\n", "", "read=0 bad=0 assigned=0 added=0 late=0\n"},
		{"watermarks only", `{"watermark": 1}` + "\n" + `{"watermark": "+inf"}`, "", "read=0 bad=0 assigned=0 added=0 late=0\n"},
		{"one event", event, hourRow("acme", 8, 1, 1, "08:00:00"), "read=1 bad=0 assigned=1 added=1 late=0\n"},
		{"byte order mark and carriage returns", "\ufeff" + event + "\r\n\r\n# end\r\n", hourRow("acme", 8, 1, 1, "08:00:00"), "read=1 bad=0 assigned=1 added=1 late=0\n"},
		{
			"watermarks that go back, and processing time",
			`{"watermark": "2024-06-01T07:00:00Z"}` + "\n" + `{"processing_time": "30s"}` + "\n" + event + "\n" +
				`{"watermark": "1899-01-01T00:00:00Z"}` + "\n" + `{"watermark": -5}` + "\n" + event + "\n" + `{"watermark": "+inf"}` + "\n" + `{"watermark": 0}`,
			hourRow("acme", 8, 2, 2, "08:00:00"), "read=2 bad=0 assigned=2 added=2 late=0\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "script", c.script)
			r := tidemark(t, dir, "", "gmv", "--timeline", "script", "--window", "1h", "--runner", "PrismRunner")
			if want := (result{exitOK, c.rows, c.summary}); r != want {
				t.Errorf("got %+v\nwant %+v", r, want)
			}
		})
	}
}

// TestLateOnStandardOutput prints late records in place of rows, and behind them.
func TestLateOnStandardOutput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "script", `{"watermark": "2024-06-01T09:00:00Z"}`+"\n"+
		`{"event":{"time":"2024-06-01T08:00:00.5+00:00" , "amount_cents": 1, "key":"acme"} }`+"\n"+
		`{"event": {}}`+"\n"+
		`{"event": `+strings.TrimSpace(order("acme", "09:00:00", 2))+"}\n")
	rows := hourRow("acme", 9, 2, 1, "09:00:00")
	late := `{"event":{"time":"2024-06-01T08:00:00.5+00:00" , "amount_cents": 1, "key":"acme"},"time":"2024-06-01T08:00:00.500Z",` +
		`"missed":[{"window_start":"2024-06-01T08:00:00Z","window_end":"2024-06-01T09:00:00Z"}],"missed_all":true,"source":"script","position":2}` + "\n"
	bad := `{"source":"script","position":3,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n"
	for args, want := range map[string]string{
		"--late_output - --output rows.ndjson --bad_output bad.ndjson": late,
		"--late_output - --bad_output bad.ndjson":                      rows + late,
		"--late_output - --bad_output -":                               rows + late + bad,
		"--bad_output -":                                               rows + bad,
	} {
		r := succeed(t, dir, "", strings.Fields("gmv --timeline script --window 1h "+args)...)
		same(t, args, want, r.stdout)
		if want := "read=3 bad=1 assigned=2 added=1 late=1"; r.lastLine() != want {
			t.Errorf("%s: %s, want %s", args, r.lastLine(), want)
		}
	}
	same(t, "rows", rows, read(t, dir, "rows.ndjson"))
	same(t, "bad records", bad, read(t, dir, "bad.ndjson"))
}

// TestExamples runs the files of the examples folder as the README does.
func TestExamples(t *testing.T) {
	const top = "../.."
	r := succeed(t, top, "", strings.Fields("gmv --input examples/orders.ndjson --window 1h --key_field company_id --time_field created_at")...)
	if n := strings.Count(r.stdout, "\n"); n != 5 || !strings.Contains(r.stdout, `"sum":12100,`) {
		t.Errorf("%d rows:\n%s", n, r.stdout)
	}

	late := filepath.Join(t.TempDir(), "late.ndjson")
	r = succeed(t, top, "", append(strings.Fields("gmv --timeline examples/late.timeline.ndjson --window 5m --allowed_lateness 2m --late_output"), late)...)
	var panes []string
	for _, row := range lines(t, r.stdout) {
		var p struct {
			Pane string
			Sum  int
		}
		if err := json.Unmarshal([]byte(row), &p); err != nil {
			t.Fatal(err)
		}
		panes = append(panes, fmt.Sprint(p.Pane, " ", p.Sum))
	}
	if want := []string{"ON_TIME 1250", "LATE 1320"}; !slices.Equal(panes, want) {
		t.Errorf("rows %q, want %q", panes, want)
	}
	if text := read(t, filepath.Dir(late), filepath.Base(late)); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"missed_all":true`) {
		t.Errorf("late records:\n%s", text)
	}
	if want := "read=4 bad=0 assigned=4 added=3 late=1"; r.lastLine() != want {
		t.Errorf("%s, want %s", r.lastLine(), want)
	}
}
