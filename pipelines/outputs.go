package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

// Outlet is where the lines of an output go, and how they are written. Without any
// place to go to they are counted and not written.
type Outlet struct {
	sink.To
	Format rows.Format
}

// Outputs are what a pipeline writes.
type Outputs struct {
	Rows, Late, Bad Outlet

	// Counts takes what was assigned, added and late, by window: deltas or, where
	// Totals is set, totals, which are right where a runner goes back to a checkpoint.
	Counts Outlet
	Totals bool

	// Account takes the counts of the whole run, those of package tally, as totals:
	// see rows.AccountLines.
	Account Outlet
}

// Wanted reports whether there is anywhere for lines to go.
func (o Outlet) Wanted() bool { return !o.IsZero() }

func (o Outlet) write(s beam.Scope, lines beam.PCollection) { sink.WriteTo(s, o.To, lines) }

// windowCounts are counts of windows, and how to write them.
type windowCounts struct {
	counts beam.PCollection
	money  bool
	lines  func(beam.Scope, beam.PCollection) beam.PCollection
	deltas func(beam.Scope, windowfns.Fn, beam.PCollection) (windows, account beam.PCollection)
}

// counted reports whether there have to be window counts.
func (o Outputs) counted() bool { return o.Counts.Wanted() || o.Account.Wanted() }

// writeCounts adds the outputs of counts. more are further deltas of the account.
func (o Outputs) writeCounts(s beam.Scope, fn windowfns.Fn, c windowCounts, in, bad beam.PCollection, more ...beam.PCollection) {
	inCounts := s.Scope("counts")
	if o.Counts.Wanted() && !o.Totals {
		o.Counts.write(inCounts, c.lines(inCounts, c.counts))
	}
	if !o.Totals && !o.Account.Wanted() {
		return
	}
	windows, deltas := c.deltas(inCounts, fn, c.counts)
	if o.Counts.Wanted() && o.Totals {
		o.Counts.write(inCounts, rows.TotalLines(inCounts, c.money, windows))
	}
	if !o.Account.Wanted() {
		return
	}
	s = s.Scope("account")
	all := append(more, deltas, rows.CountAs(s, in, tally.Read), rows.CountAs(s, bad, tally.Read, tally.Bad))
	o.Account.write(s, rows.AccountLines(s, all...))
}

// writeLate adds the late output.
func (o Outputs) writeLate(s beam.Scope, late beam.PCollection) {
	if !o.Late.Wanted() {
		return
	}
	s = s.Scope("late")
	o.Late.write(s, rows.LateLines(s, o.Late.Format, late))
}
