package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
)

// Outlet is where the lines of an output go: the id of a sink ([sink.Write]) and
// how they are written. Without an id they are counted and not written.
type Outlet struct {
	ID     string
	Format rows.Format
}

// Outputs are what a pipeline writes.
type Outputs struct {
	Rows, Late, Bad Outlet

	// Counts takes what was assigned, added and late, by window.
	Counts Outlet
}

// writeLate adds the late output.
func (o Outputs) writeLate(s beam.Scope, late beam.PCollection) {
	if o.Late.ID == "" {
		return
	}
	s = s.Scope("late")
	sink.Write(s, o.Late.ID, rows.LateLines(s, o.Late.Format, late))
}
