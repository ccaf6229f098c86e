package pipelines

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/sink"
	"tidemark/internal/tally"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/windowfns"
)

// outcome is what a pipeline writes, and its counts.
type outcome struct {
	rows, late, bad []string
	counts          *tally.Tally
}

// run runs g, as the command line does.
func run(t *testing.T, g GMV) outcome {
	t.Helper()
	return runInto(t, &g.Source, &g.Outputs, func(s beam.Scope) error { return g.Build(s) })
}

// runAverage is [run] for averages.
func runAverage(t *testing.T, a Average) outcome {
	t.Helper()
	return runInto(t, &a.Source, &a.Outputs, func(s beam.Scope) error { return a.Build(s) })
}

// runInto runs what build adds, which reads src and writes out.
func runInto(t *testing.T, src *Source, to *Outputs, build func(beam.Scope) error) outcome {
	t.Helper()
	*to = Outputs{Rows: Outlet{To: sink.To{ID: "rows"}}, Late: Outlet{To: sink.To{ID: "late"}}, Bad: Outlet{To: sink.To{ID: "bad"}}}
	if src.MaxRecordBytes == 0 {
		src.MaxRecordBytes = 1 << 20
	}
	spools := map[string]*sink.Spool{}
	var out outcome
	streamtest.Run(t, func(s beam.Scope) {
		for _, id := range []string{to.Rows.ID, to.Late.ID, to.Bad.ID} {
			sink.Forget(id) // of an attempt that the runner has failed
			spools[id] = sink.NewSpool(t.TempDir(), src.Script == "")
			sink.Open(id, spools[id])
		}
		out.counts = tally.Start()
		if err := build(s); err != nil {
			t.Fatal(err)
		}
	})
	for id, lines := range map[string]*[]string{to.Rows.ID: &out.rows, to.Late.ID: &out.late, to.Bad.ID: &out.bad} {
		sink.Forget(id)
		err := spools[id].Each(func(line []byte) error {
			*lines = append(*lines, string(line))
			return nil
		})
		if err := errors.Join(err, spools[id].Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// wantCounts compares the counts of a run; nothing is bad.
func (o outcome) wantCounts(t *testing.T, read, assigned, added, late int64) {
	t.Helper()
	for _, c := range []struct {
		kind tally.Kind
		want int64
	}{{tally.Read, read}, {tally.Bad, 0}, {tally.Assigned, assigned}, {tally.Added, added}, {tally.Late, late}} {
		if got := o.counts.Get(c.kind); got != c.want {
			t.Errorf("%s = %d, want %d", tally.Names[c.kind], got, c.want)
		}
	}
}

// stamp is a time of a row, in ms.
type stamp int64

func (s *stamp) UnmarshalJSON(doc []byte) error {
	var at time.Time
	err := json.Unmarshal(doc, &at)
	*s = stamp(at.UnixMilli())
	return err
}

type span struct {
	Start stamp `json:"window_start"`
	End   stamp `json:"window_end"`
}

func decode(t *testing.T, line string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// parseRows reads rows as they are written.
func parseRows(t *testing.T, lines []string) []oracle.Row {
	t.Helper()
	rows := make([]oracle.Row, len(lines))
	for i, line := range lines {
		var r struct {
			Key      string
			Currency string
			span
			Pane          string
			Revision      int64
			Sum           int64
			PreviousSum   *int64 `json:"previous_sum"`
			Count         int64
			PreviousCount *int64 `json:"previous_count"`
			Latest        stamp  `json:"max_event_time"`
		}
		decode(t, line, &r)
		rows[i] = oracle.Row{
			Key: r.Key, Currency: r.Currency, StartMs: int64(r.Start), EndMs: int64(r.End), Pane: r.Pane, Revision: r.Revision,
			Minor: r.Sum, PreviousMinor: r.PreviousSum, Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: new(int64(r.Latest)),
		}
	}
	return rows
}

// parseAverages reads rows of averages of whole numbers as rows of their sums, and
// checks each average: it is the mean of the sum and the count, rounded once.
func parseAverages(t *testing.T, lines []string) []oracle.Row {
	t.Helper()
	rows := make([]oracle.Row, len(lines))
	for i, line := range lines {
		var r struct {
			Key string
			span
			Pane            string
			Revision        int64
			Average         float64
			PreviousAverage *float64 `json:"previous_average"`
			Sum             float64
			Count           int64
			PreviousCount   *int64 `json:"previous_count"`
			Latest          stamp  `json:"max_event_time"`
		}
		decode(t, line, &r)
		row := oracle.Row{
			Key: r.Key, StartMs: int64(r.Start), EndMs: int64(r.End), Pane: r.Pane, Revision: r.Revision,
			Minor: int64(r.Sum), Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: new(int64(r.Latest)),
		}
		if r.Sum != float64(row.Minor) || r.Average != meanOf(row.Minor, r.Count) {
			t.Errorf("%s: the sum is %d, and the average is to be %v", line, row.Minor, meanOf(row.Minor, r.Count))
		}
		if r.PreviousAverage != nil && r.PreviousCount != nil {
			// The one whole number that has this mean.
			row.PreviousMinor = new(int64(math.Round(*r.PreviousAverage * float64(*r.PreviousCount))))
			if mean := meanOf(*row.PreviousMinor, *r.PreviousCount); *r.PreviousAverage != mean {
				t.Errorf("%s: the previous average is of no whole number, want %v", line, mean)
			}
		}
		rows[i] = row
	}
	return rows
}

// meanOf is the float64 nearest to sum / count.
func meanOf(sum, count int64) float64 {
	mean, _ := big.NewRat(sum, count).Float64()
	return mean
}

// lateRecord is a row of the late output.
type lateRecord struct {
	Event    string
	TimeMs   int64
	Missed   []windowfns.Window
	All      bool
	Position int64
}

func parseLate(t *testing.T, lines []string) []lateRecord {
	t.Helper()
	late := make([]lateRecord, len(lines))
	for i, line := range lines {
		var r struct {
			Event     json.RawMessage
			Time      stamp
			Missed    []span
			MissedAll bool `json:"missed_all"`
			Source    string
			Position  int64
		}
		decode(t, line, &r)
		late[i] = lateRecord{Event: string(r.Event), TimeMs: int64(r.Time), All: r.MissedAll, Position: r.Position}
		for _, w := range r.Missed {
			late[i].Missed = append(late[i].Missed, windowfns.Window{StartMs: int64(w.Start), EndMs: int64(w.End)})
		}
	}
	return late
}
