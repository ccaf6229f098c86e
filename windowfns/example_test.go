package windowfns_test

import (
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"tidemark/windowfns"
)

// printWindows prints the windows of an RFC 3339 time, one a line, UTC.
func printWindows(fn windowfns.Fn, t string) {
	for _, w := range fn.AppendWindows(nil, at(t)) {
		fmt.Println(show(w))
	}
}

// Days that start at 06:00 UTC.
func ExampleTumbling() {
	fn := windowfns.Tumbling{Size: 24 * time.Hour, Offset: 6 * time.Hour}
	printWindows(fn, "2024-05-01T05:30:00Z")
	// Output:
	// [2024-04-30T06:00:00Z, 2024-05-01T06:00:00Z) 24h0m0s
}

// The last 15 minutes, every 5 minutes.
func ExampleSliding() {
	fn := windowfns.Sliding{Size: 15 * time.Minute, Period: 5 * time.Minute}
	printWindows(fn, "2024-05-01T12:07:00Z")
	// Output:
	// [2024-05-01T11:55:00Z, 2024-05-01T12:10:00Z) 15m0s
	// [2024-05-01T12:00:00Z, 2024-05-01T12:15:00Z) 15m0s
	// [2024-05-01T12:05:00Z, 2024-05-01T12:20:00Z) 15m0s
}

// The day so far, every 6 hours.
func ExampleCumulative() {
	fn := windowfns.Cumulative{Step: 6 * time.Hour, Size: 24 * time.Hour}
	printWindows(fn, "2024-05-01T07:00:00Z")
	// Output:
	// [2024-05-01T00:00:00Z, 2024-05-01T12:00:00Z) 12h0m0s
	// [2024-05-01T00:00:00Z, 2024-05-01T18:00:00Z) 18h0m0s
	// [2024-05-01T00:00:00Z, 2024-05-02T00:00:00Z) 24h0m0s
}

// The day on which daylight saving time starts has 23 hours.
func ExampleCalendar() {
	fn := windowfns.Calendar{Unit: windowfns.Day, Zone: "America/Los_Angeles"}
	printWindows(fn, "2024-03-09T20:00:00Z")
	printWindows(fn, "2024-03-10T20:00:00Z")
	// Output:
	// [2024-03-09T08:00:00Z, 2024-03-10T08:00:00Z) 24h0m0s
	// [2024-03-10T08:00:00Z, 2024-03-11T07:00:00Z) 23h0m0s
}

// What an element opens by itself: the one at 12:05 is in the session of the one at
// 12:00, the one at 12:15 begins another.
func ExampleSession() {
	fn := windowfns.Session{Gap: 10 * time.Minute}
	printWindows(fn, "2024-05-01T12:00:00Z")
	printWindows(fn, "2024-05-01T12:05:00Z")
	printWindows(fn, "2024-05-01T12:15:00Z")
	// Output:
	// [2024-05-01T12:00:00Z, 2024-05-01T12:10:00Z) 10m0s
	// [2024-05-01T12:05:00Z, 2024-05-01T12:15:00Z) 10m0s
	// [2024-05-01T12:15:00Z, 2024-05-01T12:25:00Z) 10m0s
}

func ExampleFromBeam() {
	fn, err := windowfns.FromBeam(window.NewSlidingWindows(time.Minute, time.Hour))
	fmt.Println(fn, err)
	_, err = windowfns.FromBeam(window.NewGlobalWindows())
	fmt.Println(err)
	// Output:
	// sliding(1h0m0s every 1m0s) <nil>
	// windowfns.FromBeam: got global windows, want fixed or sliding windows, or a windowfns.Fn in the Config
}

func ExampleFn_Validate() {
	fmt.Println(windowfns.Tumbling{}.Validate())
	fmt.Println(windowfns.Cumulative{Step: 7 * time.Minute, Size: time.Hour}.Validate())
	// Output:
	// windowfns.Tumbling: Size = 0s, want a positive whole number of milliseconds
	// windowfns.Cumulative: Step = 7m0s, want a divisor of Size = 1h0m0s
}
