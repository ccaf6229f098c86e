package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx" // registers the runners and their flags

	"tidemark/connectors/sink"
	"tidemark/internal/local"
	"tidemark/internal/tally"
)

type scope = beam.Scope

// build adds a pipeline to a scope; ids are those of the sinks, by the name of
// the flag that asked for them.
type build func(s scope, ids map[string]string) error

// outputFlags are the flags that say where rows go.
type outputFlags struct {
	output, late, bad string
}

func (o *outputFlags) define(fs *flagSet) {
	fs.section("Output: - for standard output or a .ndjson file, written whole or not at all", func() {
		fs.StringVar(&o.output, "output", "-", "where rows go: `FILE` or -")
	})
	fs.section("", func() {
		fs.StringVar(&o.late, "late_output", "", "where records go that missed a window: `FILE` or -; without it they are counted only")
	})
	fs.section("", func() {
		fs.StringVar(&o.bad, "bad_output", "", "where records go that were not understood: `FILE` or -; without it they are counted, and the exit status is 3")
	})
}

// output is a checked output.
type output struct {
	flag   string
	target sink.Target
}

// resolve checks that the outputs can be written, and that none of them is
// another one or an input.
func (o *outputFlags) resolve(inputs []string) ([]output, error) {
	var outs []output
	var targets []sink.Target
	for _, f := range []struct{ name, uri string }{{"output", o.output}, {"late_output", o.late}, {"bad_output", o.bad}} {
		if f.uri == "" && f.name != "output" {
			continue
		}
		t, err := sink.ParseTarget(f.uri)
		if err == nil {
			err = t.Check()
		}
		if err != nil {
			return nil, usagef("--%s: %w", f.name, err)
		}
		outs = append(outs, output{f.name, t})
		if !t.IsStdout() { // several can be there
			targets = append(targets, t)
		}
	}
	if err := sink.CheckDistinct(targets...); err != nil {
		return nil, usageError{err}
	}
	for _, out := range outs {
		for _, in := range inputs {
			if out.target.SameFile(in) {
				return nil, usagef("--%s is the input %s, want another file", out.flag, in)
			}
		}
	}
	return outs, nil
}

// runFlags are the flags that say how to run.
type runFlags struct {
	shards   int
	logLevel string
}

func (r *runFlags) define(fs *flagSet) {
	fs.section("Running", func() {
		fs.IntVar(&r.shards, "shards", 0, "`N` groups that keys are dealt into, 1 to 65536; never changes results (default 4, of a timeline 1)")
	})
	fs.section("", func() {
		fs.StringVar(&r.logLevel, "log_level", "warn", "how much is logged on standard error: `error|warn|info|debug`")
	})
}

// embedded are the names of the runner that runs in this process.
var embedded = map[string]bool{"": true, "prism": true, "PrismRunner": true}

// remote are the names of the runners that can have their workers in this process.
var remote = map[string]bool{
	"flink": true, "FlinkRunner": true, "spark": true, "SparkRunner": true,
	"universal": true, "portable": true, "PortableRunner": true,
}

// check checks the flags of ours and of Beam's that a run depends on.
func (r *runFlags) check(isTimeline bool) error {
	var level slog.Level
	switch r.logLevel {
	case "error", "warn", "info", "debug":
		if err := level.UnmarshalText([]byte(r.logLevel)); err != nil {
			return err
		}
	default:
		return usagef("--log_level = %q, want error, warn, info or debug", r.logLevel)
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	beamlog.LogLevel = r.logLevel

	for _, name := range []string{"async", "execute_async", "dry_run", "worker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() == "true" {
			return usagef("--%s: this version runs a pipeline to its end before it releases its rows", name)
		}
	}
	runner := *runners.Runner
	switch {
	case *jobopts.EnvironmentType != "" && !jobopts.IsLoopback():
		return usagef("--environment_type %s, want LOOPBACK: outputs of this version are written by workers inside this process", *jobopts.EnvironmentType)
	case strings.HasPrefix(strings.ToLower(runner), "direct"):
		return usagef("--runner %s cannot run streaming pipelines, want prism, the default", runner)
	case isTimeline && !embedded[runner]:
		return usagef("--timeline with --runner %s, want prism, the default: other runners cannot play timelines", runner)
	case !embedded[runner] && !remote[runner]:
		return usagef("--runner %s cannot run this command, want prism, flink, spark or portable", runner)
	case embedded[runner] && *jobopts.Endpoint != "" && !jobopts.IsLoopback():
		return usagef("--endpoint %s without --environment_type LOOPBACK: outputs of this version are written by workers inside this process", *jobopts.Endpoint)
	case !embedded[runner] && !jobopts.IsLoopback():
		return usagef("--runner %s without --environment_type LOOPBACK: outputs of this version are written by workers inside this process", runner)
	}
	return nil
}

// quietHandler drops what Beam's worker logs now and then, as an error, when the
// runner takes down its connection at the end of a job that went well.
// Once it is hushed it drops everything.
type quietHandler struct {
	slog.Handler
	state *quietState
}

type quietState struct {
	mu     sync.Mutex
	hushed bool
}

