package portability

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/google/go-cmp/cmp"
)

func goodState() *goodStateFn {
	return &goodStateFn{
		Value: state.MakeValueState[int]("value"),
		Bag:   state.MakeBagState[[]byte]("bag"),
		Sum:   state.MakeCombiningState[int, int, int]("sum", &sumFn{}),
		Timer: timers.InEventTime("timer"),
	}
}

// fixed puts col into windows of a minute.
func fixed(s beam.Scope, col beam.PCollection, opts ...beam.WindowIntoOption) beam.PCollection {
	return beam.WindowInto(s, window.NewFixedWindows(time.Minute), col, opts...)
}

// Each rule catches what it is for, and nothing else does.
func TestRules(t *testing.T) {
	twice := trigger.Repeat(trigger.AfterCount(2))
	for _, tt := range []struct {
		name  string
		build func(s beam.Scope, pairs beam.PCollection)
		want  []string // the beginnings of violations
	}{
		{name: "what runners can do", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, goodState(), pairs)
			beam.ParDo0(s, &goodSourceFn{}, beam.Impulse(s))
			beam.ParDo0(s, &restingSourceFn{pause: pause{2 * time.Second}}, beam.Impulse(s))
			beam.ParDo0(s, &batchSourceFn{}, beam.Impulse(s))
			beam.Reshuffle(s, pairs)
			beam.CoGroupByKey(s, pairs, pairs)
			end := trigger.AfterEndOfWindow().EarlyFiring(trigger.AfterCount(2)).LateFiring(trigger.AfterCount(1))
			beam.GroupByKey(s, fixed(s, pairs, beam.Trigger(end), beam.PanesDiscard()))
			beam.GroupByKey(s, fixed(s, pairs, beam.Trigger(twice), beam.PanesDiscard()))
		}},
		{name: "two timer families", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &twoFamiliesFn{timers.InEventTime("a"), timers.InProcessingTime("b")}, pairs)
		}, want: []string{`timer families: portability.twoFamiliesFn: has the timer families "a", "b", want one`}},
		{name: "maps", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &mapFn{state.MakeMapState[string, int]("m")}, pairs)
		}, want: []string{`state kinds: portability.mapFn: has Map state "m"`}},
		{name: "sets", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &setFn{state.MakeSetState[string]("s")}, pairs)
		}, want: []string{`state kinds: portability.setFn: has Set state "s"`}},
		{name: "ordered lists", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &orderedFn{state.MakeOrderedListState[int]("l")}, pairs)
		}, want: []string{`state kinds: portability.orderedFn: has OrderedList state "l"`}},
		{name: "state in windows", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, goodState(), fixed(s, pairs))
		}, want: []string{`state windows: portability.goodStateFn: has state or timers in windows of beam:window_fn:fixed_windows:v1`}},
		{name: "a side input of structs", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, besideRows, pairs, beam.SideInput{Input: beam.Create(s, row{"a"})})
		}, want: []string{`side inputs: portability.besideRows: has the side input i1, of structs, which Flink`}},
		{name: "a side input of numbers", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, besideNumbers, pairs, beam.SideInput{Input: beam.Create(s, 1)})
		}, want: []string{`side inputs: portability.besideNumbers: has the side input i1, of values, want none`}},
		{name: "bundle finalization", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &finalFn{}, pairs)
		}, want: []string{`finalization: portability.finalFn: wants bundles finalized`}},
		{name: "a source without a watermark", build: func(s beam.Scope, _ beam.PCollection) {
			beam.ParDo0(s, &silentSourceFn{}, beam.Impulse(s))
		}, want: []string{`watermarks: portability.silentSourceFn: checkpoints itself without a CreateWatermarkEstimator`}},
		{name: "a source that forgets its watermark", build: func(s beam.Scope, _ beam.PCollection) {
			beam.ParDo0(s, &forgetfulSourceFn{}, beam.Impulse(s))
		}, want: []string{`watermarks: portability.forgetfulSourceFn: has a watermark without a WatermarkEstimatorState`}},
		{name: "a source that rests for less than a second", build: func(s beam.Scope, _ beam.PCollection) {
			beam.ParDo0(s, &restingSourceFn{pause: pause{1300 * time.Millisecond}}, beam.Impulse(s))
		}, want: []string{`pauses: portability.restingSourceFn: has a Pause of 1.3s, want whole seconds or 0`}},
		{name: "early firings that repeat", build: func(s beam.Scope, pairs beam.PCollection) {
			fixed(s, pairs, beam.Trigger(trigger.AfterEndOfWindow().EarlyFiring(twice)), beam.PanesDiscard())
		}, want: []string{`triggers: WindowInto: has a Repeat among the early or late firings of output i0`}},
		{name: "late firings that repeat in another trigger", build: func(s beam.Scope, pairs beam.PCollection) {
			late := trigger.AfterEndOfWindow().LateFiring(trigger.AfterAny([]trigger.Trigger{trigger.AfterCount(1), twice}))
			fixed(s, pairs, beam.Trigger(trigger.Repeat(late)), beam.PanesDiscard())
		}, want: []string{`triggers: WindowInto: has a Repeat among the early or late firings of output i0`}},
		{name: "panes that accumulate", build: func(s beam.Scope, pairs beam.PCollection) {
			// The step behind it has the same windows and is not to blame.
			beam.GroupByKey(s, fixed(s, pairs, beam.Trigger(twice), beam.PanesAccumulate()))
		}, want: []string{`accumulation: WindowInto: has panes of output i0 that are ACCUMULATING`}},
		{name: "windows that merge", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.WindowInto(s, window.NewSessions(time.Minute), pairs)
		}, want: []string{`merging: WindowInto: has output i0 in windows of beam:window_fn:session_windows:v1`}},
		{name: "a field that does not travel", build: func(s beam.Scope, pairs beam.PCollection) {
			beam.ParDo0(s, &secretFn{limit: 3}, pairs)
		}, want: []string{`functions: portability.secretFn: changes on its way to a worker`}},
		{name: "a function that is not registered", build: func(s beam.Scope, _ beam.PCollection) {
			beam.ParDo(s, unknownPairOf, beam.Create(s, 1))
		}, want: []string{`functions: all: has what is not registered: runtime.RegisterFunction(`, `functions: portability.unknownPairOf: cannot be rebuilt by a worker`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			tt.build(s, beam.ParDo(s.Scope("pairs"), pairOf, beam.Create(s.Scope("numbers"), 1, 2)))
			found, err := Check(p)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range found {
				if text := v.String(); i >= len(tt.want) || !strings.HasPrefix(text, tt.want[i]) {
					t.Errorf("violation: %v", v)
				}
			}
			if len(found) < len(tt.want) {
				t.Errorf("%d violations, want %q", len(found), tt.want)
			}
		})
	}
}

// model has transforms of the given names, by their ids.
func model(names map[string]string) *pipepb.Pipeline {
	parts := &pipepb.Components{Transforms: make(map[string]*pipepb.PTransform)}
	for id, name := range names {
		parts.Transforms[id] = &pipepb.PTransform{UniqueName: name}
	}
	return &pipepb.Pipeline{Components: parts}
}

func TestUniqueNames(t *testing.T) {
	got := CheckModel(model(map[string]string{"e1": "a", "e2": "b", "e3": "a"}))
	want := []Violation{{Names, "a", "is the name of several transforms: runners that update a job cannot tell them apart"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestRenamed(t *testing.T) {
	before := model(map[string]string{"e1": "gate", "e2": "fold 1m"})
	if got := Renamed(before, model(map[string]string{"e7": "fold 1m", "e2": "gate"})); len(got) > 0 {
		t.Errorf("the same names in other places: %v", got)
	}
	got := Renamed(before, model(map[string]string{"e1": "gate", "e2": "fold 2m"}))
	want := []Violation{
		{Names, "fold 1m", "is gone: a job that is updated would lose its state"},
		{Names, "fold 2m", "is new: a job that is updated has no state for it"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
