package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/tidwall/gjson"

	"tidemark/connectors/files"
	"tidemark/internal/cluster"
	"tidemark/internal/flow"
	"tidemark/internal/halt"
	"tidemark/internal/paths"
	"tidemark/internal/tally"
)

// defaultEndpoint is where a job server of Flink's listens.
const defaultEndpoint = "localhost:8099"

// clusterFlags are the flags that say how a cluster is to run a job, beside Beam's.
type clusterFlags struct {
	checkpoints time.Duration
	savepoint   string
	flink       string
	bundle      int64 // bytes

	given func(name string) bool
}

func (c *clusterFlags) define(fs *flagSet) {
	c.given = fs.given
	fs.section("On a cluster (docs/runners.md): --runner flink, with Beam's --endpoint (default "+defaultEndpoint+"), --environment_type LOOPBACK (default) or PROCESS, --parallelism, --job_name and --async.\nFor Dataflow: --runner dataflow --dry_run, with Beam's --project, --region and --staging_location, prints the job that would be sent, and runs nothing", func() {
		fs.DurationVar(&c.checkpoints, "checkpoint_interval", 0, "processing `time` between two checkpoints, from which a job goes on after a failure (default: that of the job server, 4s)")
	})
	fs.section("", func() {
		fs.StringVar(&c.savepoint, "savepoint_path", "", "`URI` of the savepoint or checkpoint that a streamed job goes on from; with a mart, as the run that it was")
	})
	fs.section("", func() {
		fs.Int64Var(&c.bundle, "bundle_bytes", 0, "a streamed input rests for a second when it has read as many `bytes` (default 64 MiB): with fewer, watermarks move in smaller steps and reading is slower")
	})
	fs.section("", func() {
		fs.StringVar(&c.flink, "flink_options", "", "further options of Beam's Flink runner: `name=value,...`, as in max_parallelism=64")
	})
}

// clustered says that the flags, which are global, ask for a job server. It is settled
// before anything runs: the embedded runner sets the endpoint of its own.
var clustered bool

// onCluster reports whether a job server is asked for.
func onCluster() bool { return clustered }

// workersElsewhere reports whether workers run in other processes.
func workersElsewhere() bool { return onCluster() && !jobopts.IsLoopback() }

// checkEmbedded checks what a run in this process cannot have.
func (c *clusterFlags) checkEmbedded() error {
	switch {
	case *jobopts.EnvironmentType != "" && !jobopts.IsLoopback():
		return usagef("--environment_type %s without --runner flink, want both: the embedded runner has its workers in this process", *jobopts.EnvironmentType)
	case *jobopts.Async:
		return usagef("--async without --runner flink, want both: the embedded runner ends with this process")
	}
	if name := c.givenName(); name != "" {
		return usagef("--%s without --runner flink, want both: it is about clusters", name)
	}
	return nil
}

// givenName is the first of the flags that was given; empty if none was.
func (c *clusterFlags) givenName() string {
	for _, name := range []string{"checkpoint_interval", "savepoint_path", "flink_options", "bundle_bytes"} {
		if c.given(name) {
			return name
		}
	}
	return ""
}

// where is the flag that asks for a cluster, with its value.
func where() string {
	if embedded[*runners.Runner] {
		return "--endpoint " + *jobopts.Endpoint
	}
	return "--runner " + *runners.Runner
}

