package windowfns_test

import (
	"testing"
	"time"

	"tidemark/windowfns"
)

// benchFns has one function of each kind and, for Calendar, of each unit.
var benchFns = []windowfns.Fn{
	windowfns.Tumbling{Size: time.Minute},
	windowfns.Sliding{Size: 10 * time.Minute, Period: time.Minute},
	windowfns.Cumulative{Step: time.Hour, Size: 24 * time.Hour},
	windowfns.Session{Gap: 10 * time.Minute},
	windowfns.Calendar{Unit: windowfns.Day},
	windowfns.Calendar{Unit: windowfns.Day, Zone: "America/Los_Angeles"},
	windowfns.Calendar{Unit: windowfns.Week, Zone: "America/Los_Angeles"},
	windowfns.Calendar{Unit: windowfns.Month, Zone: "America/Los_Angeles"},
}

// BenchmarkAppendWindows walks through a year in steps of 61 minutes.
func BenchmarkAppendWindows(b *testing.B) {
	for _, fn := range benchFns {
		b.Run(fn.String(), func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]windowfns.Window, 0, 32)
			from := at("2024-01-01T00:00:00Z")
			to := at("2025-01-01T00:00:00Z")
			tMs := from
			for b.Loop() {
				buf = fn.AppendWindows(buf[:0], tMs)
				if tMs += 61 * 60 * 1000; tMs >= to {
					tMs = from
				}
			}
		})
	}
}

// TestAppendWindowsDoesNotAllocate runs every function with room in dst.
func TestAppendWindowsDoesNotAllocate(t *testing.T) {
	for _, fn := range benchFns {
		buf := make([]windowfns.Window, 0, 32)
		tMs := at("2024-03-10T12:34:56Z")
		buf = fn.AppendWindows(buf[:0], tMs) // loads the zone
		got := testing.AllocsPerRun(100, func() {
			buf = fn.AppendWindows(buf[:0], tMs)
			tMs += 1_000_003
		})
		if got != 0 {
			t.Errorf("%v: %v allocations per call, want 0", fn, got)
		}
	}
}
