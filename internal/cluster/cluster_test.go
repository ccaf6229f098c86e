package cluster

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"tidemark/internal/jobserver"
)

func init() {
	register.Function2x0(count)
	register.Function2x1(refuse)
	register.Function1x1(wait)
	register.Emitter1[int]()
}

// TestMain makes the binary a worker too.
func TestMain(m *testing.M) {
	log.LogLevel = "error"
	ptest.Main(m)
}

var counted atomic.Int64

func count(_ context.Context, n int) { counted.Add(int64(n)) }

func refuse(_ context.Context, n int) error {
	if n > 1 {
		return errors.New("two is too many")
	}
	return nil
}

// begun and goOn are closed when wait has begun, and when it is to end.
var begun, goOn chan struct{}

func wait(n int) int {
	close(begun)
	<-goOn
	return n
}

// submit submits a pipeline to a job server of the embedded runner.
func submit(t *testing.T, build func(s beam.Scope)) *Job {
	t.Helper()
	set(t, jobopts.Endpoint, jobserver.Start(t))
	set(t, jobopts.EnvironmentType, "LOOPBACK")
	p, s := beam.NewPipelineWithRoot()
	build(s)
	j, err := Submit(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func set[T any](t *testing.T, flag *T, v T) {
	was := *flag
	*flag = v
	t.Cleanup(func() { *flag = was })
}

func TestJob(t *testing.T) {
	j := submit(t, func(s beam.Scope) { beam.ParDo0(s, count, beam.Create(s, 1, 2, 4)) })
	if j.ID == "" {
		t.Error("no id")
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := counted.Load(); n != 7 {
		t.Errorf("counted %d, want 7", n)
	}
}

func TestJobFails(t *testing.T) {
	j := submit(t, func(s beam.Scope) { beam.ParDo0(s, refuse, beam.Create(s, 1, 2)) })
	if err := j.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "two is too many") {
		t.Errorf("%v, want what the DoFn says", err)
	}
}

// TestInterrupt leaves a job, which goes on, and then cancels it.
func TestInterrupt(t *testing.T) {
	begun, goOn = make(chan struct{}), make(chan struct{})
	j := submit(t, func(s beam.Scope) { beam.ParDo(s, wait, beam.Create(s, 1)) })
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
	if err := j.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := j.Wait(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Errorf("%v, want %v", err, ErrCancelled)
	}
}

func TestNoServer(t *testing.T) {
	set(t, jobopts.EnvironmentType, "LOOPBACK")
	set(t, jobopts.Endpoint, "")
	p, s := beam.NewPipelineWithRoot()
	beam.Impulse(s)
	if _, err := Submit(t.Context(), p); err == nil || !strings.Contains(err.Error(), "--endpoint") {
		t.Errorf("no endpoint: %v", err)
	}
	set(t, jobopts.Endpoint, "localhost:1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Submit(ctx, p); err == nil || !strings.Contains(err.Error(), "no job server answers at localhost:1") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestEnding has the messages of jobs, in the orders in which job servers send them.
func TestEnding(t *testing.T) {
	state := func(s jobpb.JobState_Enum) *jobpb.JobMessagesResponse {
		return &jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_StateResponse{StateResponse: &jobpb.JobStateEvent{State: s}}}
	}
	says := func(i jobpb.JobMessage_MessageImportance, text string) *jobpb.JobMessagesResponse {
		return &jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_MessageResponse{MessageResponse: &jobpb.JobMessage{Importance: i, MessageText: text}}}
	}
	failure := says(jobpb.JobMessage_JOB_MESSAGE_ERROR, "out of cheese")
	for _, c := range []struct {
		name string
		msgs []*jobpb.JobMessagesResponse
		want string
	}{
		{"done", []*jobpb.JobMessagesResponse{state(jobpb.JobState_RUNNING), state(jobpb.JobState_DONE)}, ""},
		{"drained", []*jobpb.JobMessagesResponse{state(jobpb.JobState_DRAINED)}, ""},
		{"errors on the way", []*jobpb.JobMessagesResponse{failure, state(jobpb.JobState_DONE)}, ""},
		{"cancelled", []*jobpb.JobMessagesResponse{state(jobpb.JobState_CANCELLING), state(jobpb.JobState_CANCELLED)}, ErrCancelled.Error()},
		{"failed, and then why", []*jobpb.JobMessagesResponse{state(jobpb.JobState_FAILED), failure}, "the job failed: out of cheese"},
		{"why, and then failed", []*jobpb.JobMessagesResponse{failure, state(jobpb.JobState_FAILED)}, "the job failed: out of cheese"},
	} {
		var e ending
		for i, m := range c.msgs {
			done, err := e.take(t.Context(), m)
			if last := i == len(c.msgs)-1; done != last {
				t.Errorf("%s: done is %v after message %d", c.name, done, i)
			} else if got := ""; last {
				if err != nil {
					got = err.Error()
				}
				if got != c.want {
					t.Errorf("%s: %q, want %q", c.name, got, c.want)
				}
			}
		}
	}
	if err := (&ending{failed: true}).error(); err == nil || !strings.Contains(err.Error(), "does not say why") {
		t.Errorf("no reason: %v", err)
	}
}
