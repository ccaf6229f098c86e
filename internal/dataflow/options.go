package dataflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow" // defines the flags
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
)

// Options are what a job is made of, beside its pipeline.
type Options struct {
	// Job are Beam's, without what depends on the pipeline or the worker.
	Job dataflowlib.JobOptions

	// Staging is the folder in Cloud Storage that worker and model would go to,
	// without a slash at its end.
	Staging string
}

// defaultImage is the container that Beam's runner has workers in unless a flag names
// another one.
const defaultImage = "gcr.io/cloud-dataflow/v1beta3/beam_go_sdk:" + core.SdkVersion

// FromFlags are the options that Beam's flags in set ask for. An error names the flag,
// what it was given and what is wanted.
func FromFlags(set *flag.FlagSet) (Options, error) {
	f := flags{set}
	for _, check := range []func() error{f.checkRefused, f.checkPlace, f.checkImage, f.checkChoices, f.checkMachines} {
		if err := check(); err != nil {
			return Options{}, err
		}
	}
	o := Options{Staging: strings.TrimRight(f.text("staging_location"), "/")}
	var err error
	if o.Job, err = f.job(); err != nil {
		return Options{}, err
	}
	if o.Job.TempLocation == "" {
		o.Job.TempLocation = o.Staging + "/tmp"
	}
	// What Beam checks is in its translation, and of the flags alone.
	trial := o.Job
	if _, err := dataflowlib.Translate(context.Background(), new(pipepb.Pipeline), &trial, "", "", ""); err != nil {
		return Options{}, fmt.Errorf("--runner dataflow: %w", err)
	}
	return o, nil
}

// flags reads flags of Beam's, which its runner has in variables of its own.
type flags struct{ set *flag.FlagSet }

func (f flags) text(name string) string  { return f.set.Lookup(name).Value.String() }
func (f flags) number(name string) int64 { return f.set.Lookup(name).Value.(flag.Getter).Get().(int64) }
func (f flags) on(name string) bool      { return f.text(name) == "true" }

func (f flags) given(name string) (set bool) {
	f.set.Visit(func(g *flag.Flag) { set = set || g.Name == name })
	return set
}

// refused are the flags that a job for Dataflow cannot have here, and why.
var refused = []struct{ name, why string }{
	{"endpoint", "want it without: there is no job server, and --dataflow_endpoint is for another address of the service"},
	{"async", "want one of them: nothing is sent that could be waited for"},
	{"execute_async", "want one of them: nothing is sent that could be waited for"},
	{"parallelism", "want --num_workers or --max_num_workers: Dataflow does not know it"},
	{"retain_docker_containers", "want it without: Dataflow does not know it"},
	{"zone", "want --worker_zone, which has taken its place"},
	{"update", "want one of them: the job that is to be replaced has to be looked up in the service"},
	{"transform_name_mapping", "want one of them: it is for --update"},
	{"template_location", "want one of them: a template is written to Cloud Storage"},
	{"sdk_harness_container_image_override", "want --sdk_container_image: there is one container"},
	{"resource_hints", "want --machine_type and its like: hints are for steps, and no step has any"},
	{"cpu_profiling", "want one of them: profiles are written to Cloud Storage"},
}

func (f flags) checkRefused() error {
	for _, r := range refused {
		if f.given(r.name) {
			return fmt.Errorf("--%s with --runner dataflow --dry_run, %s", r.name, r.why)
		}
	}
	if kind := f.text("environment_type"); kind != "" && !strings.EqualFold(kind, "DOCKER") {
		return fmt.Errorf("--environment_type %s with --runner dataflow, want DOCKER, the default there: workers are containers on Dataflow's machines", kind)
	}
	return nil
}

