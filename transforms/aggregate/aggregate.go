package aggregate

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Row]())
	beam.RegisterType(reflect.TypeFor[Unshown]())
}

// Config sets the windows of [PerKey]. The zero value takes them from the
// input's own WindowInto.
type Config struct {
	// Windows assigns windows to elements by their timestamps; those of
	// windowfns.Session are merged where they overlap. Where it is nil,
	// the windows and the allowed lateness are those of the input's WindowInto,
	// which must be of fixed or sliding windows; its trigger and accumulation
	// mode do not matter.
	Windows windowfns.Fn

	// AllowedLateness L is event time, in whole milliseconds: a window takes
	// elements while the watermark is below its end + L. Default 0: none after
	// the end. It must be 0 where Windows is nil.
	AllowedLateness time.Duration

	// Watermarked says that the input is KV<int64, T>: each element comes with
	// the watermark, in ms, that its source had when it read the element, never
	// lower than what the source had reported. Elements that are in time by it
	// need not pass the gate. Batch sources may send math.MinInt64. A mark is a
	// real watermark, of the year 2185 at the latest; a higher one, such as
	// math.MaxInt64, fails the job. A source that does not know its watermark
	// sends T.
	Watermarked bool

	// MarksDecide says that an element is late for a window where its mark is at
	// end + L or above, and that the runner is not asked: there is no gate. Which
	// elements are late, and what totals come to, then depends on elements and
	// marks alone, at any pace of the runner, and also where it goes back to a
	// checkpoint. It is for input of one source with one watermark, which its marks
	// are. Where several sources have one each, an element can be late by its own
	// mark while the runner's watermark, the lowest of all, is not there yet.
	// Watermarked must be set. See the package documentation, Late elements.
	MarksDecide bool

	// EarlyCount N asks for EARLY rows: a key and window has one whenever N of
	// its elements are not shown yet. Elements that come in one bundle can share
	// it. 0 is off.
	EarlyCount int

	// EarlyDelay D asks for EARLY rows too: a key and window has one at D of
	// processing time, in whole milliseconds, after the first of its elements
	// that is not shown yet. 0 is off.
	EarlyDelay time.Duration

	// FinalRows asks for a FINAL row for each key and window that had a row,
	// when the watermark reaches its end + L.
	FinalRows bool

	// Shards is how many groups keys are dealt into, 1 to 65536; 0 means 4. It
	// bounds the parallelism and never changes results. Each (shard, window)
	// that a bundle touches costs a state call, so more is not faster.
	Shards int

	// Retention bounds the gate's memory of past windows, in event time; 0 is
	// for ever. It is for live streams only, never for replays: see package
	// gate, Limits. It has no meaning where Watermarked is set.
	Retention time.Duration
}

// An Aggregator says what is computed. Accumulators are encoded: they travel
// between workers and lie in state as bytes, and are merged in that form.
//
// Implementations are structs (or pointers to structs) of a type registered
// with beam.RegisterType, whose exported fields survive a JSON round trip.
// Methods are not called concurrently on one value.
type Aggregator interface {
	// Lift appends the key of elem, which has the timestamp timeMs, to key, and
	// the accumulator of elem alone to acc. An error fails the bundle; keep bad
	// elements out beforehand.
	Lift(elem any, timeMs int64, key, acc []byte) (newKey, newAcc []byte, err error)

	// Merge returns the accumulator of all the elements of dst and src. It may
	// reuse dst and must not keep or change src. It is associative and
	// commutative to the last byte, so that the order of arrival cannot show.
	Merge(dst, src []byte) ([]byte, error)

	// Check says why the total cannot be emitted, or returns nil.
	Check(total []byte) error
}

// A Renderer is an Aggregator with rows of its own.
type Renderer interface {
	Aggregator

	// RowType is the type of the rows, registered with beam.RegisterType.
	RowType() reflect.Type

	// Render turns r into a row of that type. It must not keep r's slices.
	Render(r *Row) (any, error)
}

// Pane is the kind of a row.
type Pane string

// The panes of a key and window; see the package documentation.
const (
	Early  Pane = "EARLY"
	OnTime Pane = "ON_TIME"
	Late   Pane = "LATE"
	Final  Pane = "FINAL"
)

// Row is the total of one key and window at one firing.
type Row struct {
	Key     string
	StartMs int64 // the window is [StartMs, EndMs)
	EndMs   int64
	Pane    Pane

	// Revision counts the rows of a key and window from 0.
	Revision int64

	// Total is the encoded accumulator of all elements so far, empty where the row
	// withdraws a session that is part of another one now; Previous is that of the
	// row before, empty on revision 0.
	Total    []byte
	Previous []byte
}

// Unshown is a total that the aggregator did not let through; see
// [Aggregator.Check]. It took no revision. The elements stay in the total.
type Unshown struct {
	Key     string
	StartMs int64
	EndMs   int64
	Pane    Pane
	Total   []byte
	Reason  string
}

