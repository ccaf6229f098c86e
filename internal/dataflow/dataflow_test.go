package dataflow

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/google/go-cmp/cmp"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/sink"
	"tidemark/pipelines"
	"tidemark/transforms/aggregate"
	"tidemark/windowfns"
)

// sums is a pipeline of ours, of a stream.
func sums(s beam.Scope) error { return sumsOf(new(files.StreamConfig))(s) }

func sumsOf(stream *files.StreamConfig) func(beam.Scope) error {
	return pipelines.GMV{
		Source: pipelines.Source{
			Fields:         records.Fields{Key: []string{"key"}, Time: "time", TimeUnit: "ms", Amount: "amount"},
			MaxRecordBytes: 1 << 20, Files: make([]files.File, 1), Stream: stream,
		},
		Outputs: pipelines.Outputs{Rows: pipelines.Outlet{To: sink.To{ID: "rows"}}},
		Config:  aggregate.Config{Windows: windowfns.Tumbling{Size: time.Hour}},
	}.Build
}

// numbers is one that ends.
func numbers(s beam.Scope) error {
	beam.Create(s, 1, 2)
	return nil
}

// someOptions are those of a job of the name sums.
func someOptions(t *testing.T) Options {
	t.Helper()
	o, err := FromFlags(copies(t, place+"--job_name sums"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var someWorker = Worker{Path: "worker", SHA256: strings.Repeat("0f", 32)}

func TestType(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(beam.Scope) error
		want  string
	}{{"unbounded", sums, "JOB_TYPE_STREAMING"}, {"bounded", numbers, "JOB_TYPE_BATCH"}} {
		d, err := Describe(context.Background(), tt.build, false, someOptions(t), someWorker)
		if err != nil {
			t.Fatal(err)
		}
		var j sent
		if err := json.Unmarshal(d.Job, &j); err != nil {
			t.Fatal(err)
		}
		if j.Type != tt.want {
			t.Errorf("%s: type %s, want %s", tt.name, j.Type, tt.want)
		}
		if len(d.Steps) == 0 {
			t.Errorf("%s: no steps", tt.name)
		}
	}
}

// Twice the same job is the same text, though Go has its maps in any order.
func TestSameText(t *testing.T) {
	var first string
	for range 20 {
		d, err := Describe(context.Background(), sums, false, someOptions(t), someWorker)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = b.String()
		}
		if diff := cmp.Diff(first, b.String()); diff != "" {
			t.Fatalf("mismatch (-first +now):\n%s", diff)
		}
	}
}

// What breaks a rule is no job, nor is what has other names when it is built again.
func TestBroken(t *testing.T) {
	built := 0
	for _, tt := range []struct {
		name  string
		build func(beam.Scope) error
		want  string
	}{
		{"a source that never says how far it is", sumsOf(nil), "watermarks: "},
		{"a side input", func(s beam.Scope) error {
			beam.ParDo0(s, beside, beam.Create(s.Scope("a"), 1), beam.SideInput{Input: beam.Create(s.Scope("b"), 2)})
			return nil
		}, "side inputs: "},
		{"other names", func(s beam.Scope) error {
			built++
			beam.Create(s.Scope(strings.Repeat("a", built)), 1)
			return nil
		}, "names: "},
	} {
		_, err := Describe(context.Background(), tt.build, false, someOptions(t), someWorker)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Describe(context.Background(), sumsOf(nil), true, someOptions(t), someWorker); err != nil {
		t.Errorf("a source of a whole input: %v", err)
	}
}

func beside(int, func(*int) bool) {}

// A job that is not what was asked for is found out.
func TestCheckJob(t *testing.T) {
	o := someOptions(t)
	_, model, err := o.model(sums)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Describe(context.Background(), sums, false, o, someWorker)
	if err != nil {
		t.Fatal(err)
	}
	good := string(d.Job)
	for was, is := range map[string]string{
		`"JOB_TYPE_STREAMING"`:                   `"JOB_TYPE_BATCH"`,
		`"name":"sums"`:                          `"name":"other"`,
		`"projectId":"my-project"`:               `"projectId":"other"`,
		`"region":"europe-west1"`:                `"region":"other"`,
		`"gs://bucket/staging/sums/model"`:       `"gs://bucket/other"`,
		`"location":"gs://bucket/staging/sums/w`: `"location":"gs://bucket/staging/other/w`,
		`"sha256":"0f0f`:                         `"sha256":"ffff`,
		`"enable_streaming_engine"`:              `"other"`,
		`"name":"worker"`:                        `"name":"other"`,
		`"containerImage":"`:                     `"containerImage":"other`,
		`"pipelineProtoHash":"`:                  `"pipelineProtoHash":"0`,
		`"workerPools":`:                         `"other":`,
	} {
		bad := strings.Replace(good, was, is, 1)
		if bad == good {
			t.Errorf("%s is not in %s", was, good)
		} else if err := o.checkJob(json.RawMessage(bad), model, someWorker); err == nil {
			t.Errorf("%s for %s: no error", is, was)
		}
	}
	if err := o.checkJob(d.Job, model, someWorker); err != nil {
		t.Error(err)
	}
}

// said keeps what Beam logs.
type said struct{ texts []string }

func (s *said) Log(_ context.Context, _ beamlog.Severity, _ int, text string) {
	s.texts = append(s.texts, text)
}

// What Beam's own runner prints in its dry run is the same job, but for what it makes
// of the time and for the worker, which it has not built then. Without credentials it
// asks nobody.
func TestAsBeam(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none")
	const args = place + "--job_name sums --dry_run --num_workers 2 --max_num_workers 3 --machine_type n2-standard-2 --disk_size_gb 30 " +
		"--experiments beam_fn_api,other --no_use_public_ips --autoscaling_algorithm THROUGHPUT_BASED --service_account_email a@b --dataflow_kms_key k " +
		"--network n --subnetwork s --worker_zone z --labels {\"a\":\"b\"} --dataflow_service_options x,y --number_of_worker_harness_threads 4"
	if err := flag.CommandLine.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		build func(beam.Scope) error
	}{{"unbounded", sums}, {"bounded", numbers}} {
		// Ours first: Beam's leaves options in this process.
		o, err := FromFlags(flag.CommandLine)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Describe(context.Background(), tt.build, false, o, Worker{})
		if err != nil {
			t.Fatal(err)
		}
		p, s := beam.NewPipelineWithRoot()
		if err := tt.build(s); err != nil {
			t.Fatal(err)
		}
		logged := new(said)
		beamlog.SetLogger(logged)
		if _, err := beam.Run(context.Background(), "dataflow", p); err != nil {
			t.Fatal(err)
		}
		want := beamsJob(t, logged.texts[len(logged.texts)-1])
		if diff := cmp.Diff(want, beamsJob(t, string(d.Job))); diff != "" {
			t.Errorf("%s: mismatch (-Beam's +ours):\n%s", tt.name, diff)
		}
	}
}

// numbered is what Beam's runner has in the places of worker and model.
var numbered = regexp.MustCompile(`go-\d+-\d+`)

// beamsJob is a job without what differs: the numbers, the checksum of the model, and
// --dry_run among the options of the program.
func beamsJob(t *testing.T, text string) any {
	t.Helper()
	sorted, err := ordered(json.RawMessage(numbered.ReplaceAllString(text, "sums")))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var job map[string]any
	if err := json.Unmarshal(sorted, &job); err != nil {
		t.Fatal(err)
	}
	options := at(job, "environment", "sdkPipelineOptions").(map[string]any)
	delete(at(options, "options").(map[string]any), "pipelineProtoHash")
	delete(at(options, "beam:option:go_options:v1", "options").(map[string]any), "dry_run")
	options["display_data"] = slices.DeleteFunc(options["display_data"].([]any), func(v any) bool { return word(v, "key") == "dry_run" })
	return job
}
