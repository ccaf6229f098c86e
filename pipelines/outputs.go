package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
)

// Outlet is where the lines of an output go: the id of a sink ([sink.Write]) or, for
// workers in other processes, a place ([sink.WriteTo]), and how they are written.
// Without either they are counted and not written.
type Outlet struct {
	ID     string
	Place  sink.Place
	Format rows.Format
}

// Wanted reports whether there is anywhere for lines to go.
func (o Outlet) Wanted() bool { return o.ID != "" || !o.Place.IsZero() }

// Outputs are what a pipeline writes.
type Outputs struct {
	Rows, Late, Bad Outlet

	// Counts takes what was assigned, added and late, by window.
	Counts Outlet

	// Done is the path of a file that is made when all is written ([sink.Done]); none
	// where it is empty.
	Done string
}

// writer adds outputs to a pipeline.
type writer struct {
	Outputs
	written []beam.PCollection
}

// write adds an output.
func (w *writer) write(s beam.Scope, o Outlet, lines beam.PCollection) {
	if o.Place.IsZero() {
		w.written = append(w.written, sink.Write(s, o.ID, lines))
		return
	}
	w.written = append(w.written, sink.WriteTo(s, o.Place, lines))
}

// finish ends the pipeline.
func (w *writer) finish(s beam.Scope) {
	if w.Done != "" {
		sink.Done(s, w.Done, w.written...)
	}
}

// writeLate adds the late output.
func (w *writer) writeLate(s beam.Scope, late beam.PCollection) {
	if !w.Late.Wanted() {
		return
	}
	s = s.Scope("late")
	w.write(s, w.Late, rows.LateLines(s, w.Late.Format, late))
}