// hush returns when nothing more can be logged.
func (h quietHandler) hush() {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	h.state.hushed = true
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	if h.state.hushed || strings.Contains(r.Message, "StateChannel[") && strings.Contains(r.Message, "context canceled") {
		return nil
	}
	return h.Handler.Handle(ctx, r)
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

// job runs a pipeline and releases its outputs when it has ended well.
type job struct {
	runFlags
	outputs []output
	sorted  bool // outputs come sorted, not in the order of arrival
	stdout  io.Writer
	stderr  io.Writer
}

// run runs what prepare returns and prints the summary.
func (j job) run(ctx context.Context, prepare func(dir string) (build, error)) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-")
	if err != nil {
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

	// What Prism has to say about an interrupt is of no use to anyone.
	defer context.AfterFunc(ctx, logs.hush)()
	add, err := interruptible(ctx, func() (build, error) { return prepare(dir) })
	if err != nil {
		return err
	}
	var spools map[string]*sink.Spool
	var counts *tally.Tally
	attempt := func(ctx context.Context, number int) (beam.PipelineResult, error) {
		counts = tally.Start()
		p, s := beam.NewPipelineWithRoot()
		ids := map[string]string{}
		spools = map[string]*sink.Spool{}
		for _, o := range j.outputs {
			// Workers of an attempt that failed may still be running: what they
			// write goes to an id that nobody asks for any more.
			id := fmt.Sprintf("%s-%d", o.flag, number)
			ids[o.flag], spools[o.flag] = id, sink.NewSpool(dir, j.sorted)
			sink.Open(id, spools[o.flag])
		}
		if err := add(s, ids); err != nil {
			return nil, usageError{err}
		}
		return j.execute(ctx, p)
	}
	_, err = local.Run(ctx, attempt, func(number int, _ error) {
		for _, o := range j.outputs {
			sink.Forget(fmt.Sprintf("%s-%d", o.flag, number-1))
			_ = spools[o.flag].Close()
		}
		_, _ = fmt.Fprintf(j.stderr, "tidemark: the embedded runner failed for want of CPU time, starting again (attempt %d of %d)\n", number, local.Attempts)
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return brief(err)
	}
	if err := conserved(counts); err != nil {
		return err
	}
	for _, o := range j.outputs {
		if err := sink.Commit(o.target, spools[o.flag], j.stdout); err != nil {
			return fmt.Errorf("--%s: %w", o.flag, err)
		}
		if err := spools[o.flag].Close(); err != nil {
			return err
		}
	}
	logs.hush() // the runner is still shutting down; the summary comes last
	return j.summarize(counts)
}

func (j job) execute(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	runner := *runners.Runner
	if embedded[runner] {
		local.Prepare()
		runner = "prism"
	}
	return beam.Run(ctx, runner, p)
}

// conserved checks that nothing was lost.
func conserved(counts *tally.Tally) error {
	assigned, added, late := counts.Get(tally.Assigned), counts.Get(tally.Added), counts.Get(tally.Late)
	if assigned != added+late {
		return fmt.Errorf("the conservation law does not hold: assigned=%d is not added=%d + late=%d", assigned, added, late)
	}
	return nil
}

// has reports whether an output was asked for by a flag.
func (j job) has(name string) bool {
	return slices.ContainsFunc(j.outputs, func(o output) bool { return o.flag == name })
}

// summarize prints the last line on standard error.
func (j job) summarize(counts *tally.Tally) error {
	bad, overflowed := counts.Get(tally.Bad), counts.Get(tally.Overflowed)
	assigned, added, late := counts.Get(tally.Assigned), counts.Get(tally.Added), counts.Get(tally.Late)
	if bad+overflowed > 0 && !j.has("bad_output") {
		_, _ = fmt.Fprintf(j.stderr, "tidemark: not understood, or outside int64: %s; --bad_output FILE takes them all, with reasons\n", counts.Example())
	}
	line := fmt.Sprintf("read=%d bad=%d assigned=%d added=%d late=%d", counts.Get(tally.Read), bad, assigned, added, late)
	if overflowed > 0 {
		line += fmt.Sprintf(" overflowed=%d", overflowed)
	}
	if _, err := fmt.Fprintln(j.stderr, line); err != nil {
		return err
	}
	if bad+overflowed > 0 && !j.has("bad_output") {
		return errBadRecords
	}
	return nil
}

// interruptible returns what f returns, or errInterrupted as soon as ctx is done:
// f may be waiting for standard input.
func interruptible(ctx context.Context, f func() (build, error)) (build, error) {
	type result struct {
		add build
		err error
	}
	done := make(chan result, 1)
	go func() {
		add, err := f()
		done <- result{add, err}
	}()
	select {
	case r := <-done:
		return r.add, r.err
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

var errInterrupted = errors.New("interrupted; nothing was written")

var (
	// stackTrace is where Beam's errors begin to be about Beam.
	stackTrace = regexp.MustCompile(`(?s)(, stage: .*|\n\s*(stackTrace:|Full error:|goroutine ).*)$`)

	// around is what Beam puts in front of the cause: the plan, and the DoFn.
	around = regexp.MustCompile(`(?s)^.*caused by:\n\s*|DoFn\[[^\n]*\] failed:\n`)
)

// brief is the cause of an error of Beam's, without what is around it.
func brief(err error) error {
	var usage usageError
	if errors.As(err, &usage) || errors.Is(err, context.Canceled) {
		return err
	}
	text := around.ReplaceAllString(stackTrace.ReplaceAllString(err.Error(), ""), "")
	return errors.New(strings.TrimSpace(text))
}
