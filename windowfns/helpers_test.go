package windowfns_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/windowfns"
)

// at returns an RFC 3339 time, such as "2024-03-10T08:00:00Z", in milliseconds
// since the Unix epoch.
func at(s string) int64 {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

// win returns the window between two RFC 3339 times.
func win(start, end string) windowfns.Window {
	return windowfns.Window{StartMs: at(start), EndMs: at(end)}
}

// show returns a window for people: its bounds, UTC, and its length.
func show(w windowfns.Window) string {
	start, end := time.UnixMilli(w.StartMs).UTC(), time.UnixMilli(w.EndMs).UTC()
	return fmt.Sprintf("[%s, %s) %v", start.Format(time.RFC3339), end.Format(time.RFC3339), end.Sub(start))
}

// An assignCase is a function, a time, and the windows that the time has.
type assignCase struct {
	name string
	fn   windowfns.Fn
	tMs  int64
	want []windowfns.Window
}

func runAssign(t *testing.T, cases []assignCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.fn.Validate(); err != nil {
				t.Fatal(err)
			}
			got := c.fn.AppendWindows(nil, c.tMs)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v.AppendWindows(%d): mismatch (-want +got):\n%s", c.fn, c.tMs, diff)
			}
		})
	}
}
