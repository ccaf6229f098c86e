//go:build flink

package flink

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	jobs "tidemark/internal/cluster"
	"tidemark/testing/streamtest"
)

// TestCancelAtOnce cancels endless jobs while they are on their way to Flink. None may
// come after that and go on.
func TestCancelAtOnce(t *testing.T) {
	c := need(t)
	for _, after := range []time.Duration{0, 100 * time.Millisecond, time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			name := c.configure(t)
			p, s := beam.NewPipelineWithRoot()
			endless := streamtest.Timeline{}
			if _, err := endless.At(0, "never").TryStepped(s, time.Second, func(streamtest.Progress) bool { return false }); err != nil {
				t.Fatal(err)
			}
			on, err := jobs.Submit(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = on.Close() }()
			ended := make(chan error, 1)
			go func() { ended <- on.Wait(context.WithoutCancel(t.Context())) }()
			time.Sleep(after)
			if err := on.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, jobs.ErrCancelled) {
				t.Errorf("the job has ended with %v, want %v", err, jobs.ErrCancelled)
			}
			eventually(t, "the job is cancelled on Flink", func() bool { return c.job(t, name).State == "CANCELED" })
		})
	}
}
