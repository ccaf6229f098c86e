package dataflow

import (
	"flag"
	"strings"
	"testing"
)

// place are flags that say where, as a command line has to.
const place = "--project my-project --region europe-west1 --staging_location gs://bucket/staging/ "

// copies are flags like Beam's, none of which is set.
func copies(t *testing.T, args string) *flag.FlagSet {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	flag.VisitAll(func(f *flag.Flag) {
		switch v := f.Value.(type) {
		case flag.Getter:
			switch v.Get().(type) {
			case bool:
				set.Bool(f.Name, f.DefValue == "true", "")
			case int64:
				set.Int64(f.Name, 0, "")
			default:
				set.String(f.Name, f.DefValue, "")
			}
		default:
			set.String(f.Name, "", "")
		}
	})
	if err := set.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--region europe-west1 --staging_location gs://b/s", "--runner dataflow without --project, want the id of a Google Cloud project"},
		{"--project my-project --staging_location gs://b/s", "--runner dataflow without --region, want a region, as in"},
		{"--project my-project --region europe-west1", "--runner dataflow without --staging_location, want a folder in Cloud Storage"},
		{place + "--project P", "--project P, want the id of"},
		{place + "--project my-project-", "--project my-project-, want the id of"},
		{place + "--region europe", "--region europe, want a region"},
		{place + "--region europe-west1-b", "--region europe-west1-b, want a region"}, // a zone
		{place + "--staging_location bucket/staging", "--staging_location bucket/staging, want a folder in Cloud Storage"},
		{place + "--staging_location /tmp/staging", "--staging_location /tmp/staging, want a folder"},
		{place + "--staging_location s3://bucket/staging", "--staging_location s3://bucket/staging, want a folder"},
		{place + "--staging_location gs://", "--staging_location gs://, want a folder"},
		{place + "--staging_location gs:///staging", "--staging_location gs:///staging, want a folder"},
		{place + "--staging_location gs://Bucket/staging", "--staging_location gs://Bucket/staging, want a folder"},
		{place + "--temp_location /tmp", "--temp_location /tmp, want a folder in Cloud Storage, as in --temp_location gs://"},
		{place + "--temp_location=", "--temp_location is empty, want a folder"},
		{place + "--job_name My_Job", "--job_name My_Job, want small letters"},
		{place + "--job_name job-", "--job_name job-, want small letters"},

		{place + "--environment_type LOOPBACK", "--environment_type LOOPBACK with --runner dataflow, want DOCKER"},
		{place + "--environment_type PROCESS", "--environment_type PROCESS with --runner dataflow, want DOCKER"},
		{place + "--endpoint localhost:8099", "--endpoint with --runner dataflow --dry_run, want it without"},
		{place + "--async", "--async with --runner dataflow --dry_run, want one of them"},
		{place + "--execute_async", "--execute_async with --runner dataflow --dry_run, want one of them"},
		{place + "--parallelism 2", "--parallelism with --runner dataflow --dry_run, want --num_workers"},
		{place + "--zone europe-west1-b", "want --worker_zone"},
		{place + "--update", "--update with --runner dataflow --dry_run, want one of them"},
		{place + "--transform_name_mapping {}", "it is for --update"},
		{place + "--template_location gs://b/t", "a template is written"},
		{place + "--cpu_profiling gs://b/t", "profiles are written"},
		{place + "--sdk_harness_container_image_override a,b", "want --sdk_container_image"},
		{place + "--resource_hints min_ram=1GB", "--resource_hints with --runner dataflow"},
		{place + "--retain_docker_containers", "--retain_docker_containers with"},

		{place + "--sdk_container_image a --worker_harness_container_image b", "want --sdk_container_image"},
		{place + "--autoscaling_algorithm SOME", "--autoscaling_algorithm SOME, want NONE or THROUGHPUT_BASED"},
		{place + "--flexrs_goal CHEAP", "--flexrs_goal CHEAP, want FLEXRS_UNSPECIFIED or"},
		{place + "--experiments a,disable_runner_v2_until_2023", "--experiments disable_runner_v2_until_2023, want it without"},
		{place + "--use_public_ips --no_use_public_ips", "want one of them"},
		{place + "--machine_type t2a-standard-1", "--machine_type t2a-standard-1, want one of linux/amd64"},
		{place + "--labels team", "--labels team, want an object of strings"},
		{place + "--labels {\"a\":1}", "want an object of strings"},
		{place + "--num_workers -1", "num_workers (-1) cannot be negative"},
		{place + "--num_workers 3 --max_num_workers 2", "num_workers (3) cannot exceed max_num_workers (2)"},
		{place + "--worker_zone europe-west1-b --worker_region europe-west1", "mutually exclusive"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if _, err := FromFlags(copies(t, tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestFromFlags(t *testing.T) {
	const image = "gcr.io/cloud-dataflow/v1beta3/beam_go_sdk:"
	for _, tt := range []struct {
		args string
		got  func(Options) any
		want any
	}{
		{"", func(o Options) any { return o.Staging }, "gs://bucket/staging"},
		{"--staging_location gs://bucket", func(o Options) any { return o.Staging }, "gs://bucket"},
		{"", func(o Options) any { return o.Job.TempLocation }, "gs://bucket/staging/tmp"},
		{"--temp_location gs://tmp_1/x", func(o Options) any { return o.Job.TempLocation }, "gs://tmp_1/x"},
		{"--project example.com:my-project", func(o Options) any { return o.Job.Project }, "example.com:my-project"},
		{"--environment_type docker", func(o Options) any { return strings.HasPrefix(o.Job.ContainerImage, image) }, true},
		{"--environment_config a/b:1", func(o Options) any { return o.Job.ContainerImage }, "a/b:1"},
		{"--environment_config a/b:1 --sdk_container_image c/d:2", func(o Options) any { return o.Job.ContainerImage }, "c/d:2"},
		{"--worker_harness_container_image c/d:2", func(o Options) any { return o.Job.ContainerImage }, "c/d:2"},
		{"", func(o Options) any { return o.Job.NoUsePublicIPs }, false},
		{"--no_use_public_ips", func(o Options) any { return o.Job.NoUsePublicIPs }, true},
		{"--use_public_ips=false", func(o Options) any { return o.Job.NoUsePublicIPs }, true},
		{"--use_public_ips", func(o Options) any { return o.Job.NoUsePublicIPs }, false},
		{"--use_public_ips=false --no_use_public_ips", func(o Options) any { return o.Job.NoUsePublicIPs }, true},
		{"--machine_type n2-standard-2", func(o Options) any { return o.Job.MachineType }, "n2-standard-2"},
		{"--machine_type a --worker_machine_type b", func(o Options) any { return o.Job.MachineType }, "b"},
		{"--num_workers 2 --max_num_workers 3", func(o Options) any { return [2]int64{o.Job.NumWorkers, o.Job.MaxNumWorkers} }, [2]int64{2, 3}},
		{`--labels {"a":"b"}`, func(o Options) any { return o.Job.Labels["a"] }, "b"},
		{"--experiments x,y --min_cpu_platform z", func(o Options) any { return strings.Join(o.Job.Experiments, " ") }, "x y min_cpu_platform=z"},
		{"--dataflow_service_options x,y", func(o Options) any { return strings.Join(o.Job.DataflowServiceOptions, " ") }, "x y"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			o, err := FromFlags(copies(t, place+tt.args))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(o); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