// checkCluster checks what a job on a cluster needs, and settles what was left open.
func (c *clusterFlags) checkCluster() error {
	isFlink := strings.HasPrefix(strings.ToLower(*runners.Runner), "flink")
	if *jobopts.EnvironmentType == "" {
		*jobopts.EnvironmentType = "LOOPBACK"
	}
	if *jobopts.Endpoint == "" {
		*jobopts.Endpoint = defaultEndpoint
	}
	_, _, noPort := net.SplitHostPort(*jobopts.Endpoint)
	switch kind := strings.ToUpper(*jobopts.EnvironmentType); {
	case noPort != nil:
		return usagef("--endpoint = %q, want HOST:PORT of a job server, as in %s", *jobopts.Endpoint, defaultEndpoint)
	case kind == "PROCESS" && *jobopts.EnvironmentConfig == "":
		return usagef(`--environment_type PROCESS without --environment_config, want both, as in --environment_config '{"command":"/opt/tidemark/boot.sh"}'`)
	case kind == "PROCESS" && !gjson.Valid(*jobopts.EnvironmentConfig):
		return usagef("--environment_config %s is no JSON, want an object with a command", *jobopts.EnvironmentConfig)
	case kind != "LOOPBACK" && kind != "PROCESS" && kind != "EXTERNAL" && kind != "DOCKER":
		return usagef("--environment_type %s, want LOOPBACK, PROCESS, EXTERNAL or DOCKER", *jobopts.EnvironmentType)
	case *jobopts.Async && jobopts.IsLoopback():
		return usagef("--async with --environment_type LOOPBACK, want PROCESS: workers in this process end with it")
	case c.given("checkpoint_interval") && (c.checkpoints <= 0 || c.checkpoints%time.Millisecond != 0):
		return usagef("--checkpoint_interval = %v, want a positive whole number of milliseconds", c.checkpoints)
	case c.given("bundle_bytes") && c.bundle < 1:
		return usagef("--bundle_bytes = %d, want at least 1", c.bundle)
	case c.given("savepoint_path") && c.savepoint == "":
		return usagef("--savepoint_path is empty, want a URI, as deploy/flink/flink savepoint prints: without one the job would begin anew")
	}
	for _, name := range []string{"checkpoint_interval", "savepoint_path", "flink_options"} {
		if c.given(name) && !isFlink {
			return usagef("--%s with %s, want --runner flink: others do not know it", name, where())
		}
	}
	for _, o := range strings.Split(c.flink, ",") {
		if name, _, ok := strings.Cut(o, "="); c.given("flink_options") && (!ok || name == "") {
			return usagef("--flink_options %s: %q is no option, want name=value,...", c.flink, o)
		}
	}
	return nil
}

// checkInputs checks that workers can read the inputs again, from a checkpoint, and
// that a savepoint is one of a stream.
func (c *clusterFlags) checkInputs(stream bool, ins ...input) error {
	switch {
	case !onCluster() && !onDataflow():
		return nil
	case c.given("bundle_bytes") && !stream:
		return usagef("--bundle_bytes without --stream, want both: a batch reads on")
	case c.given("savepoint_path") && !stream:
		return usagef("--savepoint_path without --stream, want both: a batch begins anew")
	}
	for _, in := range ins {
		for _, f := range in.files {
			if f.Regular() {
				continue
			}
			return usagef("%s with %s, want files: after a failure a job goes on from a checkpoint, and reads again what came since", pipeName(f), where())
		}
	}
	return nil
}

func pipeName(f files.File) string {
	if f.Path == "" {
		return "standard input"
	}
	return "the pipe " + f.Path
}

// bundles says how a streamed source reads: how many bytes at a time, and how long it
// rests then. See files.StreamConfig.
func (c *clusterFlags) bundles() (bytes int64, pause time.Duration) {
	if !onCluster() && !onDataflow() {
		return 0, 0
	}
	return cmp.Or(c.bundle, 64<<20), time.Second
}

// anywhere makes the paths of files those that workers in other folders need.
func anywhere(found []files.File) ([]files.File, error) {
	if !onCluster() {
		return found, nil
	}
	for i, f := range found {
		path, err := paths.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		found[i].Path = path
	}
	return found, nil
}

