package dataflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	"google.golang.org/protobuf/proto"

	"tidemark/internal/portability"
)

// Description is a job as the service would be asked to create it.
type Description struct {
	// Job is the body of the request, with the members of objects in their order.
	Job json.RawMessage `json:"job"`

	// Steps are the names of the transforms that do something, sorted: those that are
	// no composites of others. They are in the model that the job names, not in it.
	Steps []string `json:"steps"`

	Worker Worker `json:"worker"`
}

// Describe makes the job of the pipeline that build builds, and checks it. It builds
// it twice, to see that its steps are called the same. Whole says that the pipeline
// reads inputs that are whole: nothing is to fire before their end, and its sources
// need no watermark.
func Describe(ctx context.Context, build func(beam.Scope) error, whole bool, o Options, w Worker) (*Description, error) {
	p, model, err := o.model(build)
	if err != nil {
		return nil, err
	}
	_, again, err := o.model(build)
	if err != nil {
		return nil, err
	}
	broken, err := portability.Check(p)
	if err != nil {
		return nil, err
	}
	broken = append(broken, portability.Renamed(model, again)...)
	if err := asError(broken, whole); err != nil {
		return nil, err
	}
	job, err := o.translate(ctx, p, model, w)
	if err != nil {
		return nil, err
	}
	d := &Description{Steps: stepsOf(model), Worker: w}
	if d.Job, err = ordered(job); err != nil {
		return nil, err
	}
	return d, o.checkJob(d.Job, model, w)
}

// model builds a pipeline and is its model, with the container for its workers.
func (o *Options) model(build func(beam.Scope) error) (*beam.Pipeline, *pipepb.Pipeline, error) {
	p, s := beam.NewPipelineWithRoot()
	if err := build(s); err != nil {
		return nil, nil, err
	}
	edges, _, err := p.Build()
	if err != nil {
		return nil, nil, err
	}
	env, err := graphx.CreateEnvironment(context.Background(), graphx.URNEnvDocker, func(context.Context) string { return o.Job.ContainerImage })
	if err != nil {
		return nil, nil, err
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
	if err != nil {
		return nil, nil, err
	}
	return p, model, steady(model)
}

// steady puts the payloads of model into the one order of bytes that does not change:
// Beam's, with states by name in them, are in another one each time.
func steady(model *pipepb.Pipeline) error {
	for _, t := range model.GetComponents().GetTransforms() {
		if t.GetSpec().GetUrn() != graphx.URNParDo {
			continue
		}
		var p pipepb.ParDoPayload
		if err := proto.Unmarshal(t.GetSpec().GetPayload(), &p); err != nil {
			return err
		}
		payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(&p)
		if err != nil {
			return err
		}
		t.Spec.Payload = payload
	}
	return nil
}

// asError is an error that tells of all that breaks a rule.
func asError(broken []portability.Violation, whole bool) error {
	var errs []error
	for _, v := range broken {
		if v.Rule != portability.Watermarks || !whole {
			errs = append(errs, errors.New(v.String()))
		}
	}
	return errors.Join(errs...)
}

// translate is the job as Beam makes it, when the worker would be staged. What it
// is of type does not matter: it goes to the service as JSON.
func (o *Options) translate(ctx context.Context, p *beam.Pipeline, model *pipepb.Pipeline, w Worker) (any, error) {
	_, nodes, err := p.Build()
	if err != nil {
		return nil, err
	}
	if w.Path != "" {
		payload, err := proto.Marshal(&pipepb.ArtifactUrlPayload{Url: o.url("worker"), Sha256: w.SHA256})
		if err != nil {
			return nil, err
		}
		if err := graphx.UpdateDefaultEnvWorkerType(graphx.URNArtifactURLType, payload, model); err != nil {
			return nil, err
		}
	}
	sent, err := proto.MarshalOptions{Deterministic: true}.Marshal(model)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(sent)
	job := o.Job
	job.Streaming = !graph.Bounded(nodes)
	job.Experiments = experiments(job.Experiments, job.Streaming)
	job.WorkerHash = w.SHA256
	job.Options = programOptions()
	return dataflowlib.Translate(ctx, model, &job, o.url("worker"), o.url("model"), hex.EncodeToString(sum[:]))
}

// programOptions are the options that workers get of the program: those that it has set
// itself, and flags.
func programOptions() runtime.RawOptions {
	hooks.SerializeHooksToOptions()
	set := beam.PipelineOptions.Export()
	given := runtime.NewOptions() // nobody else is to find them there
	given.LoadOptionsFromFlags(known)
	all := given.Export()
	maps.Copy(all.Options, set.Options)
	return all
}

// url is where the worker or the model would be staged. Beam's runner puts the time
// where the name of the job is here.
func (o *Options) url(name string) string { return o.Staging + "/" + o.Job.Name + "/" + name }

// stepsOf are the names of the transforms that are no composites.
func stepsOf(model *pipepb.Pipeline) []string {
	names := map[string]bool{}
	for _, t := range model.GetComponents().GetTransforms() {
		if len(t.GetSubtransforms()) == 0 {
			names[t.GetUniqueName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Write writes d as one JSON object, indented.
func (d *Description) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("writing the job: %w", err)
	}
	return nil
}
