// Package portability checks that pipelines stay within what runners in other
// processes can do. The measure is Beam's portable Flink runner, of which Beam's
// table of capabilities says less than one would need: what a rule forbids was
// tried there and hung, failed or was lost. Nothing was tried on Dataflow.
//
// Rules look at the model of a pipeline, as runners are sent it, and some at the
// functions in it, rebuilt as a worker would. [Check] applies all of them that
// one pipeline can break; [Renamed] compares two.
//
// Not checked, because it is decided while a pipeline runs: Flink takes watermarks in
// whole seconds, and delays of sources, which lets these out only while it waits. Of
// delays the fields are looked at that say how long they are. Not checked either:
// a TestStream, which Flink plays with numbers and bools only.
package portability

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// Rule names a rule.
type Rule string

// The rules.
const (
	TimerFamilies Rule = "timer families" // at most one for each DoFn
	StateKinds    Rule = "state kinds"    // Value, Bag and Combining only
	StateWindows  Rule = "state windows"  // state and timers in the global window only
	SideInputs    Rule = "side inputs"    // none
	Finalization  Rule = "finalization"   // no callbacks when a bundle is committed
	Watermarks    Rule = "watermarks"     // sources that go on have a watermark of their own
	Pauses        Rule = "pauses"         // sources rest for whole seconds, or not at all
	Triggers      Rule = "triggers"       // no Repeat among early and late firings
	Accumulation  Rule = "accumulation"   // panes do not accumulate
	Merging       Rule = "merging"        // no windows that merge
	Functions     Rule = "functions"      // workers can rebuild all functions
	Names         Rule = "names"          // transforms have names of their own, and keep them
)

// Violation says that a transform breaks a rule.
type Violation struct {
	Rule      Rule
	Transform string // its unique name
	What      string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Transform, v.What) }

// Check applies all rules to p, and returns what breaks them in the order of the
// transforms' names. An error says that p cannot be marshalled at all.
func Check(p *beam.Pipeline) ([]Violation, error) {
	model, err := Marshal(p)
	if err != nil {
		return nil, err
	}
	found := CheckModel(model)
	lost, err := checkShipped(p, model)
	if err != nil {
		return nil, err
	}
	return sorted(append(found, lost...)), nil
}

// CheckModel applies the rules to a model that has nothing but the types of this
// process behind it.
func CheckModel(model *pipepb.Pipeline) []Violation {
	var found []Violation
	for _, st := range stepsOf(model) {
		for _, rule := range stepRules {
			found = append(found, rule(st)...)
		}
	}
	return sorted(append(found, checkUnique(model)...))
}

// Marshal is the model of p, as runners in other processes are sent it, without an
// environment.
func Marshal(p *beam.Pipeline) (*pipepb.Pipeline, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	return graphx.Marshal(edges, &graphx.Options{})
}

// step is a transform of a model that is no composite of others.
type step struct {
	*pipepb.PTransform
	parts *pipepb.Components
	parDo *pipepb.ParDoPayload // nil where it is no ParDo
}

// stepRules are the rules about one step.
var stepRules = []func(step) []Violation{
	checkTimerFamilies, checkStateKinds, checkStateWindows, checkSideInputs, checkFinalization,
	checkFunction, checkOutputs,
}

// stepsOf are the steps of a model by their names.
func stepsOf(model *pipepb.Pipeline) []step {
	var steps []step
	for _, t := range model.GetComponents().GetTransforms() {
		if len(t.GetSubtransforms()) > 0 {
			continue
		}
		st := step{PTransform: t, parts: model.GetComponents()}
		if t.GetSpec().GetUrn() == graphx.URNParDo {
			st.parDo = new(pipepb.ParDoPayload)
			if err := proto.Unmarshal(t.GetSpec().GetPayload(), st.parDo); err != nil {
				panic(fmt.Errorf("portability: the payload of %s: %w", t.GetUniqueName(), err))
			}
		}
		steps = append(steps, st)
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.GetUniqueName(), b.GetUniqueName()) })
	return steps
}

// breaks is a violation by st.
func (st step) breaks(r Rule, format string, args ...any) Violation {
	return Violation{Rule: r, Transform: st.GetUniqueName(), What: fmt.Sprintf(format, args...)}
}

func sorted(vs []Violation) []Violation {
	slices.SortStableFunc(vs, func(a, b Violation) int { return cmp.Compare(a.Transform, b.Transform) })
	return vs
}
