//go:build flink

package flink

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/connectors/files"
	"tidemark/connectors/timeline"
	"tidemark/internal/casefile"
	"tidemark/internal/tally"
	"tidemark/joins"
	"tidemark/pipelines"
	"tidemark/testing/oracle"
	"tidemark/transforms/aggregate"
)

var all = flag.Bool("all", false, "play all timelines, each of which takes 5 to 15 seconds, instead of some")

// some are the timelines that are played without -all: each kind of window and of
// pane, late elements of all kinds, and each type of join.
var some = []string{
	"allowed-lateness", "two-late", "currencies", "sliding-partly-late", "day-dst", "overflow-between-rows", "time-zero",
	"average-sliding", "sliding-early-final", "session-late-bridge",
	"bounds-around", "late-both-sides", "never-both", "anti-late-partner", "semi-earliest",
}

// chosen reports whether a timeline is to be played.
func chosen(name string) bool { return *all || slices.Contains(some, name) }

// aggregates are the timelines of GMV and averages, whose rows were derived by hand.
// Those whose clock has to be moved are left to TestConformanceDelay: no one moves
// the clock of Flink.
func aggregates(t *testing.T) (found []*casefile.Case) {
	t.Helper()
	for _, dir := range []string{"../../transforms/gmv/testdata/cases", "../../testing/oracle/testdata/panes"} {
		read, err := casefile.ReadAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range read {
			if k.Config.EarlyDelay == 0 {
				found = append(found, k)
			}
		}
	}
	const dir = "../../cmd/tidemark/testdata/timelines/"
	scripts, err := filepath.Glob(dir + "*.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		name, _ := strings.CutSuffix(filepath.Base(path), ".ndjson")
		known := slices.ContainsFunc(found, func(k *casefile.Case) bool { return k.Name == name })
		if known || strings.Contains(name, ".") {
			continue // the same timeline, or what comes out of one
		}
		k, err := casefile.ReadTimeline(path)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, k)
	}
	return found
}

// TestConformance plays timelines of GMV and averages step by step. What comes out is
// what they want, row by row.
func TestConformance(t *testing.T) {
	c := need(t)
	found, played := aggregates(t), 0
	for _, k := range found {
		if chosen(k.Name) {
			played++
			t.Run(k.Name, func(t *testing.T) { c.conform(t, k) })
		}
	}
	t.Logf("%d of %d timelines; -args -all plays all", played, len(found))
}

// conform plays a timeline of an aggregate.
func (c *cluster) conform(t *testing.T, k *casefile.Case) {
	t.Helper()
	k, err := k.Coarse()
	if err != nil {
		t.Fatal(err)
	}
	var pairs []int64
	for i, st := range k.Steps {
		if st.Element != nil {
			pairs = append(pairs, k.Config.Play(k.Steps[:i+1]).Assigned)
		}
	}
	got := c.play(t, ofFold, pairs, nil, pipelineOf(t, k))
	text, err := k.Output(got.rows, got.bad, got.late)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k.Want, text); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	inOrder(t, got.rows)
	want := k.Config.Play(k.Steps)
	counted(t, got.counts, map[tally.Kind]int64{
		tally.Assigned: want.Assigned, tally.Added: want.Added, tally.Corrected: want.Corrected, tally.Late: want.Missed,
		tally.Bad: 0, tally.Overflowed: int64(len(got.bad)),
	})
}

// pipelineOf is the pipeline of a timeline.
func pipelineOf(t *testing.T, k *casefile.Case) builder {
	t.Helper()
	steps, err := timeline.Parse([]byte(k.Script()))
	if err != nil {
		t.Fatal(err)
	}
	src := pipelines.Source{Fields: k.Fields(), MaxRecordBytes: files.DefaultMaxRecordBytes, Timeline: steps, Script: k.Name}
	cfg := aggregate.Config{
		Windows: k.Config.Windows, AllowedLateness: k.Config.AllowedLateness,
		EarlyCount: k.Config.EarlyCount, EarlyDelay: k.Config.EarlyDelay, FinalRows: k.Config.FinalRows,
	}
	return func(s beam.Scope, p pipelines.Player, out pipelines.Outputs) error {
		src.Play = p
		if k.Command == "average" {
			return pipelines.Average{Source: src, Outputs: out, Config: cfg}.Build(s)
		}
		return pipelines.GMV{Source: src, Outputs: out, Config: cfg}.Build(s)
	}
}

// TestConformanceJoins plays timelines of joins.
func TestConformanceJoins(t *testing.T) {
	c := need(t)
	found, err := casefile.ReadJoins("../../testing/oracle/testdata/joins")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, k := range found {
		if chosen(k.Name) {
			played++
			t.Run(k.Name, func(t *testing.T) { c.conformJoin(t, k) })
		}
	}
	t.Logf("%d of %d timelines; -args -all plays all", played, len(found))
}

