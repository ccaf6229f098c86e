package main

import (
	"fmt"

	"tidemark/internal/tally"
)

// conserved checks that nothing was lost. Of anything but a join the counts of the
// sides are 0.
func conserved(counts *tally.Tally) error {
	assigned, added, late, over := counts.Get(tally.Assigned), counts.Get(tally.Added), counts.Get(tally.Late), counts.Get(tally.OverLimit)
	if assigned != added+late+over {
		return fmt.Errorf("the conservation law does not hold: assigned=%d is not added=%d + late=%d + over_limit=%d", assigned, added, late, over)
	}
	for _, s := range tally.Sides {
		assigned, joined, unmatched, late, over := counts.Get(s.Assigned), counts.Get(s.Joined), counts.Get(s.Unmatched), counts.Get(s.Late), counts.Get(s.OverLimit)
		if assigned != joined+unmatched+late+over {
			return fmt.Errorf("the conservation law does not hold: %[1]s_assigned=%[2]d is not %[1]s_joined=%[3]d + %[1]s_unmatched=%[4]d + %[1]s_late=%[5]d + %[1]s_over_limit=%[6]d",
				s.Name, assigned, joined, unmatched, late, over)
		}
	}
	return nil
}

// summarize prints the last line on standard error.
func (j *job) summarize(counts *tally.Tally) error {
	if counts == nil {
		_, err := fmt.Fprintln(j.stderr, "tidemark: done; the job has counted nothing since the savepoint that it went on from")
		return err
	}
	refused := counts.Get(tally.Bad) + counts.Get(tally.Overflowed) + counts.Get(tally.OverLimit)
	if refused > 0 && !j.has("bad_output") {
		where := "--bad_output FILE takes them all, with reasons"
		if j.outlet("bad_output").Wanted() {
			where = "they are in the mart, with reasons"
		}
		what := "outside int64"
		if j.sides {
			what = "over the limit on a key"
		}
		example := counts.Example()
		if example == "" { // workers elsewhere know it
			example = fmt.Sprintf("%d", refused)
		}
		_, _ = fmt.Fprintf(j.stderr, "tidemark: not understood, or %s: %s; %s\n", what, example, where)
	}
	if _, err := fmt.Fprintln(j.stderr, j.summary(counts)); err != nil {
		return err
	}
	if refused > 0 && !j.has("bad_output") {
		return errBadRecords
	}
	return nil
}

// summary is the counts of a run. What is rare is there only if there is any.
func (j *job) summary(counts *tally.Tally) string {
	line := fmt.Sprintf("read=%d bad=%d assigned=%d added=%d late=%d",
		counts.Get(tally.Read), counts.Get(tally.Bad), counts.Get(tally.Assigned), counts.Get(tally.Added), counts.Get(tally.Late))
	rare := func(name string, k tally.Kind) {
		if n := counts.Get(k); n > 0 {
			line += fmt.Sprintf(" %s=%d", name, n)
		}
	}
	rare("overflowed", tally.Overflowed)
	rare("over_limit", tally.OverLimit)
	if !j.sides {
		return line
	}
	for _, s := range tally.Sides {
		line += fmt.Sprintf(" %[1]s_assigned=%[2]d %[1]s_joined=%[3]d %[1]s_unmatched=%[4]d %[1]s_late=%[5]d",
			s.Name, counts.Get(s.Assigned), counts.Get(s.Joined), counts.Get(s.Unmatched), counts.Get(s.Late))
		rare(s.Name+"_over_limit", s.OverLimit)
		rare(s.Name+"_open", s.Open)
	}
	return line
}
