package average_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
	"tidemark/transforms/average"
	"tidemark/transforms/gate"
	"tidemark/windowfns"
)

// Reading is the element of our pipeline; its timestamp is the event time.
type Reading struct {
	Station string
	Celsius float64
}

func init() {
	beam.RegisterType(reflect.TypeFor[Reading]())
	register.Function1x1(temperature)
}

func temperature(r Reading) average.Entry { return average.Entry{Key: r.Station, Value: r.Celsius} }

// The mean temperature of the last two hours, every hour. Readings that come up
// to half an hour after the end of a window correct it; what comes later than
// that is on an output of its own, with the windows that it missed. The readings
// of this example are played step by step; in production they come from a source.
func ExamplePerKey() {
	var readings streamtest.Timeline
	readings.At(clockMs("09:10"), Reading{"north", 17.5}).
		At(clockMs("10:20"), Reading{"north", 18.25}).
		Watermark(clockMs("11:00")).
		At(clockMs("09:50"), Reading{"north", 18.5}). // late for 08:00-10:00, a correction of 09:00-11:00
		Watermark(clockMs("12:00"))

	var rows, late *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		cfg := average.Config{
			Windows:         windowfns.Sliding{Size: 2 * time.Hour, Period: time.Hour},
			AllowedLateness: 30 * time.Minute,
		}
		means, tooLate := average.PerKey(s, cfg, temperature, readings.Create(s))
		rows, late = streamtest.Capture(s, means), streamtest.Capture(s, tooLate)
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	var lines []string
	for _, r := range streamtest.Values[average.Row](rows) {
		lines = append(lines, fmt.Sprintf("%s %s-%s: revision %d, %s, %.2f degrees, mean of %d",
			r.Key, clockOf(r.StartMs), clockOf(r.EndMs), r.Revision, r.Pane, *r.Average, r.Count))
	}
	for _, l := range streamtest.Values[streamtest.KV[gate.Missed, Reading]](late) {
		for _, w := range l.Key.Windows {
			lines = append(lines, fmt.Sprintf("too late for %s-%s: %.2f degrees, %s", clockOf(w.StartMs), clockOf(w.EndMs), l.Value.Celsius, l.Value.Station))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// north 08:00-10:00: revision 0, ON_TIME, 17.50 degrees, mean of 1
	// north 09:00-11:00: revision 0, ON_TIME, 17.88 degrees, mean of 2
	// north 09:00-11:00: revision 1, LATE, 18.08 degrees, mean of 3
	// north 10:00-12:00: revision 0, ON_TIME, 18.25 degrees, mean of 1
	// too late for 08:00-10:00: 18.50 degrees, north
}

// clockMs is a time of 2026-09-01.
func clockMs(hhmm string) int64 {
	t, err := time.Parse("2006-01-02 15:04", "2026-09-01 "+hhmm)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

func clockOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04") }
