package main

import (
	"context"
	"flag"
	"runtime"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"tidemark/internal/dataflow"
)

// described is a job that is described, and not run.
type described struct {
	options dataflow.Options
	worker  dataflow.Worker
}

// forDataflow says that the flags, which are global, ask for Dataflow. It is settled
// together with clustered.
var forDataflow bool

// onDataflow reports whether a job for Dataflow is asked for. It is described only, so
// that no output is touched.
func onDataflow() bool { return forDataflow }

// checkDataflow checks what a job for Dataflow needs.
func (r *runFlags) checkDataflow() (err error) {
	if !isOn("dry_run") {
		return usagef("--runner dataflow without --dry_run, want both: Dataflow's workers do not have the files of this machine, which the command reads and writes; " +
			"a dry run prints the job and sends nothing (docs/runners.md)")
	}
	if name := r.givenName(); name != "" {
		return usagef("--%s with --runner dataflow, want --runner flink: others do not know it", name)
	}
	if r.drain {
		return usagef("--drain with --dry_run, want one of them: nothing runs that could be interrupted")
	}
	if r.options, err = dataflow.FromFlags(flag.CommandLine); err != nil {
		return usageError{err}
	}
	if r.worker, err = dataflow.FindWorker(*jobopts.WorkerBinary, runtime.GOOS, runtime.GOARCH); err != nil {
		return usagef("--worker_binary %w", err)
	}
	return nil
}

// describe prints the job that Dataflow would be sent. The outputs in it are ids, which
// stand for those of this process.
func (j *job) describe(ctx context.Context, prepare func(dir string) (build, error)) error {
	beam.Init()
	add, err := prepare("") // inputs are regular files: nothing is copied
	if err != nil {
		return err
	}
	if j.options.Job.Name == "" {
		j.options.Job.Name = "tidemark-" + j.command
	}
	d, err := dataflow.Describe(ctx, func(s scope) error { return add(s, &j.outlets) }, !j.how.streamed(), j.options, j.worker)
	if err != nil {
		return err
	}
	return d.Write(j.stdout)
}
