package gmv

import (
	"context"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/halt"
	"tidemark/internal/intake"
	"tidemark/internal/tally"
	"tidemark/transforms/aggregate"
)

func init() {
	register.DoFn3x1[context.Context, aggregate.Unshown, func(Overflow), error](&overflowFn{})
	register.Emitter1[Overflow]()
	for _, t := range []reflect.Type{
		reflect.TypeFor[Entry](), reflect.TypeFor[Row](), reflect.TypeFor[Overflow](), reflect.TypeFor[Count](), reflect.TypeFor[aggregator](),
	} {
		beam.RegisterType(t)
	}
}

// Config sets the windows, the allowed lateness and the shards.
type Config = aggregate.Config

// Entry is what one element adds to the books.
type Entry struct {
	Key string // whose money it is; any bytes

	// Currency keeps sums apart: amounts of different currencies are never
	// added. Leave it empty where there is only one.
	Currency string

	// Minor is the amount in minor units (cents). Refunds are negative.
	Minor int64
}

// Row is the GMV of one key, currency and window at one firing.
type Row struct {
	Key      string
	Currency string
	StartMs  int64 // the window is [StartMs, EndMs)
	EndMs    int64
	Pane     string // EARLY, ON_TIME, LATE or FINAL

	// Revision counts the rows of a key, currency and window from 0. The
	// previous values are those of the row before, nil on revision 0.
	Revision      int64
	Minor         int64 // the whole sum so far, in minor units
	PreviousMinor *int64
	Count         int64 // elements in the sum
	PreviousCount *int64
	MaxTimeMs     *int64 // the latest timestamp among the elements; nil where Count is 0
}

// Overflow is a sum outside int64 at the moment when it was to be emitted. The
// elements stay in the sum, and a later refund can bring it back.
type Overflow struct {
	Key      string
	Currency string
	StartMs  int64
	EndMs    int64
	Pane     string
	Total    string // the exact sum in minor units, in decimal
	Count    int64
	Reason   string
}

// PerKey sums money per key, currency and window. entryOf is a named function
//
//	func(T) gmv.Entry
//
// registered with register.Function1x1 in an init function. See the package
// documentation for what PerKey promises.
//
// Input: PCollection<T>, or PCollection<KV<int64, T>> where cfg.Watermarked is
// set. Outputs: rows is PCollection<[Row]> and overflows is
// PCollection<[Overflow]>, both with the timestamp EndMs - 1 ms; late is
// PCollection<KV<[gate.Missed], T>>, one element for each element that missed a
// window, with its own timestamp.
//
// PerKey panics on a bad Config, input or function, as Beam's constructors do;
// see [TryPerKey].
func PerKey(s beam.Scope, cfg Config, entryOf any, col beam.PCollection) (rows, overflows, late beam.PCollection) {
	rows, overflows, late, err := TryPerKey(s, cfg, entryOf, col)
	if err != nil {
		panic(err)
	}
	return rows, overflows, late
}

// TryPerKey is [PerKey] with the construction error returned.
func TryPerKey(s beam.Scope, cfg Config, entryOf any, col beam.PCollection) (rows, overflows, late beam.PCollection, err error) {
	fn, err := intake.EntryFuncOf[Entry](s, cfg.Watermarked, col, "entryOf", entryOf)
	if err != nil {
		return beam.PCollection{}, beam.PCollection{}, beam.PCollection{}, fmt.Errorf("gmv.PerKey: %w", err)
	}
	s = s.Scope("gmv.PerKey")
	rows, unshown, late, err := aggregate.TryPerKey(s, cfg, &aggregator{EntryOf: fn}, col)
	if err != nil {
		return beam.PCollection{}, beam.PCollection{}, beam.PCollection{}, fmt.Errorf("gmv.PerKey: %w", err)
	}
	return rows, beam.ParDo(s, &overflowFn{}, unshown), late, nil
}

// overflowFn turns totals that were not let through into reports.
// Those of windows that were open when the run was asked to end would not have
// been shown either.
type overflowFn struct {
	tally *tally.Tally
	halt  *halt.Switch
}

func (f *overflowFn) Setup() { f.tally, f.halt = tally.Current(), halt.Current() }

func (f *overflowFn) ProcessElement(ctx context.Context, in aggregate.Unshown, emit func(Overflow)) error {
	if !f.halt.Shows(in.EndMs) {
		return nil
	}
	f.tally.Inc(ctx, tally.Overflowed, 1)
	t, err := readTotal(in.Total)
	if err != nil {
		return err
	}
	key, currency, err := splitKey(in.Key)
	if err != nil {
		return err
	}
	f.tally.Blame("total of key %q: %s", key, in.Reason)
	emit(Overflow{
		Key: key, Currency: currency, StartMs: in.StartMs, EndMs: in.EndMs, Pane: string(in.Pane),
		Total: t.exact(), Count: t.count, Reason: in.Reason,
	})
	return nil
}
