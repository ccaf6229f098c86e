package main

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/average"
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

func valueOf(o order) average.Entry { return average.Entry{Key: o.Company, Value: priceOf(o.Minor)} }

// priceOf is an amount in major units: a fraction that float64 has not exactly,
// as most values that are averaged.
func priceOf(minor int64) float64 { return float64(minor) / 100 }

// minorOfPrice is the way back from a sum of prices.
func minorOfPrice(price float64) int64 { return int64(math.Round(price * 100)) }

type emitOrder = func(beam.EventTime, int64, order)

func init() {
	register.DoFn4x1[*watermark, *sdf.LockRTracker, []byte, emitOrder, sdf.ProcessContinuation](&ordersFn{})
	register.Emitter3[beam.EventTime, int64, order]()
	register.Function1x1(entryOf)
	register.Function1x1(valueOf)
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

// ordersFn generates orders in memory, Step apart, DisorderMs out of order at
// the most, dealt over the companies. It checkpoints itself every Chunk orders
// and hands on its watermark with each.
type ordersFn struct {
	rangeFn
	Orders     int64
	Companies  int64
	Step       time.Duration
	DisorderMs int64
	Chunk      int64

	names []string
}

// ordersOf are orders that cover o.span of event time.
func ordersOf(o options) ordersFn {
	return ordersFn{Orders: o.events, Companies: o.keys, Step: o.span / time.Duration(o.events), DisorderMs: 500, Chunk: o.chunk}
}

// read adds the source: PCollection<KV<int64 mark, order>>.
func (f ordersFn) read(s beam.Scope) beam.PCollection {
	return beam.ParDo(s, &f, beam.Impulse(s))
}

// companyOf deals order i to a company, as if at random (SplitMix64).
func companyOf(i, companies int64) int64 {
	z := uint64(i+1) * 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return int64((z ^ z>>31) % uint64(companies))
}

// minorAt is the amount of order i.
func minorAt(i int64) int64 { return i%99_991 - 500 }

// minor is what all amounts come to.
func (f ordersFn) minor() (sum int64) {
	for i := range f.Orders {
		sum += minorAt(i)
	}
	return sum
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
		t := startMs + i*int64(f.Step)/int64(time.Millisecond) - (i*7919)%(f.DisorderMs+1)
		emit(mtime.Time(t), wm.ms, order{Company: f.names[companyOf(i, f.Companies)], Minor: minorAt(i)})
		wm.ms = max(wm.ms, t-f.DisorderMs)
		i++
	}
	return sdf.ResumeProcessingIn(0)
}
