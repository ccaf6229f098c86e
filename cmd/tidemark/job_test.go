package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/sink"
	"tidemark/internal/local"
	"tidemark/internal/tally"
	"tidemark/pipelines"
	"tidemark/windowfns"
)

// starved is what a job ends with when Prism has failed for want of CPU time.
const starved = `job job-001 failed:
panic in stage.Execute bundle processing goroutine: runtime error: invalid memory address or nil pointer dereference, stage: &{ID:stage-003 transforms:[e12]},stackTrace:
goroutine 301 [running]:
runtime/debug.Stack()
github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal/worker.(*W).NextInst(...)
github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal/worker.(*B).Progress(0x1b2a3c)
`

var errRunner = errors.New(starved)

// attempts runs a job whose first attempts do all the work, rows and all, and
// then fail with fault. Its outputs are standard output, and bad.ndjson in dir.
func attempts(t *testing.T, dir string, failures int, fault error) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // the job sets its own
	beamlog.LogLevel = "warn"
	local.Prepare()
	write(t, dir, "in.ndjson", order("acme", "08:00:00", 1)+"{}\n"+order("zeta", "08:00:00", 2))
	p := pipelines.GMV{Source: pipelines.Source{
		Fields:         records.Fields{Key: []string{"key"}, Time: "time", TimeUnit: "ms", Amount: "amount_cents"},
		MaxRecordBytes: 1 << 20,
		Files:          []files.File{{Path: filepath.Join(dir, "in.ndjson"), Name: "in.ndjson"}},
	}}
	p.Config.Windows = windowfns.Tumbling{Size: 3_600_000_000_000}
	var outs []output
	for flag, uri := range map[string]string{"output": "-", "bad_output": filepath.Join(dir, "bad.ndjson")} {
		target, err := sink.ParseTarget(uri)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, output{flag: flag, target: target})
		defer func() { // a process runs one job only
			for n := range local.Attempts {
				sink.Forget(fmt.Sprintf("%s-%d", flag, n+1))
			}
		}()
	}
	var out, log bytes.Buffer
	built := 0
	j := job{outlets: outlets{list: outs, stdout: &out}, stderr: &log}
	err = j.run(t.Context(), func(string) (build, error) {
		if logs := slog.Default().Handler(); reflect.TypeOf(logs) != reflect.TypeFor[quietHandler]() {
			t.Errorf("while the job runs, logs go to a %T", logs)
		}
		return func(s scope, to *outlets) error {
			built++
			p.Rows, p.Bad = to.outlet("output"), to.outlet("bad_output")
			if built > failures {
				return p.Build(s)
			}
			inner, root := beam.NewPipelineWithRoot()
			if err := p.Build(root); err != nil {
				return err
			}
			if _, err := beam.Run(context.Background(), "prism", inner); err != nil {
				return err
			}
			return fault
		}, nil
	})
	return out.String(), log.String(), err
}

// TestRestart lets the runner fail when the rows are out already. They are
// printed once, and counted once.
func TestRestart(t *testing.T) {
	for _, failures := range []int{0, 1, 2} {
		dir := t.TempDir()
		stdout, stderr, err := attempts(t, dir, failures, errRunner)
		if err != nil {
			t.Fatalf("%d failures: %v", failures, err)
		}
		same(t, "rows", hourRow("acme", 8, 1, 1, "08:00:00")+hourRow("zeta", 8, 2, 1, "08:00:00"), stdout)
		same(t, "bad records", `{"source":"in.ndjson","position":2,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}`+"\n", read(t, dir, "bad.ndjson"))
		var want strings.Builder
		for n := range failures {
			fmt.Fprintf(&want, "tidemark: the embedded runner failed for want of CPU time, starting again (attempt %d of 5)\n", n+2)
		}
		want.WriteString("read=3 bad=1 assigned=2 added=2 late=0\n")
		same(t, "standard error", want.String(), stderr)
	}
}

// TestRestartEnds lets every attempt fail.
func TestRestartEnds(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, err := attempts(t, dir, local.Attempts, errRunner)
	if err == nil || stdout != "" || strings.Count(stderr, "\n") != local.Attempts-1 {
		t.Errorf("error %v, standard output %q, standard error %q: want an error, nothing, and a line for each further attempt", err, stdout, stderr)
	}
	if names := contents(t, dir); len(names) != 1 {
		t.Errorf("files: %v", names)
	}
}

