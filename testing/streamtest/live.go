package streamtest

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn4x1[*scriptWatermark, *sdf.LockRTracker, []byte, emitMarked, sdf.ProcessContinuation](&liveFn{})
	register.Emitter3[beam.EventTime, int64, beam.X]()
}

type emitMarked = func(beam.EventTime, int64, beam.X)

var scripts registry[[]step]

// Live plays the script as a live source of one split would: a splittable DoFn
// that emits steps in order, and interrupts itself after every perBundle of
// them (at least 1). The runner moves its watermark between bundles, so that it
// may be behind the script's at any element, but never ahead of it. A watermark
// of the script is the source's own estimate from that step on.
//
// Output: PCollection<KV<int64, T>>, T being the type of the elements, in the
// global window: each element with its mark, the script's watermark in ms when
// it came up, math.MinInt64 if there was none yet.
//
// Live panics where [Timeline.TryLive] returns an error.
func (t *Timeline) Live(s beam.Scope, perBundle int) beam.PCollection {
	col, err := t.TryLive(s, perBundle)
	if err != nil {
		panic(err)
	}
	return col
}

// TryLive is [Timeline.Live] with the error returned. Steps of processing time
// cannot be played live.
func (t *Timeline) TryLive(s beam.Scope, perBundle int) (beam.PCollection, error) {
	if err := t.check(); err != nil {
		return beam.PCollection{}, err
	}
	if perBundle < 1 {
		return beam.PCollection{}, fmt.Errorf("streamtest.Timeline: %d steps a bundle, want at least 1", perBundle)
	}
	if err := t.checkClock("live"); err != nil {
		return beam.PCollection{}, err
	}
	fn := &liveFn{Script: scripts.add(t.steps), Steps: int64(len(t.steps)), PerBundle: perBundle}
	return beam.ParDo(s, fn, beam.Impulse(s), beam.TypeDefinition{Var: beam.XType, T: t.elem}), nil
}

// liveFn reads a script. Its restrictions are ranges of steps, and after the
// last step there is one more position, with nothing at it: once all is read,
// the source reports a watermark at infinity and checkpoints itself for the last
// time. Without that, Prism can get stuck at the watermark of the last
// checkpoint if the source ends before it has been taken up.
type liveFn struct {
	scriptFn
	Script    int
	Steps     int64
	PerBundle int
}

func (f *liveFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Steps + 1}
}

func (f *liveFn) ProcessElement(w *scriptWatermark, rt *sdf.LockRTracker, _ []byte, emit emitMarked) sdf.ProcessContinuation {
	steps, ok := scripts.get(f.Script)
	if !ok {
		panic("streamtest: a live Timeline needs a worker in the process that submits the pipeline")
	}
	from := rt.GetRestriction().(offsetrange.Restriction).Start
	for i := from; i < from+int64(f.PerBundle); i++ {
		if !rt.TryClaim(i) || i == f.Steps {
			return sdf.StopProcessing()
		}
		st := &steps[i]
		if st.elems == nil {
			w.ms = st.ms
		}
		for _, e := range st.elems {
			emit(mtime.Time(st.ms), w.ms, e)
		}
		if i == f.Steps-1 {
			w.ms = int64(mtime.MaxTimestamp)
			break
		}
	}
	return sdf.ResumeProcessingIn(0)
}

// scriptWatermark is the watermark estimator of a script.
type scriptWatermark struct{ ms int64 }

// CurrentWatermark implements sdf.WatermarkEstimator.
func (w *scriptWatermark) CurrentWatermark() time.Time {
	return mtime.Normalize(mtime.Time(w.ms)).ToTime()
}

// scriptFn is what sources of scripts have in common: their restrictions are ranges of
// steps, which are never split, and their watermark is set by the script.
type scriptFn struct{}

// SplitRestriction leaves a script whole.
func (scriptFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{r}
}

// RestrictionSize is a number of steps.
func (scriptFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker tracks steps.
func (scriptFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// InitialWatermarkEstimatorState is below every time.
func (scriptFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return math.MinInt64
}

// CreateWatermarkEstimator goes on where the last bundle was.
func (scriptFn) CreateWatermarkEstimator(ms int64) *scriptWatermark { return &scriptWatermark{ms} }

// WatermarkEstimatorState is the watermark, in ms.
func (scriptFn) WatermarkEstimatorState(w *scriptWatermark) int64 { return w.ms }
