package gmv_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// stepsOf is what a live source brings, with its marks as the watermark.
func stepsOf(all []liveElement) (steps []oracle.Step) {
	mark := all[0].markMs
	for _, e := range all {
		if e.markMs > mark {
			mark = e.markMs
			steps = append(steps, oracle.Watermark(mark))
		}
		steps = append(steps, oracle.Add(oracle.Element{Key: e.sale.Key, Minor: e.sale.Minor, TimeMs: e.timeMs}))
	}
	return steps
}

// TestMarksDecide reads a live source whose marks decide, in bundles of one element
// up to all of them, so that the runner is behind the source by up to everything:
// whatever it does, late records, totals and counts are those of the oracle, whose
// watermark the marks are; without lateness so is every row.
func TestMarksDecide(t *testing.T) {
	sliding := windowfns.Sliding{Size: 3 * time.Second, Period: time.Second}
	for i, c := range []struct {
		windows   windowfns.Fn
		lateness  time.Duration
		ofInput   bool // the windows are those of the input
		perBundle int
		shards    int
		early     time.Duration
	}{
		{windows: windowfns.Tumbling{Size: time.Second}, perBundle: 1},
		{windows: windowfns.Tumbling{Size: time.Second}, perBundle: 90, shards: 1},
		{windows: windowfns.Tumbling{Size: time.Second}, perBundle: 5000, shards: 7},
		{windows: windowfns.Tumbling{Size: time.Second}, lateness: 2 * time.Second, perBundle: 40},
		{windows: windowfns.Tumbling{Size: time.Second}, lateness: 2 * time.Second, perBundle: 5000},
		{windows: sliding, perBundle: 60, shards: 3},
		{windows: sliding, lateness: 1500 * ms, perBundle: 1},
		{windows: sliding, lateness: 1500 * ms, perBundle: 150},
		{windows: sliding, lateness: 1500 * ms, perBundle: 5000, early: 5 * ms},
		{windows: sliding, ofInput: true, perBundle: 70},
		{windows: sliding, ofInput: true, lateness: 1500 * ms, perBundle: 5000},
		{windows: windowfns.Cumulative{Step: 500 * ms, Size: 2 * time.Second}, perBundle: 80},
		{windows: windowfns.Cumulative{Step: 500 * ms, Size: 2 * time.Second}, lateness: time.Second, perBundle: 5000},
		{windows: windowfns.Calendar{Unit: windowfns.Day, Zone: "Asia/Kathmandu"}, lateness: 60 * time.Hour, perBundle: 100},
		{windows: windowfns.Session{Gap: 100 * ms}, perBundle: 50},
		{windows: windowfns.Session{Gap: 100 * ms}, perBundle: 5000, shards: 1},
		{windows: windowfns.Session{Gap: 100 * ms}, lateness: 2 * time.Second, perBundle: 120},
	} {
		name := fmt.Sprintf("%v/lateness=%v/input=%v/bundle=%d/shards=%d/early=%v", c.windows, c.lateness, c.ofInput, c.perBundle, c.shards, c.early)
		t.Run(name, func(t *testing.T) {
			n := 700
			if c.perBundle == 1 {
				n = 120
			}
			tl, all := liveScript(uint64(40+i), n)
			want := oracle.Play(c.windows, c.lateness.Milliseconds(), stepsOf(all))
			if want.Missed == 0 || c.lateness > 0 && want.Corrected == 0 {
				t.Fatalf("%d late and %d corrected, want some", want.Missed, want.Corrected)
			}
			cfg := gmv.Config{
				Windows: c.windows, AllowedLateness: c.lateness, Watermarked: true, MarksDecide: true,
				Shards: c.shards, EarlyDelay: c.early,
			}
			source := func(s beam.Scope) beam.PCollection { return tl.Live(s, c.perBundle) }
			if c.ofInput {
				cfg.Windows, cfg.AllowedLateness = nil, 0
				source = func(s beam.Scope) beam.PCollection {
					return beam.WindowInto(s, window.NewSlidingWindows(sliding.Period, sliding.Size), tl.Live(s, c.perBundle), beam.AllowedLateness(c.lateness))
				}
			}
			out := playCounted(t, cfg, source)
			for i := range out.late {
				out.late[i].Value.Step = 0
			}
			if got, want := out.counters, (counters{want.Assigned, want.Added, want.Corrected, want.Missed}); got != want {
				t.Errorf("counters %+v, want %+v", got, want)
			}
			if diff := streamtest.Diff(want.Counts, out.sumCounts(t)); diff != "" {
				t.Errorf("counts: %s", diff)
			}
			if _, ok := c.windows.(windowfns.Session); ok {
				out.equalSessions(t, want)
				return
			}
			out.equalTotals(t, want)
			if c.early == 0 {
				out.equalPanes(t, want, c.lateness == 0)
				out.checkChains(t)
			}
		})
	}
}

// equalPanes compares the ON_TIME rows, and all rows where they are asked for: of
// corrections, some may share a row.
func (o outcome) equalPanes(t *testing.T, want oracle.Result, all bool) {
	t.Helper()
	var wantRows, got []gmv.Row
	for _, r := range want.Rows {
		if all || r.Pane == "ON_TIME" {
			wantRows = append(wantRows, gmv.Row(r))
		}
	}
	for _, r := range o.rows {
		if all || r.Pane == "ON_TIME" {
			got = append(got, r)
		}
	}
	if diff := streamtest.Diff(wantRows, got); diff != "" {
		t.Errorf("rows: %s", diff)
	}
}

