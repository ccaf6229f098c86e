package aggregate

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
)

// emitCount sends a count on.
type emitCount = func(beam.EventTime, Count)

func init() {
	register.DoFn3x1[intake.Missed, beam.X, emitCount, error](&lateCountFn{})
	register.Emitter2[beam.EventTime, Count]()
	beam.RegisterType(reflect.TypeFor[Count]())
}

// Kind is what a [Count] counts: pairs of an element and one of its windows.
type Kind string

// The kinds. For each window and group, in elements and in totals,
// assigned = added + late. Corrected is the part of added that came after the
// end of the window, and is counted in both.
const (
	KindAssigned  Kind = "assigned"  // counted where windows are assigned, in front of the gate
	KindAdded     Kind = "added"     // counted where elements enter a total
	KindCorrected Kind = "corrected" // the same
	KindLate      Kind = "late"      // counted where late records are written
)

// Count is how many elements of a group a bundle had for a window, and what they
// come to. Counts are deltas: add up those of a window, group and kind. Sessions
// come and go, so that their elements are counted in the UTC day of their time.
type Count struct {
	StartMs  int64 // the window is [StartMs, EndMs)
	EndMs    int64
	Group    string // see [Grouper]; empty where there are no groups
	Kind     Kind
	Elements int64
	Total    []byte // the encoded accumulator of the elements
}

// A Grouper is an Aggregator whose keys belong to groups that are counted apart,
// such as the currencies of money.
type Grouper interface {
	Aggregator

	// Group is the group of a key, any bytes. It may be a part of key.
	Group(key []byte) []byte
}

// PerKeyWithCounts is [PerKey] with the counts of the conservation law, per
// window and, where agg is a [Grouper], per group: counts is PCollection<[Count]>
// in the global window, each with the timestamp EndMs - 1. The three places that
// count know nothing of each other, so that a pair that went missing between them
// shows.
//
// Each bundle puts out one count for each window, group and kind that it had
// something for, or a few of them if it is large. It takes a merge more for each
// element and window, and one for each key and window of a bundle.
func PerKeyWithCounts(s beam.Scope, cfg Config, agg Aggregator, col beam.PCollection) (rows, unshown, counts, late beam.PCollection) {
	rows, unshown, counts, late, err := TryPerKeyWithCounts(s, cfg, agg, col)
	if err != nil {
		panic(err)
	}
	return rows, unshown, counts, late
}

// TryPerKeyWithCounts is [PerKeyWithCounts] with the construction error
// returned.
func TryPerKeyWithCounts(s beam.Scope, cfg Config, agg Aggregator, col beam.PCollection) (rows, unshown, counts, late beam.PCollection, err error) {
	return build(s, "aggregate.PerKeyWithCounts", cfg, agg, true, col)
}

// lateCountFn counts the windows that late elements missed.
type lateCountFn struct {
	Agg     portable.Value
	Windows portable.Value

	agg      Aggregator
	layout   layout
	key, acc []byte
	counts   counter
}

func (f *lateCountFn) Setup() (err error) {
	if f.agg, err = portable.As[Aggregator](f.Agg); err != nil {
		return err
	}
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *lateCountFn) StartBundle(emitCount) { f.counts = newCounter(f.agg, f.layout) }

func (f *lateCountFn) ProcessElement(m intake.Missed, v beam.X, count emitCount) (err error) {
	if f.key, f.acc, err = f.agg.Lift(v, m.TimeMs, f.key[:0], f.acc[:0]); err != nil {
		return err
	}
	for _, w := range m.Windows {
		if err := f.counts.add(KindLate, runOf(w), f.key, f.acc, 1); err != nil {
			return err
		}
	}
	return f.counts.flushIfFull(count)
}

func (f *lateCountFn) FinishBundle(count emitCount) error { return f.counts.flush(count) }
