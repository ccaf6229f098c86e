package casefile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/casefile"
)

// TestJoinScript reads again what a case plays.
func TestJoinScript(t *testing.T) {
	cases, err := casefile.ReadJoins("../../testing/oracle/testdata/joins")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		again, err := casefile.ParseJoin(c.Name+".txt", fmt.Sprintf("join %s\n%s----\n%s\n", strings.Join(c.Args, " "), c.Script(), strings.Join(c.Want, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(casefile.JoinCase{})); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.Name, diff)
		}
	}
}

// TestJoinOutput compares what the command prints with the lines of a case.
func TestJoinOutput(t *testing.T) {
	c, err := casefile.ParseJoin("x.txt", `join --type full --upper 2s
{"left": {"id": "l1", "key": 17, "time": 0}}
{"right": {"id": "r1", "key": "17", "time": 1500}}
{"watermark": 5000}
{"right": {"id": "r2", "key": "a", "time": -1}}
{"right": {"id": "r3", "key": "a", "time": 5000}}
----
row "17" l1 r1 1970-01-01T00:00:01.500Z @2
row "a" - r3 1970-01-01T00:00:05Z @end
late right r2 1969-12-31T23:59:59.999Z @4
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Want, c.Lines(c.Config.Play(c.Steps))); diff != "" {
		t.Errorf("oracle: mismatch (-want +got):\n%s", diff)
	}
	rows, err := c.Rows([]string{
		`{"key":"a","left":null,"right":{"id":"r3","key":"a","time":5000},"time":"1970-01-01T00:00:05Z"}`,
		`{"key":"17","left":{"id":"l1","key":17,"time":0},"right":{"id":"r1","key":"17","time":1500},"time":"1970-01-01T00:00:01.500Z"}`,
	})
	if err != nil || !slices.Equal(rows, c.WantRows()) {
		t.Errorf("rows %q, error %v, want %q", rows, err, c.WantRows())
	}
	late, err := c.Lates([]string{
		`{"side":"right","event":{"id":"r2","key":"a","time":-1},"time":"1969-12-31T23:59:59.999Z","source":"x","position":4}`,
	})
	if err != nil || !slices.Equal(late, c.WantLate()) {
		t.Errorf("late %q, error %v, want %q", late, err, c.WantLate())
	}
	for _, bad := range []string{`{"key":"a","left":{},"right":null,"time":"1970-01-01T00:00:05Z"}`, `{"key":"a","time":5}`, `row`} {
		if lines, err := c.Rows([]string{bad}); err == nil {
			t.Errorf("%s: %q, no error", bad, lines)
		}
	}
}

// TestJoinErrors reads files that are wrong, and names the line.
func TestJoinErrors(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"no divider", "join\n", "no line ----"},
		{"another command", "gmv --window 1s\n----\n", "x.txt:1: command \"gmv\", want join"},
		{"an unknown flag", "join --window 1s\n----\n", "x.txt:1: flag provided but not defined"},
		{"an unknown type", "join --type outer\n----\n", "x.txt:1: Type = \"outer\""},
		{"an empty interval", "# crossed\njoin --lower 1s\n----\n", "x.txt:2: LowerMs = 1000"},
		{"less than a millisecond", "join --upper 1500us\n----\n", "x.txt:1: want flags only, and whole milliseconds"},
		{"no key", "join\n{\"left\": {\"id\": \"l\", \"time\": 0}}\n----\n", "x.txt:2: no key in \"key\""},
		{"no time", "join\n{\"right\": {\"id\": \"l\", \"key\": \"k\"}}\n----\n", "x.txt:2: time <nil>"},
		{"no id", "join\n{\"right\": {\"key\": \"k\", \"time\": 0}}\n----\n", "x.txt:2: id <nil>, want a word"},
		{"an event of another command", "join\n{\"event\": {\"key\": \"k\", \"time\": 0}}\n----\n", "x.txt:2: time <nil>"},
	} {
		if _, err := casefile.ParseJoin("x.txt", c.doc); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}
