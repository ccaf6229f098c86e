package portability

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// urnRow is the coder of structs.
const urnRow = "beam:coder:row:v1"

// checkTimerFamilies: Flink says once for each family that a bundle has no more
// timers, and Beam's Go workers wait for one such word for all timers of a DoFn.
// With two families some bundles never end. One family with tags does as much.
func checkTimerFamilies(st step) []Violation {
	families := st.parDo.GetTimerFamilySpecs()
	if len(families) < 2 {
		return nil
	}
	return []Violation{st.breaks(TimerFamilies, "has the timer families %s, want one, with tags: bundles of several can hang on Flink", names(families))}
}

// checkStateKinds: Flink's portable runner knows bags, and what Beam's Go workers
// keep in bags: Value and Combining.
func checkStateKinds(st step) []Violation {
	var found []Violation
	states := st.parDo.GetStateSpecs()
	for _, name := range slices.Sorted(maps.Keys(states)) {
		kind := ""
		switch states[name].GetSpec().(type) {
		case *pipepb.StateSpec_ReadModifyWriteSpec, *pipepb.StateSpec_BagSpec, *pipepb.StateSpec_CombiningSpec:
			continue
		case *pipepb.StateSpec_MapSpec:
			kind = "Map"
		case *pipepb.StateSpec_SetSpec:
			kind = "Set"
		case *pipepb.StateSpec_OrderedListSpec:
			kind = "OrderedList"
		default:
			kind = "an unknown kind of"
		}
		found = append(found, st.breaks(StateKinds, "has %s state %q, want Value, Bag or Combining: Flink has no other", kind, name))
	}
	return found
}

// checkStateWindows: state of a window is freed at its end and the input's allowed
// lateness, by the runner's clock. Where windows are data, that must not be.
func checkStateWindows(st step) []Violation {
	if len(st.parDo.GetStateSpecs()) == 0 && len(st.parDo.GetTimerFamilySpecs()) == 0 {
		return nil
	}
	var found []Violation
	for _, in := range slices.Sorted(maps.Keys(st.GetInputs())) {
		urn := st.windowing(st.GetInputs()[in]).GetWindowFn().GetUrn()
		if _, side := st.parDo.GetSideInputs()[in]; !side && urn != graphx.URNGlobalWindowsWindowFn {
			found = append(found, st.breaks(StateWindows, "has state or timers in windows of %s, want the global window", urn))
		}
	}
	return found
}

// checkSideInputs: Flink fails on an unbounded side input of structs, for ever, and
// one that is bounded is a barrier in a stream. What is a side input can be a value
// of the DoFn, or state.
func checkSideInputs(st step) []Violation {
	var found []Violation
	for _, in := range slices.Sorted(maps.Keys(st.parDo.GetSideInputs())) {
		of := "values"
		if st.hasRows(st.parts.GetPcollections()[st.GetInputs()[in]].GetCoderId()) {
			of = "structs, which Flink cannot take in a stream"
		}
		found = append(found, st.breaks(SideInputs, "has the side input %s, of %s, want none", in, of))
	}
	return found
}

// checkFinalization: in batch Flink refuses it, and in a stream it called back
// after the first checkpoint only.
func checkFinalization(st step) []Violation {
	if !st.parDo.GetRequestsFinalization() {
		return nil
	}
	return []Violation{st.breaks(Finalization, "wants bundles finalized, which Flink does not do")}
}

// windowing is the strategy of a collection.
func (st step) windowing(collection string) *pipepb.WindowingStrategy {
	return st.parts.GetWindowingStrategies()[st.parts.GetPcollections()[collection].GetWindowingStrategyId()]
}

// hasRows reports whether the coder is one of structs, or has one in it.
func (st step) hasRows(coder string) bool {
	c := st.parts.GetCoders()[coder]
	return c.GetSpec().GetUrn() == urnRow || slices.ContainsFunc(c.GetComponentCoderIds(), st.hasRows)
}

// names lists the keys of m in quotes.
func names[V any](m map[string]V) string {
	return `"` + strings.Join(slices.Sorted(maps.Keys(m)), `", "`) + `"`
}
