package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
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
			args := append([]string{c.Command, "--timeline", "script.ndjson", "--bad_output", "bad.ndjson", "--late_output", "late.ndjson"}, c.Args...)
			r := succeed(t, dir, "", args...)
			got, err := c.Output(lines(t, r.stdout), lines(t, read(t, dir, "bad.ndjson")), lines(t, read(t, dir, "late.ndjson")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
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
