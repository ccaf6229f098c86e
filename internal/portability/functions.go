package portability

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	v1pb "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/vet"
	"github.com/google/go-cmp/cmp"
)

// checkFunction rebuilds the function of a ParDo, as a worker does, and looks at
// its watermark and its pauses.
//
// Watermarks: without an estimator a source that checkpoints itself says nothing
// of its watermark, and Flink leaves it at the beginning of time until the source
// ends. An estimator without state starts anew with each bundle.
//
// Pauses: Flink cuts a delay to whole seconds.
func checkFunction(st step) []Violation {
	fn, err := st.doFn()
	switch {
	case err != nil:
		return []Violation{st.breaks(Functions, "cannot be rebuilt by a worker: %v", err)}
	case fn == nil || !fn.IsSplittable():
		return nil
	}
	if _, goesOn := fn.ProcessElementFn().ProcessContinuation(); !goesOn {
		return nil // it is done when it has processed its element
	}
	found := st.checkPauses(fn.Recv)
	switch sdf := (*graph.SplittableDoFn)(fn); {
	case !sdf.IsWatermarkEstimating():
		return append(found, st.breaks(Watermarks, "checkpoints itself without a CreateWatermarkEstimator: on Flink nothing behind it fires until it ends"))
	case !sdf.IsStatefulWatermarkEstimating():
		return append(found, st.breaks(Watermarks, "has a watermark without a WatermarkEstimatorState: it is lost with each checkpoint"))
	}
	return found
}

// checkPauses looks at the fields of a source that say how long it rests.
func (st step) checkPauses(source any) (found []Violation) {
	v := reflect.Indirect(reflect.ValueOf(source))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Name != "Pause" && f.Name != "Rest" || f.Type != reflect.TypeFor[time.Duration]() {
			continue
		}
		if pause := time.Duration(v.FieldByIndex(f.Index).Int()); pause%time.Second != 0 {
			found = append(found, st.breaks(Pauses, "has a %s of %v, want whole seconds or 0", f.Name, pause))
		}
	}
	return found
}

// doFn is the function of a ParDo of ours, and nil for other steps.
func (st step) doFn() (*graph.DoFn, error) {
	if st.parDo.GetDoFn().GetUrn() != graphx.URNDoFn {
		return nil, nil
	}
	var payload v1pb.TransformPayload
	if err := protox.DecodeBase64(string(st.parDo.GetDoFn().GetPayload()), &payload); err != nil {
		return nil, err
	}
	op, fn, _, _, _, err := graphx.DecodeMultiEdge(payload.GetEdge())
	if err != nil || op != graph.ParDo {
		return nil, err
	}
	return graph.AsDoFn(fn, graph.MainUnknown)
}

// checkShipped finds functions that a worker in another process would not have, or
// not with the same values: a DoFn travels as JSON, which has its exported fields
// only.
func checkShipped(p *beam.Pipeline, model *pipepb.Pipeline) ([]Violation, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, edge := range edges {
		if edge.Op != graph.ParDo || edge.DoFn.Recv == nil {
			continue // it has nothing that could be lost
		}
		got, err := travelled(edge)
		if err != nil {
			continue // checkFunction says so
		}
		if diff := cmp.Diff(edge.DoFn.Recv, got, asSent); diff != "" {
			name := model.GetComponents().GetTransforms()[fmt.Sprintf("e%d", edge.ID())].GetUniqueName()
			found = append(found, Violation{Functions, name, "changes on its way to a worker, want exported fields (-here +there):\n" + diff})
		}
	}
	eval, err := vet.Evaluate(context.Background(), p)
	switch {
	case err != nil:
		return nil, err
	case !eval.Performant():
		found = append(found, Violation{Functions, "all", "has what is not registered: " + strings.Join(missing(eval), ", ")})
	}
	return found, nil
}

// missing are the registrations that Beam would add, as it writes them.
func missing(eval *vet.Eval) []string {
	eval.Generate("main")
	var calls []string
	for line := range strings.Lines(string(eval.Bytes())) {
		if strings.Contains(line, "Register") {
			calls = append(calls, strings.TrimSpace(line))
		}
	}
	return calls
}

// travelled is the receiver of a DoFn as a worker has it.
func travelled(edge *graph.MultiEdge) (any, error) {
	sent, err := graphx.EncodeMultiEdge(edge)
	if err != nil {
		return nil, err
	}
	_, fn, _, _, _, err := graphx.DecodeMultiEdge(sent)
	if err != nil {
		return nil, err
	}
	return fn.Recv, nil
}

// asSent compares the receivers of DoFns: all fields, those that do not travel too.
var asSent = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b reflect.Type) bool { return a == b }),
	cmp.Comparer(func(a, b reflectx.Func) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.Name() == b.Name()
	}),
	// The function of a Combining state travels with the state, not with the DoFn.
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".combineFn" }, cmp.Ignore()),
}
