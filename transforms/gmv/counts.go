package gmv

import (
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/transforms/aggregate"
)

func init() {
	register.DoFn3x1[beam.EventTime, aggregate.Count, func(beam.EventTime, Count), error](&countFn{})
	register.Emitter2[beam.EventTime, Count]()
}

// Count is how many elements of a currency a bundle had for a window, and what
// they come to. Counts are deltas: for each window and currency, in elements and
// in money, the sums of all of them obey assigned = added + late.
type Count struct {
	StartMs  int64 // the window is [StartMs, EndMs)
	EndMs    int64
	Currency string

	// Kind is assigned, added, corrected (the part of added that came after the
	// window's end) or late; see [aggregate.Kind].
	Kind     string
	Elements int64
	Sum      string // exact, in minor units, in decimal
}

// PerKeyWithCounts is [PerKey] with the counts of the conservation law per window
// and currency: counts is PCollection<[Count]> in the global window, each with
// the timestamp EndMs - 1 ms. See [aggregate.PerKeyWithCounts].
func PerKeyWithCounts(s beam.Scope, cfg Config, entryOf any, col beam.PCollection) (rows, overflows, counts, late beam.PCollection) {
	rows, overflows, counts, late, err := TryPerKeyWithCounts(s, cfg, entryOf, col)
	if err != nil {
		panic(err)
	}
	return rows, overflows, counts, late
}

// TryPerKeyWithCounts is [PerKeyWithCounts] with the construction error
// returned.
func TryPerKeyWithCounts(s beam.Scope, cfg Config, entryOf any, col beam.PCollection) (rows, overflows, counts, late beam.PCollection, err error) {
	fail := func(err error) (_, _, _, _ beam.PCollection, _ error) {
		var none beam.PCollection
		return none, none, none, none, fmt.Errorf("gmv.PerKeyWithCounts: %w", err)
	}
	fn, err := intake.EntryFuncOf[Entry](s, cfg.Watermarked, col, "entryOf", entryOf)
	if err != nil {
		return fail(err)
	}
	s = s.Scope("gmv.PerKeyWithCounts")
	rows, unshown, counted, late, err := aggregate.TryPerKeyWithCounts(s, cfg, &aggregator{EntryOf: fn}, col)
	if err != nil {
		return fail(err)
	}
	return rows, beam.ParDo(s, &overflowFn{}, unshown), beam.ParDo(s, &countFn{}, counted), late, nil
}

// countFn decodes the totals of counts.
type countFn struct{}

func (*countFn) ProcessElement(et beam.EventTime, in aggregate.Count, emit func(beam.EventTime, Count)) error {
	t, err := readTotal(in.Total)
	if err != nil {
		return err
	}
	emit(et, Count{
		StartMs: in.StartMs, EndMs: in.EndMs, Currency: in.Group,
		Kind: string(in.Kind), Elements: in.Elements, Sum: t.exact(),
	})
	return nil
}
