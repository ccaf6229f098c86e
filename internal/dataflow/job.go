package dataflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// known are the flags that are not among the options of the program: Beam's runner
// gives the service their values otherwise. Also --dry_run, which is of no job that is
// sent.
var known = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`
		dataflow_endpoint staging_location worker_harness_container_image sdk_container_image labels
		service_account_email num_workers max_num_workers disk_size_gb disk_type disk_provisioned_iops
		disk_provisioned_throughput_mibps autoscaling_algorithm zone network subnetwork no_use_public_ips
		template_location worker_machine_type machine_type min_cpu_platform dataflow_worker_jar worker_region
		worker_zone teardown_policy cpu_profiling session_recording update transform_name_mapping

		endpoint job_name environment_type environment_config experiments async retain_docker_containers
		parallelism project region runner dry_run`) {
		m[name] = true
	}
	return m
}()

// experiments adds those that Beam's runner asks for in any job, and in a stream.
func experiments(own []string, streaming bool) []string {
	all := slices.Clone(own)
	add := func(name string) {
		if !slices.ContainsFunc(own, func(e string) bool { return strings.Contains(e, name) }) {
			all = append(all, name)
		}
	}
	for _, name := range []string{"beam_fn_api", "use_runner_v2", "use_unified_worker", "use_portable_job_submission"} {
		add(name)
	}
	if streaming {
		all = append(all, "enable_streaming_engine", "enable_windmill_service")
	}
	return all
}

// ordered is v as JSON in which nothing depends on the order of a map of Go's: members
// by name, and of the options to be shown, which Beam lists so, too.
func ordered(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return nil, err
	}
	shown, _ := at(members, "environment", "sdkPipelineOptions", "display_data").([]any)
	slices.SortStableFunc(shown, func(a, b any) int {
		return cmp.Or(cmp.Compare(word(a, "namespace"), word(b, "namespace")), cmp.Compare(word(a, "key"), word(b, "key")))
	})
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(members)
	return out.Bytes(), err
}

// at is the member of v at a path of names; nil if there is none.
func at(v any, path ...string) any {
	for _, name := range path {
		members, _ := v.(map[string]any)
		v = members[name]
	}
	return v
}

func word(v any, name string) string {
	s, _ := at(v, name).(string)
	return s
}

// sent is what checkJob reads of a job.
type sent struct {
	Name, ProjectID, Type string
	Environment           struct {
		Experiments        []string
		SDKPipelineOptions struct {
			Options struct{ PipelineURL, PipelineProtoHash, Region string }
		}
		WorkerPools []struct {
			Packages                  []struct{ Name, Location, SHA256 string }
			SDKHarnessContainerImages []struct{ ContainerImage string }
		}
	}
}

// checkJob reads a translated job again, and looks whether it says what it should.
func (o *Options) checkJob(text json.RawMessage, model *pipepb.Pipeline, w Worker) error {
	var j sent
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	var errs []error
	same := func(what, got, want string) {
		if got != want {
			errs = append(errs, fmt.Errorf("the translated job has the %s %q, want %q", what, got, want))
		}
	}
	options := j.Environment.SDKPipelineOptions.Options
	same("name", j.Name, o.Job.Name)
	same("project", j.ProjectID, o.Job.Project)
	same("region", options.Region, o.Job.Region)
	same("type", j.Type, typeOf(model))
	same("place of the model", options.PipelineURL, o.url("model"))
	if len(options.PipelineProtoHash) != 64 {
		same("checksum of the model", options.PipelineProtoHash, "a SHA-256")
	}
	if unbounded(model) && !slices.Contains(j.Environment.Experiments, "enable_streaming_engine") {
		errs = append(errs, errors.New("the translated job is a stream without the experiment enable_streaming_engine"))
	}
	same("number of pools", fmt.Sprint(len(j.Environment.WorkerPools)), "1")
	for _, pool := range j.Environment.WorkerPools {
		same("number of packages", fmt.Sprint(len(pool.Packages)), "1")
		same("number of containers", fmt.Sprint(len(pool.SDKHarnessContainerImages)), "1")
		for _, p := range pool.Packages {
			same("package", p.Name, "worker")
			same("place of the worker", p.Location, o.url("worker"))
			same("checksum of the worker", p.SHA256, w.SHA256)
		}
		for _, c := range pool.SDKHarnessContainerImages {
			same("container", c.ContainerImage, o.Job.ContainerImage)
		}
	}
	return errors.Join(errs...)
}

// typeOf is the type that a job has to have.
func typeOf(model *pipepb.Pipeline) string {
	if unbounded(model) {
		return "JOB_TYPE_STREAMING"
	}
	return "JOB_TYPE_BATCH"
}

// unbounded reports whether the pipeline has anything that need not end.
func unbounded(model *pipepb.Pipeline) bool {
	for _, c := range model.GetComponents().GetPcollections() {
		if c.GetIsBounded() == pipepb.IsBounded_UNBOUNDED {
			return true
		}
	}
	return false
}
