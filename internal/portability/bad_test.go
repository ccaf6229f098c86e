package portability

import (
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn4x1[state.Provider, timers.Provider, string, int, error](&goodStateFn{})
	register.DoFn3x1[timers.Provider, string, int, error](&twoFamiliesFn{})
	register.DoFn3x1[state.Provider, string, int, error](&mapFn{})
	register.DoFn3x1[state.Provider, string, int, error](&setFn{})
	register.DoFn3x1[state.Provider, string, int, error](&orderedFn{})
	register.DoFn3x0[beam.BundleFinalization, string, int](&finalFn{})
	register.DoFn3x1[*sdf.ManualWatermarkEstimator, *sdf.LockRTracker, []byte, sdf.ProcessContinuation](&goodSourceFn{})
	register.DoFn3x1[*sdf.ManualWatermarkEstimator, *sdf.LockRTracker, []byte, sdf.ProcessContinuation](&restingSourceFn{})
	register.DoFn2x1[*sdf.LockRTracker, []byte, sdf.ProcessContinuation](&silentSourceFn{})
	register.DoFn3x1[*sdf.ManualWatermarkEstimator, *sdf.LockRTracker, []byte, sdf.ProcessContinuation](&forgetfulSourceFn{})
	register.DoFn2x0[*sdf.LockRTracker, []byte](&batchSourceFn{})
	register.DoFn2x0[string, int](&secretFn{})
	register.Function1x2(pairOf)
	register.Function3x0(besideRows)
	register.Function3x0(besideNumbers)
	register.Iter1[row]()
	register.Iter1[int]()
	register.Emitter2[string, int]()
	register.Combiner1[int](&sumFn{})
	beam.RegisterType(reflect.TypeFor[row]())
}

type row struct{ Name string }

func pairOf(n int) (string, int) { return "key", n }

func unknownPairOf(n int) (string, int) { return "key", n }

func besideRows(string, int, func(*row) bool) {}

func besideNumbers(string, int, func(*int) bool) {}

type sumFn struct{}

func (*sumFn) MergeAccumulators(a, b int) int { return a + b }

// goodStateFn has all that runners can do.
type goodStateFn struct {
	Value state.Value[int]
	Bag   state.Bag[[]byte]
	Sum   state.Combining[int, int, int]
	Timer timers.EventTime
}

func (*goodStateFn) ProcessElement(state.Provider, timers.Provider, string, int) error { return nil }

func (*goodStateFn) OnTimer(state.Provider, timers.Provider, string, timers.Context) error {
	return nil
}

type twoFamiliesFn struct {
	Event      timers.EventTime
	Processing timers.ProcessingTime
}

func (*twoFamiliesFn) ProcessElement(timers.Provider, string, int) error { return nil }

func (*twoFamiliesFn) OnTimer(timers.Provider, string, timers.Context) error { return nil }

type mapFn struct{ Map state.Map[string, int] }

func (*mapFn) ProcessElement(state.Provider, string, int) error { return nil }

type setFn struct{ Set state.Set[string] }

func (*setFn) ProcessElement(state.Provider, string, int) error { return nil }

type orderedFn struct{ List state.OrderedList[int] }

func (*orderedFn) ProcessElement(state.Provider, string, int) error { return nil }

type finalFn struct{}

func (*finalFn) ProcessElement(beam.BundleFinalization, string, int) {}

// offsets is what sources have in common.
type offsets struct{}

func (offsets) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{End: 1}
}

func (offsets) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{r}
}

func (offsets) RestrictionSize([]byte, offsetrange.Restriction) float64 { return 1 }

func (offsets) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

type goodSourceFn struct{ offsets }

func (*goodSourceFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return 0
}

func (*goodSourceFn) CreateWatermarkEstimator(ms int64) *sdf.ManualWatermarkEstimator {
	return &sdf.ManualWatermarkEstimator{State: time.UnixMilli(ms)}
}

func (*goodSourceFn) WatermarkEstimatorState(e *sdf.ManualWatermarkEstimator) int64 {
	return e.State.UnixMilli()
}

func (*goodSourceFn) ProcessElement(*sdf.ManualWatermarkEstimator, *sdf.LockRTracker, []byte) sdf.ProcessContinuation {
	return sdf.StopProcessing()
}

// restingSourceFn has a pause in what it embeds.
type restingSourceFn struct {
	pause
	goodSourceFn
}

type pause struct{ Pause time.Duration }

type silentSourceFn struct{ offsets }

func (*silentSourceFn) ProcessElement(*sdf.LockRTracker, []byte) sdf.ProcessContinuation {
	return sdf.StopProcessing()
}

type forgetfulSourceFn struct{ offsets }

func (*forgetfulSourceFn) CreateWatermarkEstimator() *sdf.ManualWatermarkEstimator {
	return &sdf.ManualWatermarkEstimator{}
}

func (*forgetfulSourceFn) ProcessElement(*sdf.ManualWatermarkEstimator, *sdf.LockRTracker, []byte) sdf.ProcessContinuation {
	return sdf.StopProcessing()
}

// batchSourceFn never checkpoints itself and needs no watermark.
type batchSourceFn struct{ offsets }

func (*batchSourceFn) ProcessElement(*sdf.LockRTracker, []byte) {}

// secretFn has a field that JSON leaves out.
type secretFn struct{ limit int }

func (f *secretFn) ProcessElement(string, int) { f.limit-- }
