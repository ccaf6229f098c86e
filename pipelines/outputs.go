package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
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

	// Counts takes what was assigned, added and late, by window.
	Counts Outlet
}

// Wanted reports whether there is anywhere for lines to go.
func (o Outlet) Wanted() bool { return !o.IsZero() }

func (o Outlet) write(s beam.Scope, lines beam.PCollection) { sink.WriteTo(s, o.To, lines) }

// writeLate adds the late output.
func (o Outputs) writeLate(s beam.Scope, late beam.PCollection) {
	if !o.Late.Wanted() {
		return
	}
	s = s.Scope("late")
	o.Late.write(s, rows.LateLines(s, o.Late.Format, late))
}
