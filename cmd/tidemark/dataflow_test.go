package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dataflowJobs are commands with all their outputs, by name; with --stream each is
// another job.
var dataflowJobs = map[string]string{
	"gmv":     "gmv --input in.ndjson --window 1m",
	"average": "average --input in.ndjson --window 2m --every 1m",
	"join":    "join --left in.ndjson --right in.ndjson --lower 0s --upper 1s --type full",
}

// otherValues are flags with values that names of steps must not depend on.
var otherValues = map[string]string{
	"gmv":     "gmv --input other.csv --window 2h --window_offset 5m --key_field shop.secret --time_unit s --shards 7 --max_record_bytes 9999",
	"average": "average --input other.csv --window 24h --every 5m --value_field shop.secret --shards 7",
	"join":    "join --left other.csv --right in.ndjson --lower -1h --upper 9h --type full --key_field shop.secret --shards 7 --max_rows_per_key 99",
}

const (
	dataflowOutputs = " --output rows.ndjson --late_output late.csv --bad_output bad.ndjson"
	otherOutputs    = " --output other_rows.csv --late_output other_late.ndjson --bad_output other_bad.csv"
	dataflowPlace   = " --runner dataflow --dry_run --project my-project --region europe-west1 --staging_location gs://bucket/staging"
	otherPlace      = " --runner DataflowRunner --dry_run --project secret-project --region us-central1 --staging_location gs://secret/x --job_name secret-job"
)

// dataflowInputs makes a folder with inputs, outputs of earlier runs and a worker.
func dataflowInputs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "in.ndjson", clusterInput)
	write(t, dir, "other.csv", "key,time\na,1\n")
	write(t, dir, "rows.ndjson", "old\n")
	write(t, dir, "late.csv", "not,our,header\n")
	write(t, dir, "mart.db", "not a mart")
	worker := elfOf(t)
	if err := os.WriteFile(filepath.Join(dir, "worker"), worker, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// elfOf is the least of a program for Linux on amd64: a header.
func elfOf(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString("7f454c46020101000000000000000000" + "02003e0001000000" + "0010400000000000" +
		"0000000000000000" + "0000000000000000" + "00000000" + "4000" + "3800" + "0000" + "4000" + "0000" + "0000")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// describedJob is what a dry run prints, as far as it is looked at here.
type describedJob struct {
	Job struct {
		Type, Name  string
		Environment struct {
			WorkerPools []struct {
				Packages []struct{ Location, SHA256 string }
			}
		}
	}
	Steps  []string
	Worker struct {
		Path, SHA256, Platform, Missing, Build string
		Bytes                                  int64
		Static                                 bool
	}
}

// describe makes a dry run, which must leave dir as it is.
func describe(t *testing.T, dir, args string) (d describedJob) {
	t.Helper()
	before := contents(t, dir)
	r := tidemark(t, dir, "", strings.Fields(args)...)
	if r.status != exitOK || r.stderr != "" {
		t.Fatalf("%s: status %d, want 0 and nothing on standard error:\n%s", args, r.status, r.stderr)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("files before: %q\nand after: %q", before, after)
	}
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	return d
}

// TestDataflow describes each job in batch and as a stream. Its steps are those in
// testdata, whatever values the flags have: a step that is called otherwise has lost
// its state when a running job is updated. -update writes them.
func TestDataflow(t *testing.T) {
	for name, args := range dataflowJobs {
		for _, how := range []string{"batch", "stream"} {
			stream := map[string]string{"stream": " --stream"}[how]
			t.Run(name+" "+how, func(t *testing.T) {
				dir := dataflowInputs(t)
				got := describe(t, dir, args+dataflowOutputs+stream+dataflowPlace+" --worker_binary worker")
				if got.Job.Type != "JOB_TYPE_STREAMING" || got.Job.Name != "tidemark-"+name {
					t.Errorf("%+v, want a streaming job of its name", got.Job)
				}
				checkSteps(t, name+"-"+how, got.Steps)
				other := describe(t, dir, otherValues[name]+otherOutputs+stream+otherPlace+" --worker_binary worker")
				if !slices.Equal(got.Steps, other.Steps) {
					t.Errorf("steps %q, and with other values %q", got.Steps, other.Steps)
				}
				if other.Job.Name != "secret-job" {
					t.Errorf("the name of the job is %s", other.Job.Name)
				}
				for _, step := range slices.Concat(got.Steps, other.Steps) {
					for _, part := range []string{dir, "/tmp", "secret", "project", "other", ".ndjson", ".csv", "1m", "2h", "9999", "-1"} {
						if strings.Contains(step, part) {
							t.Errorf("the step %s has a value in its name, %s", step, part)
						}
					}
				}
			})
		}
	}
}

// TestDataflowOutputs describes jobs with a mart and files, which are not looked at:
// they are none, or cannot be written.
func TestDataflowOutputs(t *testing.T) {
	for _, mart := range []string{"mart.db", "none.db", "gone/none.db"} {
		d := describe(t, dataflowInputs(t), dataflowJobs["gmv"]+" --stream --output sqlite:"+mart+" --late_output gone/late.csv"+dataflowPlace+" --worker_binary worker")
		if !slices.ContainsFunc(d.Steps, func(s string) bool { return strings.HasPrefix(s, "counts/") }) {
			t.Errorf("no counts among the steps %q", d.Steps)
		}
	}
}

// checkSteps compares steps with those in testdata.
func checkSteps(t *testing.T, name string, steps []string) {
	t.Helper()
	path := filepath.Join("testdata", "dataflow", name+".txt")
	text := strings.Join(steps, "\n") + "\n"
	if updating() {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, path, string(want), text)
}

// TestDataflowWorker has the worker that is named, and without one the program itself
// where it can be one.
func TestDataflowWorker(t *testing.T) {
	dir := dataflowInputs(t)
	args := dataflowJobs["gmv"] + dataflowPlace
	sum := sha256.Sum256(elfOf(t))
	hash := hex.EncodeToString(sum[:])
	got := describe(t, dir, args+" --worker_binary worker")
	if w := got.Worker; w.Path != "worker" || w.SHA256 != hash || w.Bytes != 64 || w.Platform != "linux/amd64" || !w.Static {
		t.Errorf("worker %+v", w)
	}
	if p := got.Job.Environment.WorkerPools[0].Packages[0]; p.SHA256 != hash || p.Location != "gs://bucket/staging/tidemark-gmv/worker" {
		t.Errorf("package %+v", p)
	}
	w := describe(t, dir, args).Worker
	if runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64" {
		if w.Path == "" || len(w.SHA256) != 64 || w.Bytes < 1<<20 || w.Missing != "" {
			t.Errorf("worker %+v, want this program", w)
		}
	} else if w.Path != "" || w.Missing == "" || w.Build == "" {
		t.Errorf("worker %+v, want how to build one", w)
	}
}
