package main

import (
	"context"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/gate"
)

func init() {
	register.Function2x1(unmark)
	register.Function3x0(count)
	register.Emitter2[int64, int64]()
	register.DoFn2x0[int64, emitTally](&tallyFn{})
	register.Emitter3[beam.EventTime, int64, int64]()
	register.Function2x0(countLate)
}

// The sinks run in this process and only count.
var sunkRows, sunkMinor, sunkLate atomic.Int64

func countLate(m gate.Missed, o order) {
	sunkLate.Add(1)
	sunkMinor.Add(o.Minor * int64(len(m.Windows)))
}

func unmark(_ int64, o order) order { return o }

func count(rows, minor int64, _ func(int64, int64)) { sunkRows.Add(rows); sunkMinor.Add(minor) }

// discard counts what comes, one packed element a bundle. The Reshuffle between
// keeps Prism from spinning while a sink runs, and gives both sides the same.
func discard(s beam.Scope, minors beam.PCollection) {
	global := beam.WindowInto(s, window.NewGlobalWindows(), minors)
	quiet(s, beam.ParDo(s, count, beam.Reshuffle(s, beam.ParDo(s, &tallyFn{}, global))))
}

// quiet ends a branch whose last DoFn emits nothing. Prism spins on a core
// while a stage without outputs runs; a GroupByKey of nothing gives it one.
func quiet(s beam.Scope, nothing beam.PCollection) {
	beam.GroupByKey(s, nothing)
}

type emitTally = func(beam.EventTime, int64, int64)

// tallyFn adds up a bundle.
type tallyFn struct{ rows, minor int64 }

func (f *tallyFn) StartBundle(emitTally) { f.rows, f.minor = 0, 0 }

func (f *tallyFn) ProcessElement(minor int64, _ emitTally) {
	f.rows++
	f.minor += minor
}

func (f *tallyFn) FinishBundle(emit emitTally) { emit(startMs, f.rows, f.minor) }

// againstPlain compares a plain pipeline with ours, with the source's word on its
// watermark and without. The plain one gets the marks too, and drops them. Each
// order is in so many windows.
func againstPlain(ctx context.Context, o options, windows int64,
	plain func(s beam.Scope, in beam.PCollection), ours func(s beam.Scope, marked bool, in beam.PCollection),
) error {
	src := ordersOf(o)
	enter := func(name string, build func(s beam.Scope, in beam.PCollection)) entrant {
		return entrant{name: name, events: src.Orders, want: src.minor() * windows, run: func() (outcome, error) {
			return play(ctx, func(s beam.Scope) { build(s, src.read(s)) })
		}}
	}
	_, err := contest(o,
		enter("plain", plain),
		enter("tidemark", func(s beam.Scope, in beam.PCollection) { ours(s, true, in) }),
		enter("tidemark-unmarked", func(s beam.Scope, in beam.PCollection) { ours(s, false, beam.ParDo(s, unmark, in)) }),
	)
	return err
}

// play runs a pipeline and returns what its sinks counted.
func play(ctx context.Context, build func(beam.Scope)) (outcome, error) {
	sunkRows.Store(0)
	sunkMinor.Store(0)
	sunkLate.Store(0)
	p, s := beam.NewPipelineWithRoot()
	build(s)
	if err := runPipeline(ctx, p); err != nil {
		return outcome{}, err
	}
	return outcome{rows: sunkRows.Load(), minor: sunkMinor.Load(), late: sunkLate.Load()}, nil
}
