package gate

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/internal/intake"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Passed]())
}

// Config sets the windows of [Split]. The zero value takes them from the
// input's own WindowInto.
type Config struct {
	// Windows assigns windows to elements by their timestamps. Where it is nil,
	// the windows and the allowed lateness are those of the input's WindowInto,
	// which must be of fixed or sliding windows.
	Windows windowfns.Fn

	// AllowedLateness L is event time, in whole milliseconds: a window takes
	// elements while the watermark is below its end + L. Default 0: none after
	// the end. It must be 0 where Windows is nil.
	AllowedLateness time.Duration

	// Watermarked says that the input is KV<int64, T>: each element comes with
	// the watermark, in ms, that its source had when it read the element, never
	// lower than what the source had reported. What is in time by it bypasses
	// the gate. Batch sources may send math.MinInt64. A mark is a real watermark,
	// of the year 2185 at the latest; a higher one, such as math.MaxInt64, fails
	// the job. A source that does not know its watermark sends T.
	Watermarked bool

	// MarksDecide says that marks are the watermark of the rule, and that the runner
	// is not asked: what comes out depends on elements and marks alone. It is for
	// input of one source with one watermark, which its marks are. Where several
	// sources have one each, an element can be past a deadline by its own mark that
	// the runner's watermark, the lowest of all, has not reached. Watermarked must
	// be set.
	MarksDecide bool

	// Shards is how many groups elements are dealt into, 1 to 65536; 0 means 4.
	// It bounds the parallelism and never changes results. The gate keeps a
	// cell for each (shard, window).
	Shards int

	// Retention bounds how long the gate remembers a window after its end, in
	// event time; 0 is for ever. It is for live streams only, never for replays:
	// see Limits in the package documentation. Where Watermarked is set, the gate
	// forgets anyway, and Retention has no meaning.
	Retention time.Duration
}

// Passed says in which window an element is in time.
type Passed struct {
	StartMs int64 // the window is [StartMs, EndMs)
	EndMs   int64
	TimeMs  int64 // the element's timestamp

	// Late is set where the watermark had passed EndMs, but not EndMs + L: the
	// element corrects a window that may have been emitted.
	Late bool
}

// Missed says which windows an element was too late for, and whether these are
// all that it has.
type Missed = intake.Missed

// Split sorts the elements of col by whether they are in time for their
// windows. See the package documentation for the rule.
//
// Input: PCollection<T>, or PCollection<KV<int64, T>> where cfg.Watermarked is
// set; T is not a KV. Outputs, in the global window: inTime is
// PCollection<KV<[Passed], T>>, one element for each (element, window) pair in
// time, with the timestamp EndMs - 1; late is PCollection<KV<[Missed], T>>, one
// element for each element that missed at least one window, with its own
// timestamp.
//
// Split panics on a bad Config or input, as Beam's constructors do; see
// [TrySplit].
func Split(s beam.Scope, cfg Config, col beam.PCollection) (inTime, late beam.PCollection) {
	inTime, late, err := TrySplit(s, cfg, col)
	if err != nil {
		panic(err)
	}
	return inTime, late
}

// TrySplit is [Split] with the construction error returned.
func TrySplit(s beam.Scope, cfg Config, col beam.PCollection) (inTime, late beam.PCollection, err error) {
	if s.IsValid() {
		s = s.Scope("gate.Split")
	}
	plan, err := intake.Prepare(s, intake.Config(cfg), col)
	if err != nil {
		return beam.PCollection{}, beam.PCollection{}, fmt.Errorf("gate.Split: %w", err)
	}
	onTime, corrections, suspects := pack(s.Scope("pack"), plan)
	routed := routing.Routed{Late: suspects} // that is what they are where marks decide
	if !plan.MarksDecide {
		routed = routing.Route(s.Scope("gate"), plan.Routing, suspects)
	}

	passed := []beam.PCollection{
		unpack(s.Scope("on_time"), plan, false, together(s.Scope("on_time"), onTime, routed.OnTime)),
	}
	if plan.Routing.LatenessMs > 0 {
		sc := s.Scope("corrections")
		passed = append(passed, unpack(sc, plan, true, together(sc, corrections, routed.Corrections)))
	}
	inTime = passed[0]
	if len(passed) > 1 {
		inTime = beam.Flatten(s.Scope("in_time"), passed...)
	}
	return inTime, intake.Late(s.Scope("late"), plan.Type, routed.Late), nil
}

// together is what was packed as in time, with what the gate let through if there
// is one.
func together(s beam.Scope, packed, let beam.PCollection) beam.PCollection {
	if !let.IsValid() {
		return packed
	}
	return beam.Flatten(s, packed, let)
}
