package streamtest

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn4x1[*scriptWatermark, *sdf.LockRTracker, []byte, emitTimed, sdf.ProcessContinuation](&steppedFn{})
	register.Emitter2[beam.EventTime, beam.X]()
}

type emitTimed = func(beam.EventTime, beam.X)

// Progress is how far a script has been played.
type Progress struct {
	Elements    int   // how many have been emitted
	WatermarkMs int64 // math.MinInt64 if the script has set none yet
}

// stepper is a script, and who says when its steps are taken.
type stepper struct {
	steps []step
	ready func(Progress) bool
}

var steppers registry[stepper]

// Stepped plays the script on runners that have no TestStream. A splittable DoFn
// takes one step a bundle, and the next one when ready says that this has gone
// through: it is asked before each step and before the end, again and again until
// the answer is true. What it means to have gone through is for ready to find out.
//
// Ready is called within a bundle, and the bundle lasts until it returns. Meanwhile
// what earlier bundles have emitted can go on its way, and ready may wait for it a
// little. The source's watermark does not move meanwhile: runners let that of an earlier
// bundle out between bundles, and need not have done so yet. So ready must not wait for
// good, but answer false in the end; it is asked again in another bundle.
//
// Output: PCollection<T>, T being the type of the elements, in the global window.
//
// The source rests between two bundles, unless the first of them has emitted elements.
// Flink's runner cuts that to whole seconds, and less to nothing; and the watermark of
// a source that does not rest can stay where it is for ever: there it needs a second.
// Flink's runner also forgets a source that rests while its watermark is at infinity,
// so that one that rests ends there at once. One that does not makes a last
// checkpoint, which Prism needs. Watermarks are cut to whole seconds too: one in
// between is that of the second before.
//
// Stepped panics where [Timeline.TryStepped] returns an error.
func (t *Timeline) Stepped(s beam.Scope, rest time.Duration, ready func(Progress) bool) beam.PCollection {
	col, err := t.TryStepped(s, rest, ready)
	if err != nil {
		panic(err)
	}
	return col
}

// TryStepped is [Timeline.Stepped] with the error returned. Steps of processing time
// cannot be played: nobody moves the clock of a runner.
func (t *Timeline) TryStepped(s beam.Scope, rest time.Duration, ready func(Progress) bool) (beam.PCollection, error) {
	if err := t.check(); err != nil {
		return beam.PCollection{}, err
	}
	if err := t.checkClock("step by step without TestStream"); err != nil {
		return beam.PCollection{}, err
	}
	fn := &steppedFn{Script: steppers.add(stepper{t.steps, ready}), Steps: int64(len(t.steps)), Rest: rest}
	return beam.ParDo(s, fn, beam.Impulse(s), beam.TypeDefinition{Var: beam.XType, T: t.elem}), nil
}

// steppedFn reads a script as liveFn does. Behind the last step come two more
// positions: at the first of them the watermark goes to infinity, see liveFn.
type steppedFn struct {
	scriptFn
	Script int
	Steps  int64
	Rest   time.Duration
}

func (f *steppedFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Steps + 2}
}

func (f *steppedFn) ProcessElement(w *scriptWatermark, rt *sdf.LockRTracker, _ []byte, emit emitTimed) sdf.ProcessContinuation {
	script, ok := steppers.get(f.Script)
	if !ok {
		panic("streamtest: a stepped Timeline needs a worker in the process that submits the pipeline")
	}
	at := rt.GetRestriction().(offsetrange.Restriction).Start
	if at <= f.Steps && !script.ready(script.progress(at, w.ms)) {
		return sdf.ResumeProcessingIn(f.Rest)
	}
	st := step{ms: int64(mtime.MaxTimestamp)}
	if at < f.Steps {
		st = script.steps[at]
	}
	if !rt.TryClaim(at) || at > f.Steps {
		return sdf.StopProcessing()
	}
	if f.Rest > 0 && st.elems == nil && st.ms == int64(mtime.MaxTimestamp) {
		for at++; rt.TryClaim(at); at++ { // nothing can follow
		}
		return sdf.StopProcessing()
	}
	if st.elems == nil {
		w.ms = st.ms
		return sdf.ResumeProcessingIn(f.Rest)
	}
	for _, e := range st.elems {
		emit(mtime.Time(st.ms), e)
	}
	return sdf.ResumeProcessingIn(0) // the watermark is where it was
}

// progress is that before the step at.
func (sp *stepper) progress(at, watermarkMs int64) Progress {
	p := Progress{WatermarkMs: watermarkMs}
	for _, st := range sp.steps[:at] {
		p.Elements += len(st.elems)
	}
	return p
}
