package average

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/internal/intake"
	"tidemark/transforms/aggregate"
)

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[Entry](), reflect.TypeFor[Row](), reflect.TypeFor[Count](), reflect.TypeFor[aggregator](),
	} {
		beam.RegisterType(t)
	}
}

// Config sets the windows, the allowed lateness and the shards.
type Config = aggregate.Config

// Entry is what one element adds to an average.
type Entry struct {
	Key   string  // whose average it is; any bytes
	Value float64 // finite; -0 counts as 0
}

// Row is the average of one key and window at one firing.
type Row struct {
	Key     string
	StartMs int64 // the window is [StartMs, EndMs)
	EndMs   int64
	Pane    string // EARLY, ON_TIME, LATE or FINAL

	// Revision counts the rows of a key and window from 0. The previous values
	// are those of the row before, nil on revision 0.
	Revision        int64
	Average         *float64 // the mean of all elements so far; nil where Count is 0
	PreviousAverage *float64
	Sum             *float64 // rounded once; nil where it is outside float64
	Count           int64    // elements in the average
	PreviousCount   *int64
	MaxTimeMs       *int64 // the latest timestamp among the elements; nil where Count is 0
}

// PerKey averages values per key and window. valueOf is a named function
//
//	func(T) average.Entry
//
// registered with register.Function1x1 in an init function. See the package
// documentation for what PerKey promises.
//
// Input: PCollection<T>, or PCollection<KV<int64, T>> where cfg.Watermarked is
// set. Outputs: rows is PCollection<[Row]>, with the timestamp EndMs - 1 ms; late
// is PCollection<KV<[gate.Missed], T>>, one element for each element that missed
// a window, with its own timestamp.
//
// PerKey panics on a bad Config, input or function, as Beam's constructors do;
// see [TryPerKey].
func PerKey(s beam.Scope, cfg Config, valueOf any, col beam.PCollection) (rows, late beam.PCollection) {
	rows, late, err := TryPerKey(s, cfg, valueOf, col)
	if err != nil {
		panic(err)
	}
	return rows, late
}

// TryPerKey is [PerKey] with the construction error returned.
func TryPerKey(s beam.Scope, cfg Config, valueOf any, col beam.PCollection) (rows, late beam.PCollection, err error) {
	fn, err := intake.EntryFuncOf[Entry](s, cfg.Watermarked, col, "valueOf", valueOf)
	if err != nil {
		return beam.PCollection{}, beam.PCollection{}, fmt.Errorf("average.PerKey: %w", err)
	}
	// Nothing is ever kept from being shown; see aggregator.Check.
	rows, _, late, err = aggregate.TryPerKey(s.Scope("average.PerKey"), cfg, &aggregator{ValueOf: fn}, col)
	if err != nil {
		return beam.PCollection{}, beam.PCollection{}, fmt.Errorf("average.PerKey: %w", err)
	}
	return rows, late, nil
}
