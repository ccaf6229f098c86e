package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx" // registers the runners and their flags

	"tidemark/internal/flow"
	"tidemark/internal/halt"
	"tidemark/internal/local"
	"tidemark/internal/paths"
	"tidemark/internal/tally"
)

type scope = beam.Scope

// build adds a pipeline that writes to outlets to a scope.
type build func(s scope, to *outlets) error

// runFlags are the flags that say how to run.
type runFlags struct {
	clusterFlags
	described
	shards   int
	drain    bool
	logLevel string
}

func (r *runFlags) define(fs *flagSet, w words) {
	fs.section("Running", func() {
		fs.IntVar(&r.shards, "shards", 0, "`N` groups that keys are dealt into, 1 to 65536; never changes results (default 4, of a timeline 1)")
	})
	fs.section("", func() {
		fs.BoolVar(&r.drain, "drain", false, w.drain)
	})
	fs.section("", func() {
		fs.StringVar(&r.logLevel, "log_level", "warn", "how much is logged on standard error: `error|warn|info|debug`")
	})
	r.clusterFlags.define(fs)
}

// embedded are the names of the runner that runs in this process.
var embedded = map[string]bool{"": true, "prism": true, "PrismRunner": true}

// remote are the names of the runners behind a job server.
var remote = map[string]bool{
	"flink": true, "FlinkRunner": true, "spark": true, "SparkRunner": true,
	"universal": true, "portable": true, "PortableRunner": true,
}

// check checks the flags of ours and of Beam's that a run depends on.
func (r *runFlags) check(isTimeline bool) error {
	switch r.logLevel {
	case "error", "warn", "info", "debug":
		beamlog.LogLevel = r.logLevel
	default:
		return usagef("--log_level = %q, want error, warn, info or debug", r.logLevel)
	}

	runner := *runners.Runner
	clustered = remote[runner] || embedded[runner] && *jobopts.Endpoint != ""
	forDataflow = runner == "dataflow" || runner == "DataflowRunner"
	switch {
	case isOn("worker"):
		return usagef("--worker: this command runs a pipeline")
	case isOn("dry_run") && !onDataflow():
		return usagef("--dry_run: this command runs a pipeline, want it with --runner dataflow")
	case strings.HasPrefix(strings.ToLower(runner), "direct"):
		return usagef("--runner %s cannot run streaming pipelines, want prism, the default", runner)
	case isTimeline && (onCluster() || !embedded[runner]):
		return usagef("--timeline with %s, want prism, the default: other runners cannot play timelines", where())
	case onCluster():
		if err := r.checkCluster(); err != nil {
			return err
		}
		if r.drain && workersElsewhere() {
			return usagef("--drain with --environment_type %s, want LOOPBACK: an interrupt leaves the job to the cluster, and ends nothing", *jobopts.EnvironmentType)
		}
		return nil
	case onDataflow():
		return r.checkDataflow()
	case embedded[runner]:
		return r.checkEmbedded()
	default:
		return usagef("--runner %s cannot run this command, want prism, flink, dataflow, spark or portable", runner)
	}
}

// isOn reports whether a switch of Beam's is on.
func isOn(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() == "true"
}

func (r *runFlags) shardsFor(isTimeline bool) (int, error) {
	switch {
	case r.shards < 0 || r.shards > 1<<16:
		return 0, usagef("--shards = %d, want 1 to 65536", r.shards)
	case r.shards == 0 && isTimeline:
		return 1, nil // one element at a time leaves nothing to deal out
	default:
		return r.shards, nil
	}
}

// job runs a pipeline and releases its outputs.
type job struct {
	runFlags
	outlets
	stderr  io.Writer
	command string
	sides   bool // it joins: the summary has the counts of each side
}

