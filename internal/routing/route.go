// Package routing is the engine of the late gate: it sends packed elements one
// way or the other by the runner's own word on whether the watermark has passed
// a deadline.
//
// A gate is a GroupByKey in windows of 1 ms, triggered for every element,
// discarding, with an allowed lateness of centuries. Each element comes out at
// once, and the timing of its pane says whether the watermark had passed the
// stamp that it was sent in with. The stamp of a batch is the deadline that the
// gate decides, so that in flight it holds the watermark below it: what is in
// time on the way in is in time on the way out.
package routing

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

// forever is the allowed lateness of the outermost gate: more than lies between
// any two accepted times (the years 1900 to 2185), and nearly the largest
// Duration.
const forever = 290 * 365 * 24 * time.Hour

// MaxLateness is the largest allowed lateness and retention: the accepted times
// span 286 years.
const MaxLateness = 286 * 365 * 24 * time.Hour

// Config says where the deadlines of a window are.
type Config struct {
	// LatenessMs is the allowed lateness L: a window takes elements while the
	// watermark is below end + L.
	LatenessMs int64

	// RetentionMs bounds how long a gate remembers a window after its end; 0
	// is for ever. See the limits in the documentation of package gate. It has
	// no meaning where Layered is set.
	RetentionMs int64

	// Layered says that every element that comes to the gate is past its last
	// deadline, end + L, by the watermark of its own source, so that it can pass
	// layers that keep the cells few.
	Layered bool

	// Bulk says that elements have no windows but their own timestamps: t is in time
	// while the watermark is not above it, and late when it is above t + L. They come
	// from a [Bulk].
	Bulk bool

	// Many says that an element can have more than one window.
	Many bool

	// Probe says that items stand for a run of windows of a grid, which is that
	// of Windows: see [Item.Run].
	Probe   bool
	Windows portable.Value
}

// Part reports whether the copies of an element for a and for b, both doubtful,
// can be judged at different times, because a coarse gate in front holds the
// watermark below the deadline of neither. Then b's copy may be late where a's is
// not. Otherwise lateness is monotone in the end of windows: all copies meet the
// gate at once, and each holds the watermark below its own deadline. Behind that
// gate it is not; see the verdicts in collect.go.
func (cfg Config) Part(a, b windowfns.Window) bool {
	if cfg.Layered {
		return cfg.layerOf(a.EndMs) != cfg.layerOf(b.EndMs)
	}
	return cfg.RetentionMs > 0
}

// layerOf is the deadline of a window rounded up for the first layer.
func (cfg Config) layerOf(endMs int64) int64 {
	return ceilMultiple(endMs+cfg.LatenessMs, day.Milliseconds())
}

// Routed are the outputs of [Route].
type Routed struct {
	// OnTime holds batches, KV<int64 shard, []byte>, that came while the
	// watermark was below the end of their window. Timestamp: end - 1 ms.
	OnTime beam.PCollection

	// Corrections holds batches that came later, but within the allowed
	// lateness. Timestamp: end + L - 1 ms, which holds the watermark below the
	// close of the window. Not valid where LatenessMs is 0.
	Corrections beam.PCollection

	// Late holds packed late records ([ReadLate]), KV<int64 shard, []byte>, one
	// record an element. Timestamp: the smallest element time in it.
	Late beam.PCollection
}

// Route decides, for each batch that [Packer.FlushSuspects] emitted, whether it
// is in time. The input is in the global window.
func Route(s beam.Scope, cfg Config, suspects beam.PCollection) Routed {
	var out Routed
	var verdicts, late []beam.PCollection
	batches := suspects
	var early narrowed

	switch {
	case cfg.Probe:
		early = narrow(s.Scope("narrow"), cfg, suspects)
		batches, late, verdicts = early.single, early.late, early.verdicts
	case cfg.Layered:
		batches, late, verdicts = layers(s.Scope("layers"), cfg, suspects)
	case cfg.RetentionMs > 0:
		// What is far too late is taken out first, by a gate of coarse windows,
		// so that the exact ones can forget.
		sc := s.Scope("forget")
		stamped := beam.ParDo(sc, &coarseFn{BeyondMs: cfg.LatenessMs + cfg.RetentionMs, GrainMs: cfg.grain()}, batches)
		pass, refused, verdict := gate(sc, forever, &splitFn{Last: true}, stamped)
		batches = pass
		late, verdicts = append(late, refused), append(verdicts, verdict)
	}

	if cfg.Bulk && !cfg.Layered {
		early.onTime, batches = sift(s.Scope("bulk"), cfg, batches)
	}
	last := cfg.LatenessMs == 0
	pass, rest, verdict := gate(s.Scope("on_time"), cfg.memory(),
		&splitFn{RestDelayMs: cfg.LatenessMs, Last: last, Final: true, Many: cfg.Many}, batches)
	out.OnTime = flatten(s.Scope("in_time"), append(early.onTime, pass))
	verdicts = append(verdicts, verdict)
	if !last {
		pass, rest, verdict = gate(s.Scope("within_lateness"), cfg.memory(),
			&splitFn{PassDelayMs: cfg.LatenessMs, Last: true, Final: true, Many: cfg.Many}, rest)
		out.Corrections = flatten(s.Scope("corrections"), append(early.corrections, pass))
		verdicts = append(verdicts, verdict)
	}
	late = append(late, rest)

	if cfg.Many {
		sc := s.Scope("collect")
		late = append(late, beam.ParDo(sc, newCollectFn(), flatten(sc, verdicts)))
	}
	out.Late = flatten(s.Scope("late"), late)
	return out
}

// gate sends batches or parcels through one gate, with fn behind its GroupByKey.
// The outputs are in the global window.
func gate(s beam.Scope, memory time.Duration, fn any, batches beam.PCollection) (pass, rest, verdict beam.PCollection) {
	panes := beam.GroupByKey(s, beam.WindowInto(s, window.NewFixedWindows(time.Millisecond), batches,
		beam.Trigger(trigger.Always()), beam.PanesDiscard(), beam.AllowedLateness(memory)))
	pass, rest, verdict = beam.ParDo3(s, fn, panes)
	global := func(col beam.PCollection) beam.PCollection {
		return beam.WindowInto(s, window.NewGlobalWindows(), col)
	}
	return global(pass), global(rest), global(verdict)
}

func flatten(s beam.Scope, cols []beam.PCollection) beam.PCollection {
	if len(cols) == 1 {
		return cols[0]
	}
	return beam.Flatten(s, cols...)
}

// grain is the distance between the deadlines of the coarse gate.
func (cfg Config) grain() int64 { return max(cfg.RetentionMs/8, 1) }

// memory is how long the exact gates remember a window after its stamp: past
// the coarse deadline of the window, with something to spare for what is on its
// way between the two.
func (cfg Config) memory() time.Duration {
	// In ms, because a Duration of so many years can overflow.
	ms := cfg.LatenessMs
	switch {
	case cfg.Layered:
		ms += (minute + layerSlack).Milliseconds()
	case cfg.RetentionMs > 0:
		ms += cfg.RetentionMs + 3*cfg.grain()
	default:
		return forever
	}
	return time.Duration(min(ms, forever.Milliseconds())) * time.Millisecond
}
