package portability

import (
	"maps"
	"slices"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// checkOutputs checks the windowing of what a step puts out.
//
// Triggers: firings before and after the end of a window repeat by themselves, and
// Flink wants a trigger there that fires once; a Repeat fails the job when it is
// submitted.
//
// Accumulation: what panes repeat, each consumer has to take back. Runners differ
// in which panes there are.
//
// Merging: Beam's Go workers do not merge windows of their own, and the runners
// that do it for them forget what was late; sessions are data.
func checkOutputs(st step) []Violation {
	var found []Violation
	for _, out := range slices.Sorted(maps.Keys(st.GetOutputs())) {
		if ws := st.windowing(st.GetOutputs()[out]); !st.inherits(ws) {
			found = append(found, st.checkWindowing(out, ws)...)
		}
	}
	return found
}

// inherits reports whether an input has the strategy too: it is the step that sets
// one that is to blame.
func (st step) inherits(ws *pipepb.WindowingStrategy) bool {
	for _, in := range st.GetInputs() {
		if st.windowing(in) == ws {
			return true
		}
	}
	return false
}

func (st step) checkWindowing(out string, ws *pipepb.WindowingStrategy) []Violation {
	var found []Violation
	if repeats(ws.GetTrigger(), false) {
		found = append(found, st.breaks(Triggers, "has a Repeat among the early or late firings of output %s, want the trigger alone: it repeats by itself, and Flink refuses a Repeat", out))
	}
	switch ws.GetAccumulationMode() {
	case pipepb.AccumulationMode_DISCARDING, pipepb.AccumulationMode_UNSPECIFIED:
	default:
		found = append(found, st.breaks(Accumulation, "has panes of output %s that are %v, want them discarded", out, ws.GetAccumulationMode()))
	}
	if ws.GetMergeStatus() != pipepb.MergeStatus_NON_MERGING {
		found = append(found, st.breaks(Merging, "has output %s in windows of %s, want windows that do not merge", out, ws.GetWindowFn().GetUrn()))
	}
	return found
}

// repeats reports whether there is a Repeat in t, among early and late firings.
func repeats(t *pipepb.Trigger, among bool) bool {
	any := func(among bool, ts ...*pipepb.Trigger) bool {
		return slices.ContainsFunc(ts, func(t *pipepb.Trigger) bool { return repeats(t, among) })
	}
	switch t := t.GetTrigger().(type) {
	case *pipepb.Trigger_Repeat_:
		return among || any(false, t.Repeat.GetSubtrigger())
	case *pipepb.Trigger_AfterEndOfWindow_:
		return any(true, t.AfterEndOfWindow.GetEarlyFirings(), t.AfterEndOfWindow.GetLateFirings())
	case *pipepb.Trigger_AfterAll_:
		return any(among, t.AfterAll.GetSubtriggers()...)
	case *pipepb.Trigger_AfterAny_:
		return any(among, t.AfterAny.GetSubtriggers()...)
	case *pipepb.Trigger_AfterEach_:
		return any(among, t.AfterEach.GetSubtriggers()...)
	case *pipepb.Trigger_OrFinally_:
		return any(among, t.OrFinally.GetMain(), t.OrFinally.GetFinally())
	default:
		return false
	}
}
