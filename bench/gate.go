package main

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/gate"
	"tidemark/windowfns"
)

// tick is an element of the gate's benchmark: N spreads them over the shards.
type tick struct {
	N int64
}

func init() {
	register.DoFn4x1[*watermark, *sdf.LockRTracker, []byte, func(beam.EventTime, tick), sdf.ProcessContinuation](&ticksFn{})
	register.Emitter2[beam.EventTime, tick]()
	register.Function2x1(ended)
	register.Function1x1(minorOfTick)
	register.Function2x0(countLateTick)
	beam.RegisterType(reflect.TypeFor[tick]())
}

func ended(p gate.Passed, _ tick) tick { return tick{p.EndMs} }
func countLateTick(gate.Missed, tick)  { sunkLate.Add(1) }
func minorOfTick(t tick) int64         { return t.N }

// ticksFn emits a few unmarked elements a window, and moves the watermark on by
// some windows with each bundle. It notes when each step began.
type ticksFn struct {
	rangeFn
	Windows   int64
	PerWindow int64
	PerStep   int64 // windows
	SizeMs    int64
}

// stopwatch holds when the steps of a run began.
var stopwatch laps

type laps struct {
	mu sync.Mutex
	at []time.Time
}

func (l *laps) reset() { l.at = nil }

func (l *laps) note() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = append(l.at, time.Now())
}

func (f *ticksFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Windows}
}

func (f *ticksFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return startMs
}

func (f *ticksFn) ProcessElement(wm *watermark, rt *sdf.LockRTracker, _ []byte, emit func(beam.EventTime, tick)) sdf.ProcessContinuation {
	i := rt.GetRestriction().(offsetrange.Restriction).Start
	stopwatch.note()
	for range f.PerStep {
		if !rt.TryClaim(i) {
			return sdf.StopProcessing()
		}
		for n := range f.PerWindow {
			emit(mtime.Time(startMs+i*f.SizeMs), tick{i*f.PerWindow + n})
		}
		i++
	}
	wm.ms = startMs + i*f.SizeMs
	return sdf.ResumeProcessingIn(0)
}

// gateState prints what the gate's memory of unmarked elements costs: the cells
// that it retains after so many windows, and the time of a watermark step in
// the first and in the last tenth.
func gateState(ctx context.Context, o options) error {
	const shards, perWindow = 4, 32
	size, retention := o.window, o.retention
	windows := int64(o.days * float64(24*time.Hour) / float64(size))
	stopwatch.reset()
	r, err := play(ctx, func(s beam.Scope) {
		src := &ticksFn{Windows: windows, PerWindow: perWindow, PerStep: o.stepWindows, SizeMs: size.Milliseconds()}
		in := beam.ParDo(s, src, beam.Impulse(s))
		inTime, late := gate.Split(s, gate.Config{Windows: windowfns.Tumbling{Size: size}, Shards: shards, Retention: retention}, in)
		discard(s, beam.ParDo(s, minorOfTick, beam.ParDo(s, ended, inTime)))
		beam.ParDo0(s, countLateTick, late)
	})
	if err != nil {
		return err
	}
	if r.rows+r.late != windows*perWindow {
		return fmt.Errorf("%d elements in time and %d late, want %d together", r.rows, r.late, windows*perWindow)
	}
	steps := stopwatch.at
	tenth := len(steps) / 10
	if tenth == 0 {
		return fmt.Errorf("%d watermark steps, want at least 10", len(steps))
	}
	per := func(from, to int) time.Duration {
		return (steps[to].Sub(steps[from]) / time.Duration(to-from)).Round(time.Microsecond)
	}
	first, last := per(0, tenth), per(len(steps)-1-tenth, len(steps)-1)
	cells := windows * shards
	kept := "for ever"
	if retention > 0 {
		kept = retention.String()
		cells = min(cells, int64(retention/size)*shards*3/2)
	}
	fmt.Printf("gate: %d windows of %v, %d shards, retention %s: at most %d cells; a watermark step of %d windows takes %v in the first tenth, %v in the last (%.1f x); judged late %d of %d\n",
		windows, size, shards, kept, cells, o.stepWindows, first, last, float64(last)/float64(first), r.late, r.rows+r.late)
	return nil
}
