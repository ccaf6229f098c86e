// Package cluster submits pipelines to a Beam job server, which runs them on
// a cluster, and follows them there.
//
// Beam's own runner for job servers does not say which job it has submitted when it
// is not to wait for it, has no way to cancel one, and takes a cancelled job for one
// that has ended well. Its parts are used here.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// dialTime is how long a job server may take to answer.
const dialTime = 20 * time.Second

// Job is a job that was submitted.
type Job struct {
	ID string

	cc      *grpc.ClientConn
	client  jobpb.JobServiceClient
	workers io.Closer // those in this process; nil if there are none
}

// ErrCancelled says that someone has cancelled the job.
var ErrCancelled = errors.New("the job was cancelled")

// Submit submits p as Beam's flags say: --endpoint, --environment_type and
// --environment_config, --worker_binary, --job_name, --parallelism, --experiments.
// All flags that are set go along as options. With the environment LOOPBACK the
// workers are in this process, until Close.
func Submit(ctx context.Context, p *beam.Pipeline) (j *Job, err error) {
	j = &Job{}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	config := jobopts.GetEnvironmentConfig
	if jobopts.IsLoopback() {
		// Workers end with the job, not when this process is interrupted.
		srv, err := extworker.StartLoopback(context.WithoutCancel(ctx), 0)
		if err != nil {
			return j, fmt.Errorf("starting workers in this process: %w", err)
		}
		j.workers = loopback{srv}
		config = srv.EnvironmentConfig
	}
	pipeline, err := translate(ctx, p, config)
	if err != nil {
		return j, err
	}
	bin, done, err := workerBinary(ctx)
	if err != nil {
		return j, err
	}
	defer done()
	if err := runnerlib.UpdateGoEnvironmentWorker(bin, pipeline); err != nil {
		return j, err
	}

	endpoint, err := jobopts.GetEndpoint()
	if err != nil {
		return j, err
	}
	if err := knock(ctx, endpoint); err != nil {
		return j, err
	}
	if j.cc, err = grpcx.Dial(ctx, endpoint, dialTime); err != nil {
		return j, fmt.Errorf("what answers at %s is no job server: %w", endpoint, err)
	}
	j.client = jobpb.NewJobServiceClient(j.cc)
	id, artifacts, token, err := runnerlib.Prepare(ctx, j.client, pipeline, &runnerlib.JobOptions{
		Name:         jobopts.GetJobName(),
		Experiments:  jobopts.GetExperiments(),
		Worker:       bin,
		RetainDocker: *jobopts.RetainDockerContainers,
		Parallelism:  *jobopts.Parallelism,
		Loopback:     jobopts.IsLoopback(),
	})
	if err != nil {
		return j, err
	}
	if token, err = runnerlib.Stage(ctx, id, artifacts, bin, token); err != nil {
		return j, fmt.Errorf("staging the worker binary: %w", err)
	}
	// From here on the job can be running, whether or not anyone waits to hear of it:
	// without its id it could neither be named nor cancelled.
	j.ID, err = runnerlib.Submit(context.WithoutCancel(ctx), j.client, id, token)
	return j, err
}

// translate is p as job servers take it.
func translate(ctx context.Context, p *beam.Pipeline, config func(context.Context) string) (*pipepb.Pipeline, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	env, err := graphx.CreateEnvironment(ctx, jobopts.GetEnvironmentUrn(ctx), config)
	if err != nil {
		return nil, err
	}
	return graphx.Marshal(edges, &graphx.Options{Environment: env, PipelineResourceHints: jobopts.GetPipelineResourceHints()})
}

// workerBinary is what workers in other processes run, and what to call when it is
// staged. They are taken to be Linux machines like this one, or of amd64 where this
// one is something else.
func workerBinary(ctx context.Context) (bin string, done func(), err error) {
	if jobopts.IsLoopback() {
		// One has to be named all the same.
		f, err := os.CreateTemp("", "tidemark-worker-")
		if err != nil {
			return "", nil, err
		}
		return f.Name(), func() { _ = os.Remove(f.Name()) }, f.Close()
	}
	if *jobopts.WorkerBinary != "" {
		return *jobopts.WorkerBinary, func() {}, nil
	}
	if runtime.GOOS == "linux" {
		// This program is a worker too.
		bin, err = os.Executable()
		return bin, func() {}, err
	}
	bin, err = runnerlib.BuildTempWorkerBinary(ctx, runnerlib.CompileOpts{})
	if err != nil {
		return "", nil, fmt.Errorf("building a worker for linux/amd64, which --worker_binary would name: %w", err)
	}
	return bin, func() { _ = os.Remove(bin) }, nil
}

// Wait waits until the job has ended, and returns why if it has not ended well. It
// returns the error of ctx when that is done before; the job goes on.
func (j *Job) Wait(ctx context.Context) error {
	stream, err := j.client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: j.ID})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("following job %s: %w", j.ID, err)
	}
	var e ending
	for {
		msg, err := stream.Recv()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			if done, err := e.take(ctx, msg); done {
				return err
			}
		case e.failed:
			return e.error()
		case err == io.EOF:
			return fmt.Errorf("the job server has said no more of job %s, but not that it has ended", j.ID)
		default:
			return fmt.Errorf("following job %s: %w", j.ID, err)
		}
	}
}

// ending is what is known of how a job ends.
type ending struct {
	failed bool
	last   string // error
}

// take takes a message, and reports whether the job has ended.
func (e *ending) take(ctx context.Context, msg *jobpb.JobMessagesResponse) (done bool, err error) {
	if m := msg.GetMessageResponse(); m != nil {
		level := log.SevInfo
		if m.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
			// What is an error of a job that goes on, from a checkpoint, is not ours.
			level, e.last = log.SevWarn, m.GetMessageText()
		}
		log.Output(ctx, level, 1, strings.TrimSpace(m.GetMessageText()))
		return e.failed && e.last != "", e.errorIf()
	}
	switch msg.GetStateResponse().GetState() {
	case jobpb.JobState_DONE, jobpb.JobState_DRAINED:
		return true, nil
	case jobpb.JobState_CANCELLED:
		return true, ErrCancelled
	case jobpb.JobState_FAILED:
		e.failed = true // and why may come behind it
		return e.last != "", e.errorIf()
	default:
		return false, nil
	}
}

func (e *ending) errorIf() error {
	if !e.failed {
		return nil
	}
	return e.error()
}

func (e *ending) error() error {
	if e.last == "" {
		return errors.New("the job failed, and the job server does not say why")
	}
	return fmt.Errorf("the job failed: %s", e.last)
}

// Cancel cancels the job.
func (j *Job) Cancel(ctx context.Context) error {
	_, err := j.client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: j.ID})
	if err != nil {
		return fmt.Errorf("cancelling job %s: %w", j.ID, err)
	}
	return nil
}

// Close ends the workers in this process and the connection. The job goes on if its
// workers are elsewhere.
func (j *Job) Close() error {
	var errs []error
	if j.workers != nil {
		errs = append(errs, j.workers.Close())
	}
	if j.cc != nil {
		errs = append(errs, j.cc.Close())
	}
	return errors.Join(errs...)
}

// knock says at once if nobody listens at an address, which gRPC does after a while and
// without the reason.
func knock(ctx context.Context, endpoint string) error {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return fmt.Errorf("no job server answers at %s: %w", endpoint, err)
	}
	return conn.Close()
}

// loopback are the workers in this process.
type loopback struct{ srv *extworker.Loopback }

// Close implements io.Closer.
func (l loopback) Close() error { return l.srv.Stop(context.Background()) }
