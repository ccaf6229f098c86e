//go:build flink

package flink

import (
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

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
			on := submit(t, p)
			time.Sleep(after)
			on.cancelled(t)
			eventually(t, "the job is cancelled on Flink", func() bool { return c.job(t, name).State == "CANCELED" })
		})
	}
}