// PerKey aggregates elements per key and window. See the package documentation
// for what it promises.
//
// Input: PCollection<T>, or PCollection<KV<int64, T>> where cfg.Watermarked is
// set; T is not a KV. Outputs: rows is PCollection<[Row]>, or of the row type of
// a [Renderer]; unshown is PCollection<[Unshown]>; both have the timestamp
// EndMs - 1. late is
// PCollection<KV<[gate.Missed], T>>, one element for each element that missed
// at least one window, at its own timestamp. All are in the global window.
//
// PerKey panics on a bad Config or input, as Beam's constructors do; see
// [TryPerKey].
func PerKey(s beam.Scope, cfg Config, agg Aggregator, col beam.PCollection) (rows, unshown, late beam.PCollection) {
	rows, unshown, late, err := TryPerKey(s, cfg, agg, col)
	if err != nil {
		panic(err)
	}
	return rows, unshown, late
}

// TryPerKey is [PerKey] with the construction error returned.
func TryPerKey(s beam.Scope, cfg Config, agg Aggregator, col beam.PCollection) (rows, unshown, late beam.PCollection, err error) {
	rows, unshown, _, late, err = build(s, "aggregate.PerKey", cfg, agg, false, col)
	return rows, unshown, late, err
}

// build adds the transform called name. There are counts if counted is set.
func build(s beam.Scope, name string, cfg Config, agg Aggregator, counted bool, col beam.PCollection) (rows, unshown, counts, late beam.PCollection, err error) {
	if s.IsValid() {
		s = s.Scope(name)
	}
	fail := func(err error) (_, _, _, _ beam.PCollection, _ error) {
		var none beam.PCollection
		return none, none, none, none, fmt.Errorf("%s: %w", name, err)
	}
	shipped, err := portable.Of(agg)
	if err != nil {
		return fail(fmt.Errorf("aggregator: %w", err))
	}
	rowT, err := rowType(agg)
	if err != nil {
		return fail(err)
	}
	plan, err := intake.Prepare(s, cfg.intake(), col)
	if err != nil {
		return fail(err)
	}
	windows, err := shippedLayout(plan.Windows)
	if err != nil {
		return fail(err)
	}
	merging := windows.gapMs > 0

	// First, elements are packed by bundle: those that are surely in time are
	// aggregated on the spot, the others get ready for the gate.
	direct, suspects, assigned := pack(s.Scope("pack"), plan, shipped, counted, cfg.EarlyDelay > 0)

	// Second, the gate sorts the suspects. Where marks decide, they are late records
	// already.
	routed := routing.Routed{Late: suspects}
	if !plan.MarksDecide {
		routed = routing.Route(s.Scope("gate"), plan.Routing, suspects)
	}

	// Third, all that is in time is folded into one cell a shard and window.
	sc := s.Scope("fold")
	delayed := cfg.EarlyDelay > 0
	blocks := []beam.PCollection{direct}
	if routed.OnTime.IsValid() {
		blocks = append(blocks, beam.ParDo(sc, &foldInFn{Agg: shipped, Windows: plan.Windows, Kind: blockOnTime, Delayed: delayed}, routed.OnTime))
	}
	noticed := blocks
	if delay := plan.Routing.LatenessMs; delay > 0 && routed.Corrections.IsValid() {
		corrections := beam.ParDo(sc, &foldInFn{Agg: shipped, Windows: plan.Windows, Kind: blockCorrection, Delayed: delayed && merging, DelayMs: delay}, routed.Corrections)
		blocks = append(blocks, corrections)
		if merging {
			noticed = blocks // a session that has not ended can grow by a correction
		}
	}
	if delayed {
		blocks = append(blocks, early(s.Scope("early"), plan, cfg.EarlyDelay, beam.Flatten(s.Scope("early"), noticed...)))
	}
	rows, unshown, added := beam.ParDo3(sc, newFoldFn(shipped, plan, cfg, counted), beam.Flatten(sc, blocks...),
		beam.TypeDefinition{Var: beam.YType, T: rowT})
	late = intake.Late(s.Scope("late"), plan.Type, routed.Late)
	if counted {
		sc := s.Scope("counts")
		counts = beam.Flatten(sc, assigned, added, beam.ParDo(sc, &lateCountFn{Agg: shipped, Windows: plan.Windows}, late))
	}
	return rows, unshown, counts, late, nil
}

// rowType is the type of the rows of agg.
func rowType(agg Aggregator) (reflect.Type, error) {
	r, ok := agg.(Renderer)
	if !ok {
		return reflect.TypeFor[Row](), nil
	}
	t := r.RowType()
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("RowType = %v, want a struct type", t)
	}
	if _, err := portable.Of(reflect.Zero(t).Interface()); err != nil {
		return nil, fmt.Errorf("RowType: %w", err)
	}
	return t, nil
}

// Validate says what cannot be used in cfg, or returns nil. [PerKey] does the
// same, and checks cfg against its input besides.
func (cfg Config) Validate() error {
	switch {
	case cfg.EarlyCount < 0:
		return fmt.Errorf("EarlyCount = %d, want at least 1, or 0 for none", cfg.EarlyCount)
	case cfg.EarlyDelay < 0 || cfg.EarlyDelay%time.Millisecond != 0:
		return fmt.Errorf("EarlyDelay = %v, want a positive whole number of milliseconds, or 0 for none", cfg.EarlyDelay)
	}
	return cfg.intake().Validate()
}

// intake are the settings that are not only for aggregates.
func (cfg Config) intake() intake.Config {
	return intake.Config{
		Windows: cfg.Windows, AllowedLateness: cfg.AllowedLateness,
		Watermarked: cfg.Watermarked, MarksDecide: cfg.MarksDecide, Shards: cfg.Shards, Retention: cfg.Retention,
	}
}
