package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// TestPanesTimelines plays the timelines of the oracle with EARLY and FINAL rows
// and sessions by the command: its flags ask for what the library is asked for.
func TestPanesTimelines(t *testing.T) {
	cases, err := casefile.ReadAll("../../testing/oracle/testdata/panes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "script.ndjson", c.Script())
			args := append([]string{c.Command, "--timeline", "script.ndjson", "--bad_output", "bad.ndjson"}, c.Args...)
			r := succeed(t, dir, "", args...)
			got := linesOf(t, c, lines(t, r.stdout))
			want := slices.DeleteFunc(slices.Clone(c.Want), func(line string) bool {
				return strings.HasPrefix(line, "overflow ") || strings.HasPrefix(line, "late ")
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			res := c.Config.Play(c.Steps)
			counts := fmt.Sprintf("assigned=%d added=%d late=%d", res.Assigned, res.Added, res.Missed)
			if n := len(res.Overflows); n > 0 {
				counts += fmt.Sprintf(" overflowed=%d", n)
			}
			if !strings.HasSuffix(r.lastLine(), " "+counts) {
				t.Errorf("%s, want %s", r.lastLine(), counts)
			}
		})
	}
}

// linesOf is rows as case files say them.
func linesOf(t *testing.T, c *casefile.Case, rows []string) []string {
	t.Helper()
	var money []oracle.Row
	var averages []oracle.AverageRow
	for _, text := range rows {
		var r struct {
			Key, Currency, Pane string
			Start               time.Time `json:"window_start"`
			End                 time.Time `json:"window_end"`
			Revision, Count     int64
			Sum                 json.Number
			Average             *float64
			PreviousAverage     *float64   `json:"previous_average"`
			PreviousSum         *int64     `json:"previous_sum"`
			PreviousCount       *int64     `json:"previous_count"`
			Max                 *time.Time `json:"max_event_time"`
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var maxMs *int64
		if r.Max != nil {
			maxMs = new(r.Max.UnixMilli())
		}
		if c.Command == "average" {
			sum, err := r.Sum.Float64()
			if err != nil {
				t.Fatal(err)
			}
			averages = append(averages, oracle.AverageRow{
				Key: r.Key, StartMs: r.Start.UnixMilli(), EndMs: r.End.UnixMilli(), Pane: r.Pane, Revision: r.Revision,
				Average: r.Average, PreviousAverage: r.PreviousAverage, Sum: &sum, Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: maxMs,
			})
			continue
		}
		sum, err := r.Sum.Int64()
		if err != nil {
			t.Fatal(err)
		}
		money = append(money, oracle.Row{
			Key: r.Key, Currency: r.Currency, StartMs: r.Start.UnixMilli(), EndMs: r.End.UnixMilli(), Pane: r.Pane, Revision: r.Revision,
			Minor: sum, PreviousMinor: r.PreviousSum, Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: maxMs,
		})
	}
	if c.Command == "average" {
		return c.AverageLines(averages, nil)
	}
	return c.Lines(money, nil, nil)
}

// TestReportOfSessions counts by hand: a record of a session is judged by its own
// window, whatever its session is.
func TestReportOfSessions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1)+ // until 08:10
		order("a", "08:12:00", 1)+
		order("a", "08:02:00", 1)+ // ended when the watermark was at 08:12: needs 1 ms
		order("a", "08:02:01", 1)+ // 1 s before its end
		order("a", "08:00:00", 1)) // 2 minutes behind it
	r := tidemark(t, dir, "", strings.Fields("gmv --session_gap 10m --input in.ndjson --lateness_report")...)
	row := func(lateness string, late int) string {
		return fmt.Sprintf(`{"allowed_lateness":%q,"late":%d,"assigned":5}`+"\n", lateness, late)
	}
	if want := (result{exitOK, row("0s", 2) + row("1ms", 1) + row("2m1s", 0), "read=5 bad=0 assigned=5\n"}); r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
}
