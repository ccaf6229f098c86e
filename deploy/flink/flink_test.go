//go:build flink

package flink

import (
	"fmt"
	"regexp"
	"slices"
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
	// once says that a left record has at most one row, and is forgotten then. Which
	// of its partners comes first depends on the runner, also in a batch: so do the
	// time of the row, and how many right records have been a partner.
	once bool
}

var works = []work{
	{"tumbling", "gmv --input orders.ndjson --window 10m", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true, false},
	{"tumbling without lateness", "gmv --input orders.ndjson --window 10m", []input{orders}, "", false, false},
	{"calendar", "gmv --input days.ndjson --calendar day --time_zone America/Los_Angeles", []input{days}, "", false, false},
	{"sliding", "average --input orders.ndjson --window 10m --every 4m", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true, false},
	{"sliding without lateness", "average --input orders.ndjson --window 10m --every 4m", []input{orders}, "", false, false},
	{"sessions", "gmv --input orders.ndjson --session_gap 30s", []input{orders}, fmt.Sprint("--allowed_lateness ", lateness), true, false},
	join("inner"), join("full"), join("left_anti"), join("left_semi"),
}

func join(kind string) work {
	return work{
		kind, "join --left left.ndjson --right right.ndjson --lower -1m --upper 5m --type " + kind,
		[]input{left, right},
		fmt.Sprint("--allowed_lateness ", lateness), false,
		strings.HasPrefix(kind, "left_"),
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
	if w.once {
		rows, onFlink = without(rows, rowTime), without(onFlink, rowTime)
	}
	same(t, "rows", rows, onFlink)
	if len(rows) == 0 || len(sortedLines(t, dir, want+"-bad.ndjson")) == 0 || streamed && len(sortedLines(t, dir, want+"-late.ndjson")) == 0 {
		t.Errorf("%d rows, no bad or no late records: this tests too little", len(rows))
	}
}

var (
	rowTime     = regexp.MustCompile(`,"time":"[^"]*"}\n$`)
	rightCounts = regexp.MustCompile(` right_(joined|unmatched)=\d+`)
)

// without are the lines without what matches, sorted.
func without(lines []string, what *regexp.Regexp) (all []string) {
	for _, line := range lines {
		all = append(all, what.ReplaceAllString(line, ""))
	}
	slices.Sort(all)
	return all
}

// sameSummary compares the counts of two runs.
func (w work) sameSummary(t *testing.T, want, got result) {
	t.Helper()
	summaries := []string{want.summary(), got.summary()}
	if w.once {
		summaries = []string{rightCounts.ReplaceAllString(want.summary(), ""), rightCounts.ReplaceAllString(got.summary(), "")}
	}
	if summaries[0] != summaries[1] {
		t.Errorf("summary %s, want %s", summaries[1], summaries[0])
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
			w.sameSummary(t, want, got)
			w.compare(t, dir, "embedded", "flink", streamed)
		})
	}
}
