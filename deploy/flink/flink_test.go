//go:build flink

package flink

import (
	"fmt"
	"strings"
	"testing"
)

// work is a command, with the flags that say what to compute.
type work struct {
	name  string
	args  string
	files []input
	late  string // flags of streams
	// totals says that only the last rows of each key and window are the same in
	// any run of a stream: see path. Without lateness there are no LATE rows, and
	// for joins a pair has one row only: there all rows are the same.
	totals bool
}

var works = []work{
	{"tumbling", "gmv --input orders.ndjson --window 10m", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true},
	{"tumbling without lateness", "gmv --input orders.ndjson --window 10m", []input{orders}, "", false},
	{"calendar", "gmv --input days.ndjson --calendar day --time_zone America/Los_Angeles", []input{days}, "", false},
	{"sliding", "average --input orders.ndjson --window 10m --every 4m", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true},
	{"sliding without lateness", "average --input orders.ndjson --window 10m --every 4m", []input{orders}, "", false},
	{"sessions", "gmv --input orders.ndjson --session_gap 30s", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true},
	join("inner"), join("full"), join("left_anti"), join("left_semi"),
}

func join(kind string) work {
	return work{
		kind, "join --left left.ndjson --right right.ndjson --lower -1m --upper 5m --type " + kind,
		[]input{left, right},
		fmt.Sprint("--allowed_lateness ", lateness), false,
	}
}

// flags are those of the command, for a batch or a stream.
func (w work) flags(streamed bool) []string {
	args := strings.Fields(w.args)
	if streamed {
		args = append(args, "--stream", "--max_out_of_orderness", disorder.String())
		args = append(args, strings.Fields(w.late)...)
	}
	return args
}

// prepare writes the inputs to a new folder.
func (w work) prepare(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, in := range w.files {
		in.write(t, dir)
	}
	return dir
}

// into are the flags of the outputs of a run.
func into(name string) []string {
	return []string{"--output", name + ".ndjson", "--late_output", name + "-late.ndjson", "--bad_output", name + "-bad.ndjson"}
}

// compare compares the outputs of two runs: what is late and bad depends on the
// input alone, and so do the rows, but for the path of a stream.
func (w work) compare(t *testing.T, dir, want, got string, streamed bool) {
	t.Helper()
	for _, suffix := range []string{"-late.ndjson", "-bad.ndjson"} {
		same(t, suffix, sortedLines(t, dir, want+suffix), sortedLines(t, dir, got+suffix))
	}
	rows, onFlink := sortedLines(t, dir, want+".ndjson"), sortedLines(t, dir, got+".ndjson")
	if streamed && w.totals {
		rows, onFlink = totals(t, rows), totals(t, onFlink)
	}
	same(t, "rows", rows, onFlink)
	if len(rows) == 0 || len(sortedLines(t, dir, want+"-bad.ndjson")) == 0 || streamed && len(sortedLines(t, dir, want+"-late.ndjson")) == 0 {
		t.Errorf("%d rows, no bad or no late records: this tests too little", len(rows))
	}
}

// modes calls f for a batch and for a stream.
func modes(t *testing.T, name string, f func(t *testing.T, streamed bool)) {
	for _, streamed := range []bool{false, true} {
		mode := "batch"
		if streamed {
			mode = "stream"
		}
		t.Run(name+"/"+mode, func(t *testing.T) {
			t.Parallel()
			f(t, streamed)
		})
	}
}

// TestSameAsEmbedded runs each work on the embedded runner and on Flink.
func TestSameAsEmbedded(t *testing.T) {
	c := need(t)
	for _, w := range works {
		modes(t, w.name, func(t *testing.T, streamed bool) {
			dir := w.prepare(t)
			want := c.succeed(t, dir, append(w.flags(streamed), into("embedded")...)...)
			got := c.onFlink(t, dir, append(w.flags(streamed), into("flink")...)...)
			if want.summary() != got.summary() {
				t.Errorf("summary %s, want %s", got.summary(), want.summary())
			}
			w.compare(t, dir, "embedded", "flink", streamed)
		})
	}
}