// Forms of names, as the service has them.
var (
	projectForm = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	regionForm  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`)
	bucketForm  = regexp.MustCompile(`^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[^\s?#]*)?$`)
	jobForm     = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// checkPlace checks where the job is to run, and what it is called.
func (f flags) checkPlace() error {
	for _, p := range []struct {
		name     string
		required bool
		form     *regexp.Regexp
		want     string
	}{
		{"project", true, projectForm, "the id of a Google Cloud project, as in --project my-project-1: small letters, digits and dashes, 6 to 30"},
		{"region", true, regionForm, "a region, as in --region europe-west1"},
		{"staging_location", true, bucketForm, "a folder in Cloud Storage, as in --staging_location gs://bucket/staging"},
		{"temp_location", false, bucketForm, "a folder in Cloud Storage, as in --temp_location gs://bucket/tmp"},
		{"job_name", false, jobForm, "small letters, digits and dashes, a letter first, no dash last"},
	} {
		switch value := f.text(p.name); {
		case value == "" && p.required:
			return fmt.Errorf("--runner dataflow without --%s, want %s", p.name, p.want)
		case value == "" && f.given(p.name):
			return fmt.Errorf("--%s is empty, want %s", p.name, p.want)
		case value != "" && !p.form.MatchString(value):
			return fmt.Errorf("--%s %s, want %s", p.name, value, p.want)
		}
	}
	return nil
}

func (f flags) checkImage() error {
	if a, b := "worker_harness_container_image", "sdk_container_image"; f.text(a) != "" && f.text(b) != "" {
		return fmt.Errorf("--%s and --%s together, want --%s: the other one is its old name", a, b, b)
	}
	return nil
}

// image is the container that workers run in.
func (f flags) image() string {
	image := cmp.Or(f.text("worker_harness_container_image"), f.text("sdk_container_image"))
	if config := f.text("environment_config"); image == "" && config != core.DefaultDockerImage {
		image = config
	}
	return cmp.Or(image, defaultImage)
}

// choices are the flags that take one of some words.
var choices = []struct {
	name  string
	words []string
}{
	{"autoscaling_algorithm", []string{"NONE", "THROUGHPUT_BASED"}},
	{"flexrs_goal", []string{"FLEXRS_UNSPECIFIED", "FLEXRS_SPEED_OPTIMIZED", "FLEXRS_COST_OPTIMIZED"}},
}

func (f flags) checkChoices() error {
	for _, c := range choices {
		if value := f.text(c.name); value != "" && !slices.Contains(c.words, value) {
			return fmt.Errorf("--%s %s, want %s", c.name, value, strings.Join(c.words, " or "))
		}
	}
	for _, e := range strings.Split(f.text("experiments"), ",") {
		for _, old := range []string{"disable_runner_v2", "disable_prime_runner_v2", "disable_portable_runner", "enable_streaming_java_runner"} {
			if strings.HasPrefix(e, old) {
				return fmt.Errorf("--experiments %s, want it without: Go pipelines have no other runner", e)
			}
		}
	}
	return nil
}

func (f flags) checkMachines() error {
	if f.given("use_public_ips") && f.given("no_use_public_ips") && f.on("use_public_ips") == f.on("no_use_public_ips") {
		return errors.New("--use_public_ips and --no_use_public_ips say the opposite of each other, want one of them")
	}
	if m := f.machine(); strings.HasPrefix(m, "t2a-") {
		return fmt.Errorf("--machine_type %s, want one of %s: that one is of another processor", m, platform)
	}
	return nil
}

// machine is the type of the workers' machines.
func (f flags) machine() string { return cmp.Or(f.text("worker_machine_type"), f.text("machine_type")) }

// privateIPs reports whether workers have no public addresses.
func (f flags) privateIPs() bool {
	if f.given("use_public_ips") && !f.given("no_use_public_ips") {
		return !f.on("use_public_ips")
	}
	return f.on("no_use_public_ips")
}

// job are Beam's options for a job, as its runner takes them from the flags.
func (f flags) job() (dataflowlib.JobOptions, error) {
	j := dataflowlib.JobOptions{
		Name:    f.text("job_name"),
		Project: f.text("project"),
		Region:  f.text("region"),

		WorkerRegion:   f.text("worker_region"),
		WorkerZone:     f.text("worker_zone"),
		KmsKey:         f.text("dataflow_kms_key"),
		Network:        f.text("network"),
		Subnetwork:     f.text("subnetwork"),
		NoUsePublicIPs: f.privateIPs(),

		NumWorkers:                     f.number("num_workers"),
		MaxNumWorkers:                  f.number("max_num_workers"),
		WorkerHarnessThreads:           f.number("number_of_worker_harness_threads"),
		MachineType:                    f.machine(),
		DiskSizeGb:                     f.number("disk_size_gb"),
		DiskType:                       f.text("disk_type"),
		DiskProvisionedIops:            f.number("disk_provisioned_iops"),
		DiskProvisionedThroughputMibps: f.number("disk_provisioned_throughput_mibps"),
		Algorithm:                      f.text("autoscaling_algorithm"),
		FlexRSGoal:                     f.text("flexrs_goal"),
		TeardownPolicy:                 f.text("teardown_policy"),

		ServiceAccountEmail: f.text("service_account_email"),
		TempLocation:        f.text("temp_location"),
		ContainerImage:      f.image(),
	}
	if text := f.text("dataflow_service_options"); text != "" {
		j.DataflowServiceOptions = strings.Split(text, ",")
	}
	if text := f.text("labels"); text != "" {
		if err := json.Unmarshal([]byte(text), &j.Labels); err != nil {
			return j, fmt.Errorf(`--labels %s, want an object of strings, as in '{"team":"a"}'`, text)
		}
	}
	if text := f.text("experiments"); text != "" {
		j.Experiments = strings.Split(text, ",")
	}
	if text := f.text("min_cpu_platform"); text != "" {
		j.Experiments = append(j.Experiments, "min_cpu_platform="+text)
	}
	return j, nil
}