// equalSessions compares the late elements, and the sessions that are there in the
// end. Which of those before them had rows is up to the runner.
func (o outcome) equalSessions(t *testing.T, want oracle.Result) {
	t.Helper()
	oracled := outcome{}
	for _, r := range want.Rows {
		oracled.rows = append(oracled.rows, gmv.Row(r))
	}
	if diff := streamtest.Diff(oracled.sessions(), o.sessions()); diff != "" {
		t.Errorf("sessions: %s", diff)
	}
	if diff := streamtest.Diff(lateOf(want), o.late); diff != "" {
		t.Errorf("late: %s", diff)
	}
}

// sessions are the last rows of windows, without those that are withdrawn, and
// without what depends on the rows before.
func (o outcome) sessions() (all []gmv.Row) {
	rows := slices.Clone(o.rows)
	slices.SortFunc(rows, func(a, b gmv.Row) int { return cmp.Compare(a.Revision, b.Revision) })
	last := map[totalKey]gmv.Row{}
	for _, r := range rows {
		last[keyOf(r)] = r
	}
	for _, r := range last {
		if r.Count > 0 {
			r.Pane, r.Revision, r.PreviousMinor, r.PreviousCount = "", 0, nil, nil
			all = append(all, r)
		}
	}
	return all
}

// TestMarksDecideAgainstTheRunner gives elements marks that are ahead of the
// runner's watermark by up to days: an element is late by its mark, wherever the
// runner is.
func TestMarksDecideAgainstTheRunner(t *testing.T) {
	const at = 1_730_073_600_000 // 2024-10-28T00:00:00Z
	hours := windowfns.Sliding{Size: 3 * time.Hour, Period: time.Hour}
	at3 := hours.AppendWindows(nil, at) // its ends are at + 1, 2 and 3 hours
	end := func(i int) int64 { return at3[i].EndMs }
	var tl streamtest.Timeline
	var steps []oracle.Step
	tl.Watermark(at - 10*day)
	marks := []int64{
		at, end(0) - 1, end(0), // in time; a correction of the first window
		end(0) + 59_999, end(0) + 60_000, // L is a minute: late for the first
		end(1) + 60_000, end(2) + 59_999, end(2) + 60_000, end(2) + 30*day, // late for two, and for all
	}
	for i, mark := range marks {
		e := oracle.Element{Key: "k", Minor: 1 << i, TimeMs: at}
		v := saleOf(e)
		v.Mark = mark
		tl.At(at, v)
		steps = append(steps, oracle.Watermark(mark), oracle.Add(e))
	}
	want := oracle.Play(hours, 60_000, steps)
	if len(want.Late) != 5 || want.Late[0].All || !want.Late[4].All {
		t.Fatalf("the oracle has the late elements %+v", want.Late)
	}
	cfg := gmv.Config{Windows: hours, AllowedLateness: time.Minute, Watermarked: true, MarksDecide: true}
	out := play(t, cfg, func(s beam.Scope) beam.PCollection { return beam.ParDo(s, withMark, tl.Create(s)) })
	out.equalTotals(t, want)
	out.equalPanes(t, want, false)
	out.checkChains(t)

	// Without MarksDecide it is the runner's watermark, which is ten days behind.
	cfg.MarksDecide = false
	out = play(t, cfg, func(s beam.Scope) beam.PCollection { return beam.ParDo(s, withMark, tl.Create(s)) })
	if len(out.late) > 0 || out.counters.added != 3*int64(len(marks)) {
		t.Errorf("%d late elements and %d added pairs, want the runner to let all in", len(out.late), out.counters.added)
	}
}

// day is in ms.
const day = 86_400_000

// TestMarksDecideWithoutGate: where marks decide, nothing is grouped.
func TestMarksDecideWithoutGate(t *testing.T) {
	for _, lateness := range []time.Duration{0, time.Minute} {
		for _, windows := range []windowfns.Fn{windowfns.Sliding{Size: time.Hour, Period: time.Minute}, windowfns.Session{Gap: time.Minute}, nil} {
			for _, decide := range []bool{false, true} {
				p, s := beam.NewPipelineWithRoot()
				col := beam.ParDo(s, withMark, beam.Create(s, sale{}))
				cfg := gmv.Config{Windows: windows, AllowedLateness: lateness, Watermarked: true, MarksDecide: decide}
				if windows == nil {
					cfg.AllowedLateness = 0
					col = beam.WindowInto(s, window.NewFixedWindows(time.Minute), col, beam.AllowedLateness(lateness))
				}
				gmv.PerKeyWithCounts(s, cfg, entryOf, col)
				if n := groupings(t, p); (n == 0) != decide {
					t.Errorf("%v, lateness %v: %d GroupByKeys with MarksDecide = %v", windows, lateness, n, decide)
				}
			}
		}
	}
}

// groupings counts the GroupByKeys of a pipeline.
func groupings(t *testing.T, p *beam.Pipeline) (n int) {
	t.Helper()
	edges, _, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edges {
		if e.Op == graph.CoGBK {
			n++
		}
	}
	return n
}
