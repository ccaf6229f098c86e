package main

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/gmv"
)

// startMs is the time of the first order: 2023-11-14T22:13:20Z.
const startMs = 1_700_000_000_000

// order is what the generated source emits.
type order struct {
	Company string
	Minor   int64
}

func entryOf(o order) gmv.Entry { return gmv.Entry{Key: o.Company, Minor: o.Minor} }

type emitOrder = func(beam.EventTime, int64, order)

func init() {
	register.DoFn4x1[*watermark, *sdf.LockRTracker, []byte, emitOrder, sdf.ProcessContinuation](&ordersFn{})
	register.Emitter3[beam.EventTime, int64, order]()
	register.Function1x1(entryOf)
	beam.RegisterType(reflect.TypeFor[order]())
}

// rangeFn is what the generated sources have in common: positions in a row, and a
// watermark that is set by hand.
type rangeFn struct{}

// SplitRestriction leaves a source whole.
func (rangeFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{r}
}

// RestrictionSize is a number of positions.
func (rangeFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker tracks positions.
func (rangeFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// CreateWatermarkEstimator goes on where the last bundle was.
func (rangeFn) CreateWatermarkEstimator(ms int64) *watermark { return &watermark{ms} }

// WatermarkEstimatorState is the watermark, in ms.
func (rangeFn) WatermarkEstimatorState(w *watermark) int64 { return w.ms }

// ordersFn generates orders in memory, StepMs apart, DisorderMs out of order at
// the most, dealt over the companies. It checkpoints itself every Chunk orders
// and hands on its watermark with each.
type ordersFn struct {
	rangeFn
	Orders     int64
	Companies  int64
	StepMs     int64
	DisorderMs int64
	Chunk      int64

	names []string
}

func (f *ordersFn) Setup() {
	f.names = make([]string, f.Companies)
	for i := range f.names {
		f.names[i] = fmt.Sprintf("c%05d", i)
	}
}

func (f *ordersFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Orders}
}

// watermark is set by hand.
type watermark struct{ ms int64 }

func (w *watermark) CurrentWatermark() time.Time { return time.UnixMilli(w.ms) }

func (f *ordersFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return startMs - f.DisorderMs
}

func (f *ordersFn) ProcessElement(wm *watermark, rt *sdf.LockRTracker, _ []byte, emit emitOrder) sdf.ProcessContinuation {
	i := rt.GetRestriction().(offsetrange.Restriction).Start
	for n := int64(0); n < f.Chunk; n++ {
		if !rt.TryClaim(i) {
			return sdf.StopProcessing()
		}
		// Fixed scatter: any multiplier prime to the modulus will do.
		t := startMs + i*f.StepMs - (i*7919)%(f.DisorderMs+1)
		company := uint64(i) * 0x9E3779B97F4A7C15 % uint64(f.Companies)
		emit(mtime.Time(t), wm.ms, order{Company: f.names[company], Minor: i%99_991 - 500})
		wm.ms = max(wm.ms, t-f.DisorderMs)
		i++
	}
	return sdf.ResumeProcessingIn(0)
}
