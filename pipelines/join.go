package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/rows"
	"tidemark/internal/tally"
	"tidemark/joins"
)

// Join says what an interval join reads, computes and writes. It has no counts by
// window.
type Join struct {
	PairSource
	Outputs

	// Config sets the interval and the type. Watermarked and MarksDecide are set as
	// the source needs them.
	Config joins.Config
}

// Build adds the pipeline to s.
func (j Join) Build(s beam.Scope) error {
	cfg := j.Config
	iv, err := cfg.Interval()
	if err != nil {
		return err
	}
	left, right, bad, err := j.read(s)
	if err != nil {
		return err
	}
	cfg.Watermarked, cfg.MarksDecide = j.marked(), j.marked()
	out, err := joins.TryInterval(s, cfg, rows.JoinedOf, left, right)
	if err != nil {
		return err
	}

	if o := j.Rows; o.Wanted() {
		s := s.Scope("rows")
		lateness := cfg.AllowedLateness.Milliseconds()
		leftDue, rightDue := iv.DoneAt(0, lateness), iv.Swap().DoneAt(0, lateness)
		if cfg.Type == joins.LeftSemi {
			leftDue = rows.Decided
		}
		o.write(s, rows.JoinLines(s, o.Format, leftDue, rightDue, out.Rows))
	}
	if o := j.Late; o.Wanted() {
		s := s.Scope("late")
		o.write(s, beam.Flatten(s,
			rows.JoinLateLines(s, o.Format, rows.Left, out.LateLeft),
			rows.JoinLateLines(s, o.Format, rows.Right, out.LateRight)))
	}
	if o := j.Bad; o.Wanted() {
		s := s.Scope("bad")
		o.write(s, beam.Flatten(s, rows.BadLines(s, o.Format, bad),
			rows.OverLimitLines(s, o.Format, rows.Left, cfg.MaxRowsPerKey, out.OverLimitLeft),
			rows.OverLimitLines(s, o.Format, rows.Right, cfg.MaxRowsPerKey, out.OverLimitRight)))
	}
	if o := j.Account; o.Wanted() {
		s := s.Scope("account")
		deltas := []beam.PCollection{rows.CountAs(s, bad, tally.Read, tally.Bad), rows.JoinDeltas(s, out.Counts)}
		for i, side := range []struct{ in, late, over beam.PCollection }{
			{left, out.LateLeft, out.OverLimitLeft}, {right, out.LateRight, out.OverLimitRight},
		} {
			kinds := tally.Sides[i]
			deltas = append(deltas,
				rows.CountAs(s, side.in, tally.Read, tally.Assigned, kinds.Assigned),
				rows.CountAs(s, side.late, tally.Late, kinds.Late),
				rows.CountAs(s, side.over, tally.OverLimit, kinds.OverLimit))
		}
		o.write(s, rows.AccountLines(s, deltas...))
	}
	return nil
}