// run runs what prepare returns and prints the summary, or, for Dataflow, describes
// it.
func (j *job) run(ctx context.Context, prepare func(dir string) (build, error)) (err error) {
	if onDataflow() {
		return j.describe(ctx, prepare)
	}
	dir, err := os.MkdirTemp("", "tidemark-")
	if err != nil {
		return err
	}
	if dir, err = paths.Abs(dir); err != nil { // TMPDIR can be relative
		return err
	}
	defer func() {
		// The runner may still be shutting down: what it leaves is not worth the
		// exit status.
		if rm := os.RemoveAll(dir); rm != nil {
			slog.Info("removing temporary files", "error", rm)
		}
	}()
	// Beam leaves a file behind in the folder for temporary files.
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	beam.Init()
	logs := quietHandler{slog.Default().Handler(), new(quietState)} // of Beam's, which Init has set
	slog.SetDefault(slog.New(logs))

	var add build
	if err := j.interruptible(ctx, func() (err error) {
		add, err = prepare(dir)
		return err
	}); err != nil {
		return err
	}
	if !j.how.streamed() {
		// What Prism has to say about an interrupt is of no use to anyone.
		defer context.AfterFunc(ctx, logs.hush)()
	}
	if j.mart != nil {
		if err := j.interruptible(ctx, j.mart.begin); err != nil {
			return err
		}
		defer func() {
			if err != nil && !errors.Is(err, errBadRecords) {
				j.mart.fail(j.far())
			}
		}()
	}
	attempts := j.attempts
	if onCluster() {
		attempts = j.runOnCluster
	}
	counts, err := attempts(ctx, dir, add)
	if errors.Is(err, errDetached) {
		return j.detach()
	}
	if err != nil {
		return err
	}
	if counts != nil {
		if err := conserved(counts); err != nil {
			return err
		}
	}
	if err := j.outlets.release(counts, ctx.Err() != nil); err != nil {
		return err
	}
	logs.hush() // the runner is still shutting down; the summary comes last
	return j.summarize(counts)
}

// attempts runs the pipeline in this process until it has ended well, as often as it takes.
func (j *job) attempts(ctx context.Context, dir string, add build) (counts *tally.Tally, err error) {
	running := ctx
	streamed := j.how.streamed()
	if streamed {
		running = context.WithoutCancel(ctx) // an interrupt ends the sources
	}
	attempt := func(_ context.Context, number int) (beam.PipelineResult, error) {
		counts = tally.Start()
		stop := halt.Start()
		flow.Start(onTheWay)
		if streamed {
			defer context.AfterFunc(ctx, func() { stop.Ask(j.drain) })()
		}
		if err := j.open(dir, number); err != nil {
			return nil, err
		}
		p, s := beam.NewPipelineWithRoot()
		if err := add(s, &j.outlets); err != nil {
			return nil, usageError{err}
		}
		defer j.progress(counts)()
		local.Prepare()
		return beam.Run(running, "prism", p)
	}
	if j.how == live {
		if _, err = attempt(running, 1); local.IsRunnerFault(err) {
			err = fmt.Errorf("the embedded runner failed for want of CPU time, and what was read of a pipe cannot be read again: "+
				"%d records were read, and rows that are out stand", counts.Get(tally.Read))
		}
	} else {
		_, err = local.Run(running, attempt, func(number int, _ error) {
			j.abandon()
			_, _ = fmt.Fprintf(j.stderr, "tidemark: the embedded runner failed for want of CPU time, starting again (attempt %d of %d)\n", number, local.Attempts)
		})
	}
	if !streamed && ctx.Err() != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, brief(err)
	}
	return counts, nil
}

// onTheWay is how many bytes may be on their way between the sources and what takes
// them, which the embedded runner has in one process.
const onTheWay = 16 << 20

// interruptible is interruptible(ctx, f), but for streams: they end well when they
// are interrupted, however early.
func (j *job) interruptible(ctx context.Context, f func() error) error {
	if j.how.streamed() {
		return f()
	}
	return interruptible(ctx, f)
}

// interruptible returns what f returns, or errInterrupted as soon as ctx is done:
// f may be waiting for standard input, or for a mart that is locked. It is left to
// itself then, and what it was to fill in is not there.
func interruptible(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errInterrupted
	}
}

var errInterrupted = errors.New("interrupted; nothing was written")
