package streamtest

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn2x1[*sdf.LockRTracker, []byte, sdf.ProcessContinuation](&settleFn{})
}

// settle makes Prism wait after every step of a TestStream until its effects are
// through. Prism hands new elements to a stateful stage only when a watermark
// moves, unless it has seen a source of the job checkpoint itself; without that,
// elements that move no watermark, such as late ones, stay where they are until
// a later step does, and arrive together, in no certain order. So every job with
// a Timeline has a source that emits nothing and checkpoints itself once, before
// the first step.
func settle(s beam.Scope) {
	s = s.Scope("streamtest.settle")
	beam.ParDo0(s, &settleFn{}, beam.Impulse(s))
}

type settleFn struct{}

func (*settleFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: 2}
}

func (*settleFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{r}
}

func (*settleFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

func (*settleFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

func (*settleFn) ProcessElement(rt *sdf.LockRTracker, _ []byte) sdf.ProcessContinuation {
	at := rt.GetRestriction().(offsetrange.Restriction).Start
	if rt.TryClaim(at) && at == 0 {
		return sdf.ResumeProcessingIn(0)
	}
	return sdf.StopProcessing()
}
