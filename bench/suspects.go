package main

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.DoFn4x1[*watermark, *sdf.LockRTracker, []byte, emitOrder, sdf.ProcessContinuation](&suspectsFn{})
}

// suspectStepMs is how far the watermark moves with each bundle.
const suspectStepMs = 60_000

// suspectsFn emits elements that are all past their windows by its own
// watermark, no two at the same millisecond, and moves the watermark on by a
// minute with each bundle of Chunk elements. Of every 100, Near have a window
// that ended within the last minute, so that the runner, which is behind the
// source, is still in time for some of them; the others lie scattered over
// SpreadMs before the beginning. It notes when each step began.
//
// Position 0 has no element: a runner has no watermark of a source that has not
// checkpointed itself, and would be in time for all of the first bundle.
type suspectsFn struct {
	rangeFn
	Suspects int64
	Chunk    int64
	Near     int64
	SpreadMs int64
	SizeMs   int64
}

func (f *suspectsFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Suspects + 1}
}

func (f *suspectsFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return startMs
}

func (f *suspectsFn) ProcessElement(wm *watermark, rt *sdf.LockRTracker, _ []byte, emit emitOrder) sdf.ProcessContinuation {
	i := rt.GetRestriction().(offsetrange.Restriction).Start
	if i == 0 {
		rt.TryClaim(i)
		return sdf.ResumeProcessingIn(time.Second)
	}
	stopwatch.note()
	i--
	base := startMs + i/f.Chunk*suspectStepMs
	for range f.Chunk {
		if !rt.TryClaim(i + 1) {
			return sdf.StopProcessing()
		}
		t, passed := f.at(i, base)
		wm.ms = max(wm.ms, base+passed)
		emit(mtime.Time(t), wm.ms, order{Company: fmt.Sprintf("c%04d", i%1000), Minor: 1})
		i++
	}
	wm.ms = base + suspectStepMs
	return sdf.ResumeProcessingIn(0)
}

// at is the time of element i, and how far the watermark is past base with it.
func (f *suspectsFn) at(i, base int64) (tMs, passed int64) {
	passed = i % f.Chunk * suspectStepMs / f.Chunk
	if i*37%100 < f.Near {
		return base + passed - suspectStepMs/2 - f.SizeMs, passed
	}
	// Fixed scatter: a multiplier prime to the modulus.
	return startMs - 600_000 - i*1_000_003%f.Suspects*(f.SpreadMs/f.Suspects) - f.SizeMs, passed
}

// suspects prints what a step of the watermark takes while elements come that
// are too late, or nearly so, for windows that were never seen before, and fails
// if it has more than doubled by the end.
func suspects(ctx context.Context, o options) error {
	src := suspectsFn{
		Suspects: o.events, Chunk: o.suspectsAtOnce, Near: o.near,
		SpreadMs: o.spread.Milliseconds(), SizeMs: o.window.Milliseconds(),
	}
	switch {
	case src.SpreadMs < src.Suspects:
		return fmt.Errorf("a spread of %d ms for %d elements, want a millisecond for each", src.SpreadMs, src.Suspects)
	case suspectStepMs < src.Chunk:
		return fmt.Errorf("%d elements a step, want at most %d", src.Chunk, suspectStepMs)
	}
	stopwatch.reset()
	begin := time.Now()
	r, err := play(ctx, func(s beam.Scope) {
		cfg := gmv.Config{Windows: windowfns.Tumbling{Size: o.window}, Watermarked: true, Shards: o.shards}
		rows, _, late := gmv.PerKey(s, cfg, entryOf, beam.ParDo(s, &src, beam.Impulse(s)))
		discard(s, beam.ParDo(s, minorOf, rows))
		beam.ParDo0(s, countLate, late)
	})
	if err != nil {
		return err
	}
	rate := float64(src.Suspects) / time.Since(begin).Seconds()
	// What was read ahead of the rest of the pipeline belongs to the last steps.
	stopwatch.note()
	steps := stopwatch.at
	tenth := (len(steps) - 1) / 10
	if tenth == 0 {
		return fmt.Errorf("%d watermark steps, want at least 10", len(steps)-1)
	}
	per := make([]time.Duration, 10)
	for k := range per {
		to := (k + 1) * tenth
		if k == 9 {
			to = len(steps) - 1
		}
		per[k] = steps[to].Sub(steps[k*tenth]) / time.Duration(to-k*tenth)
		per[k] = per[k].Round(100 * time.Microsecond)
	}
	ratio := float64(per[9]) / float64(per[0])
	fmt.Printf("suspects: %d over %v and %d%% within the last minute, %d a step: %.0f events/s, %d added, %d late; a step by tenths of the run %v; last to first %.2f\n",
		src.Suspects, o.spread, src.Near, src.Chunk, rate, r.minor-r.late, r.late, per, ratio)
	switch {
	case r.minor != src.Suspects:
		return fmt.Errorf("%d added and %d late, want %d together", r.minor-r.late, r.late, src.Suspects)
	case ratio > 2:
		return fmt.Errorf("a step takes %.2f times as long in the last tenth, want at most 2", ratio)
	}
	return nil
}