// tell sets the options that a job server knows by names of its own. To it any source
// that checkpoints itself is endless, those of files too: it has to be told that
// a batch ends with its sources, and begins anew where it fails.
func (c *clusterFlags) tell(command string, streamed bool) {
	if *jobopts.JobName == "" {
		*jobopts.JobName = "tidemark-" + command
	}
	checkpoints := c.checkpoints.Milliseconds()
	if !streamed {
		beam.PipelineOptions.Set("shutdown_sources_after_idle_ms", "0")
		if checkpoints == 0 {
			checkpoints = -1
		}
	}
	if checkpoints != 0 {
		beam.PipelineOptions.Set("checkpointing_interval", fmt.Sprint(checkpoints))
	}
}

// errDetached says that the job goes on without this process.
var errDetached = errors.New("the job goes on")

// runOnCluster runs the pipeline on a cluster.
func (j *job) runOnCluster(ctx context.Context, dir string, add build) (*tally.Tally, error) {
	counts := tally.Start() // of workers in this process
	stop := halt.Start()
	flow.Start(0)
	streamed := j.how.streamed()
	waiting := ctx
	if streamed && !workersElsewhere() {
		waiting = context.WithoutCancel(ctx) // an interrupt ends the sources
		defer context.AfterFunc(ctx, func() { stop.Ask(j.drain) })()
	}
	if err := j.open(dir, 1); err != nil {
		return nil, err
	}
	if streamed && !*jobopts.Async {
		j.done = filepath.Join(dir, "done")
		if err := os.Mkdir(j.done, 0o777); err != nil {
			return nil, err
		}
	}
	p, s := beam.NewPipelineWithRoot()
	if err := add(s, &j.outlets); err != nil {
		return nil, usageError{err}
	}
	j.tell(j.command, streamed)
	on, err := cluster.Submit(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, err
	}
	defer func() {
		if err := on.Close(); err != nil {
			slog.Debug("closing the connection to the job server", "error", err)
		}
	}()
	if *jobopts.Async {
		_, err := fmt.Fprintln(j.stdout, on.ID) // no row can come
		return nil, errors.Join(errDetached, err)
	}
	if !workersElsewhere() {
		defer j.progress(counts)()
	}
	waiting, stopWaiting := context.WithCancel(waiting)
	defer stopWaiting()
	if j.done != "" {
		go j.cancelWhenDone(waiting, on.Cancel)
	}
	switch err := on.Wait(waiting); {
	case errors.Is(err, cluster.ErrCancelled) && streamed && j.written():
		// by us
	case waiting.Err() == nil && err != nil:
		return nil, err
	case err == nil && j.done != "" && !j.written():
		_, _ = fmt.Fprintf(j.stderr, "tidemark: job %s was stopped before its end; --savepoint_path goes on from the savepoint\n", on.ID)
		return nil, errDetached
	case waiting.Err() != nil && streamed:
		_, _ = fmt.Fprintf(j.stderr, "tidemark: interrupted; job %s goes on, on the cluster, unless it was stopped there\n", on.ID)
		return nil, errDetached
	case waiting.Err() != nil:
		return nil, errors.Join(errInterrupted, on.Cancel(context.WithoutCancel(ctx)))
	}
	return j.account.settle(counts, j.savepoint != "")
}

// doneEvery is how often it is looked whether a stream has come to its end, and how
// often it is tried to cancel it then.
const doneEvery = 100 * time.Millisecond

// cancelWhenDone cancels the job of a stream when all is written that will ever be:
// the cluster would keep it, and the command would wait for it.
func (j *job) cancelWhenDone(ctx context.Context, cancel func(context.Context) error) {
	tick := time.NewTicker(doneEvery)
	defer tick.Stop()
	for {
		if j.written() {
			err := cancel(ctx)
			if err == nil || ctx.Err() != nil {
				return
			}
			slog.Warn("all is written, and the job goes on; trying again to cancel it", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// far are the counts of a run that has not ended well, as far as it came; nil if nobody
// knows them.
func (j *job) far() *tally.Tally {
	if !onCluster() {
		return tally.Current()
	}
	if j.account == nil {
		return nil
	}
	counts, err := j.account.settle(&tally.Tally{}, true) // those of before, if any, are not known
	if err != nil {
		return nil
	}
	return counts
}
