package streamtest_test

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"tidemark/testing/streamtest"
)

// Vote is the element of our stream.
type Vote struct{ Candidate string }

func init() {
	beam.RegisterType(reflect.TypeFor[Vote]())
	register.Function1x1(candidateOf)
}

func candidateOf(v Vote) string { return v.Candidate }

// The pipeline under test counts votes by the minute. The second vote comes when
// the watermark has passed the end of its minute: Beam drops it, silently.
func Example() {
	var votes streamtest.Timeline
	votes.At(30_000, Vote{"ada"}).
		Watermark(60_000).
		At(40_000, Vote{"ada"}).
		At(70_000, Vote{"ada"})

	var counts *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		minutes := beam.WindowInto(s, window.NewFixedWindows(time.Minute), votes.Create(s))
		counts = streamtest.Capture(s, stats.Count(s, beam.ParDo(s, candidateOf, minutes)))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range streamtest.Elements[streamtest.KV[string, int]](counts) {
		fmt.Printf("%s in [%d s, %d s): %d\n", e.Value.Key, e.StartMs/1000, e.EndMs/1000, e.Value.Value)
	}
	// Unordered output:
	// ada in [0 s, 60 s): 1
	// ada in [60 s, 120 s): 1
}