// conformJoin plays a timeline of a join.
func (c *cluster) conformJoin(t *testing.T, k *casefile.JoinCase) {
	t.Helper()
	k, err := k.Coarse()
	if err != nil {
		t.Fatal(err)
	}
	steps, err := timeline.Parse([]byte(k.Script()), timeline.Left, timeline.Right)
	if err != nil {
		t.Fatal(err)
	}
	var elements []int64
	for _, st := range k.Steps {
		if st.Left != nil || st.Right != nil {
			elements = append(elements, int64(len(elements)+1))
		}
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	got := c.play(t, ofJoin, elements, nil, func(s beam.Scope, p pipelines.Player, out pipelines.Outputs) error {
		left, right := k.Fields()
		return pipelines.Join{
			PairSource: pipelines.PairSource{
				Left: pipelines.Side{Fields: left}, Right: pipelines.Side{Fields: right}, MaxRecordBytes: files.DefaultMaxRecordBytes,
				Timeline: steps, Script: k.Name, Play: p,
			},
			Outputs: out,
			Config: joins.Config{
				Lower: ms(k.Config.LowerMs), Upper: ms(k.Config.UpperMs),
				ExclusiveLower: k.Config.ExclusiveLower, ExclusiveUpper: k.Config.ExclusiveUpper,
				Type: joins.Type(k.Config.Type), AllowedLateness: ms(k.Config.LatenessMs),
			},
		}.Build(s)
	})
	rows, err := k.Rows(got.rows)
	if err != nil {
		t.Fatal(err)
	}
	late, err := k.Lates(got.late)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k.WantRows(), rows); diff != "" {
		t.Errorf("rows: mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(k.WantLate(), late); diff != "" {
		t.Errorf("late: mismatch (-want +got):\n%s", diff)
	}
	res := k.Config.Play(k.Steps)
	want := map[tally.Kind]int64{tally.Bad: 0, tally.OverLimit: 0}
	for i, n := range []oracle.JoinCounts{res.Left, res.Right} {
		side := tally.Sides[i]
		want[side.Assigned], want[side.Late] = n.Assigned, n.Late
		if i == 0 || !strings.HasPrefix(k.Config.Type, "left_") {
			// Left elements of the others are forgotten once they have a partner: which of
			// its right ones have had any is not known.
			want[side.Joined], want[side.Unmatched] = n.Joined, n.Unmatched
		}
	}
	counted(t, got.counts, want)
	for _, side := range tally.Sides {
		if n := got.counts; n.Get(side.Assigned) != n.Get(side.Joined)+n.Get(side.Unmatched)+n.Get(side.Late) {
			t.Errorf("%s: %d assigned are not %d joined, %d unmatched and %d late", side.Name,
				n.Get(side.Assigned), n.Get(side.Joined), n.Get(side.Unmatched), n.Get(side.Late))
		}
	}
}

// inOrder checks that the rows of a key and window have come in the order of their
// revisions.
func inOrder(t *testing.T, rows []string) {
	t.Helper()
	next := map[string]int{}
	for _, text := range rows {
		var r struct {
			Key, Currency string
			Start         string `json:"window_start"`
			End           string `json:"window_end"`
			Revision      int
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		id := strings.Join([]string{r.Key, r.Currency, r.Start, r.End}, "|")
		if next[id] != r.Revision {
			t.Errorf("%s: want revision %d here", text, next[id])
		}
		next[id] = r.Revision + 1
	}
}

// counted compares counts.
func counted(t *testing.T, got *tally.Tally, want map[tally.Kind]int64) {
	t.Helper()
	for k, n := range want {
		if got.Get(k) != n {
			t.Errorf("%s=%d, want %d", tally.Names[k], got.Get(k), n)
		}
	}
}

// TestConformanceDelay lets Flink's clock bring EARLY rows: the source waits for each.
func TestConformanceDelay(t *testing.T) {
	c := need(t)
	for _, k := range []struct {
		name, doc string
		rows      []int // that have to be there before the next step, by how many elements have come
	}{
		{"windows", `gmv --window 1m --early_delay 2s --amount_field amount
{"event": {"key": "k", "time": 1000, "amount": 1}}
{"event": {"key": "k", "time": 2000, "amount": 2}}
{"watermark": 61000}
{"event": {"key": "k", "time": 61000, "amount": 4}}
----
"k" [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z) EARLY #0 sum 1 count 1 max 1970-01-01T00:00:01Z
"k" [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z) EARLY #1 sum 3 (was 1) count 2 (was 1) max 1970-01-01T00:00:02Z
"k" [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z) ON_TIME #2 sum 3 (was 3) count 2 (was 2) max 1970-01-01T00:00:02Z
"k" [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z) EARLY #0 sum 4 count 1 max 1970-01-01T00:01:01Z
"k" [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z) ON_TIME #1 sum 4 (was 4) count 1 (was 1) max 1970-01-01T00:01:01Z
`, []int{0, 1, 2, 4}},
		{"sessions", `gmv --session_gap 10s --early_delay 2s --amount_field amount
{"event": {"key": "k", "time": 1000, "amount": 1}}
{"event": {"key": "k", "time": 5000, "amount": 2}}
{"watermark": 16000}
----
"k" [1970-01-01T00:00:01Z, 1970-01-01T00:00:11Z) EARLY #0 sum 1 count 1 max 1970-01-01T00:00:01Z
"k" [1970-01-01T00:00:01Z, 1970-01-01T00:00:11Z) EARLY #1 sum 0 (was 1) count 0 (was 1) max -
"k" [1970-01-01T00:00:01Z, 1970-01-01T00:00:15Z) EARLY #0 sum 3 count 2 max 1970-01-01T00:00:05Z
"k" [1970-01-01T00:00:01Z, 1970-01-01T00:00:15Z) ON_TIME #1 sum 3 (was 3) count 2 (was 2) max 1970-01-01T00:00:05Z
`, []int{0, 1, 3}},
	} {
		t.Run(k.name, func(t *testing.T) {
			tc, err := casefile.Parse(k.name, k.doc)
			if err != nil {
				t.Fatal(err)
			}
			var pairs []int64
			for n := range k.rows[1:] {
				pairs = append(pairs, int64(n+1))
			}
			got := c.play(t, ofFold, pairs, func(elements, rows int) bool { return rows >= k.rows[elements] }, pipelineOf(t, tc))
			text, err := tc.Output(got.rows, got.bad, got.late)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.Want, text); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			inOrder(t, got.rows)
		})
	}
}