// TestNoRestart lets the pipeline fail of itself.
func TestNoRestart(t *testing.T) {
	dir := t.TempDir()
	fault := errors.New("disk on fire")
	stdout, stderr, err := attempts(t, dir, 1, fault)
	if !errors.Is(err, fault) || stdout != "" || stderr != "" {
		t.Errorf("error %v, standard output %q, standard error %q: want %v at once", err, stdout, stderr, fault)
	}
	if names := contents(t, dir); len(names) != 1 {
		t.Errorf("files: %v", names)
	}
}

// TestFarewell checks that one message of the worker's is dropped, and no other.
func TestFarewell(t *testing.T) {
	var b bytes.Buffer
	quiet := quietHandler{slog.NewTextHandler(&b, nil), new(quietState)}
	log := slog.New(quiet)
	made := log.With("a", 1).WithGroup("b") // as the runner makes them
	log.Error("[SDK] StateChannel[localhost:42851].read bad: rpc error: code = Canceled desc = context canceled")
	made.Error("StateChannel[localhost:42851].read bad: context canceled")
	if b.Len() > 0 {
		t.Errorf("logged: %s", b.String())
	}
	log.Error("[SDK] StateChannel[localhost:42851].read bad: rpc error: code = Unavailable")
	log.Error("context canceled")
	log.Debug("not at this level")
	made.Error("other", "c", 2)
	if n := strings.Count(b.String(), "\n"); n != 3 || !strings.HasSuffix(b.String(), "msg=other a=1 b.c=2\n") {
		t.Errorf("logged: %s", b.String())
	}
	quiet.hush()
	log.Error("after the summary")
	made.Error("after the summary")
	if n := strings.Count(b.String(), "\n"); n != 3 {
		t.Errorf("logged when hushed: %s", b.String())
	}
}

func TestBrief(t *testing.T) {
	got := brief(errRunner).Error()
	if want := "runtime error: invalid memory address or nil pointer dereference"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want it to end with %q", got, want)
	}
	for _, err := range []error{usagef("--window = 0s"), fmt.Errorf("reading: %w", context.Canceled)} {
		if got := brief(err); got != err { //nolint:errorlint // the very same
			t.Errorf("%v, want it unchanged", got)
		}
	}
}

// TestConservationLaw has counts that do not add up.
func TestConservationLaw(t *testing.T) {
	counts := tally.Start()
	counts.Inc(t.Context(), tally.Read, 1)
	counts.Inc(t.Context(), tally.Assigned, 3)
	counts.Inc(t.Context(), tally.Added, 1)
	counts.Inc(t.Context(), tally.Late, 1)
	err := conserved(counts)
	if want := "the conservation law does not hold: assigned=3 is not added=1 + late=1 + over_limit=0"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	counts.Inc(t.Context(), tally.Late, 1)
	if err := conserved(counts); err != nil {
		t.Error(err)
	}
	for _, side := range tally.Sides {
		counts := tally.Start()
		counts.Inc(t.Context(), side.Assigned, 5)
		counts.Inc(t.Context(), side.Joined, 1)
		counts.Inc(t.Context(), side.Unmatched, 1)
		counts.Inc(t.Context(), side.Late, 1)
		counts.Inc(t.Context(), side.OverLimit, 1)
		err := conserved(counts)
		want := strings.ReplaceAll("the conservation law does not hold: S_assigned=5 is not S_joined=1 + S_unmatched=1 + S_late=1 + S_over_limit=1", "S_", side.Name+"_")
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		counts.Inc(t.Context(), side.Unmatched, 1)
		if err := conserved(counts); err != nil {
			t.Error(err)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		stderr string
	}{
		{nil, exitOK, ""},
		{usagef("--window = %s", "0s"), exitUsage, "tidemark: --window = 0s\n"},
		{fmt.Errorf("resolving: %w", usagef("no input")), exitUsage, "tidemark: resolving: no input\n"},
		{errBadRecords, exitBad, ""},
		{errors.New("disk full"), exitFailed, "tidemark: disk full\n"},
	} {
		var b bytes.Buffer
		if got := exitStatus(c.err, &b); got != c.status || b.String() != c.stderr {
			t.Errorf("%v: status %d and %q, want %d and %q", c.err, got, b.String(), c.status, c.stderr)
		}
	}
}
