package gate_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/testing/streamtest"
	"tidemark/transforms/gate"
	"tidemark/windowfns"
)

// Click is the element of our pipeline; its timestamp is the event time.
type Click struct{ Page string }

func init() { beam.RegisterType(reflect.TypeFor[Click]()) }

// Clicks in minutes, with ten seconds of allowed lateness. What is in time goes
// on to an aggregation of our own, together with its window; what is too late
// goes to a table for later.
func ExampleSplit() {
	second := time.Second.Milliseconds()
	var clicks streamtest.Timeline
	clicks.At(20*second, Click{"home"}).
		Watermark(60*second). // the first minute is over
		At(70*second, Click{"cart"}).
		At(55*second, Click{"search"}).
		Watermark(70*second). // and takes nothing more
		At(50*second, Click{"help"})

	var inTime, late *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		in, out := gate.Split(s, gate.Config{
			Windows:         windowfns.Tumbling{Size: time.Minute},
			AllowedLateness: 10 * time.Second,
		}, clicks.Create(s))
		inTime, late = streamtest.Capture(s, in), streamtest.Capture(s, out)
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	var lines []string
	for _, e := range streamtest.Values[streamtest.KV[gate.Passed, Click]](inTime) {
		correction := ""
		if e.Key.Late {
			correction = ", a correction"
		}
		lines = append(lines, fmt.Sprintf("in time for [%d s, %d s): %s%s",
			e.Key.StartMs/second, e.Key.EndMs/second, e.Value.Page, correction))
	}
	for _, e := range streamtest.Values[streamtest.KV[gate.Missed, Click]](late) {
		w := e.Key.Windows[0]
		lines = append(lines, fmt.Sprintf("too late for [%d s, %d s): %s", w.StartMs/second, w.EndMs/second, e.Value.Page))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// in time for [0 s, 60 s): home
	// in time for [0 s, 60 s): search, a correction
	// in time for [60 s, 120 s): cart
	// too late for [0 s, 60 s): help
}
