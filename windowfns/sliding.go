package windowfns

import (
	"fmt"
	"slices"
	"time"
)

var _ Fn = Sliding{}

// Sliding assigns each element to the windows of length Size, one starting
// every Period, that contain it. The windows are
//
//	[k*Period + Offset, k*Period + Offset + Size)   for every integer k
//
// counted from the Unix epoch, UTC. An element has Size/Period windows if
// Period divides Size; otherwise that number is rounded down or up, depending
// on its timestamp.
type Sliding struct {
	// Size is the window length in event time: a positive whole number of
	// milliseconds, at most 876600h (100 years). Required.
	Size time.Duration

	// Period is the event time between the starts of two windows: a positive
	// whole number of milliseconds, at most Size and at least Size/100000.
	// Required. With Period equal to Size the windows are those of [Tumbling].
	Period time.Duration

	// Offset moves every window boundary, later if positive and earlier if
	// negative: a whole number of milliseconds, -Period < Offset < Period.
	// Zero aligns the window starts with the epoch.
	Offset time.Duration
}

// AppendWindows appends the windows of tMs to dst, the earliest first. See
// [Fn].
func (f Sliding) AppendWindows(dst []Window, tMs int64) []Window {
	size, period := f.Size.Milliseconds(), f.Period.Milliseconds()
	first, last := f.Ends(tMs)
	dst = slices.Grow(dst, int((last-first)/period)+1)
	for end := first; end <= last; end += period {
		dst = append(dst, Window{StartMs: end - size, EndMs: end})
	}
	return dst
}

// Validate reports the first parameter that cannot be used, or nil.
func (f Sliding) Validate() error {
	if err := checkLength("Sliding", "Size", f.Size); err != nil {
		return err
	}
	if err := checkLength("Sliding", "Period", f.Period); err != nil {
		return err
	}
	if f.Period > f.Size {
		return fmt.Errorf("windowfns.Sliding: Period = %v, want at most Size = %v", f.Period, f.Size)
	}
	if err := checkOffset("Sliding", f.Offset, "Period", f.Period); err != nil {
		return err
	}
	return checkCount("Sliding", f.Size, "Period", f.Period)
}

// String describes the windows, as in "sliding(10m0s every 1m0s)".
func (f Sliding) String() string {
	return fmt.Sprintf("sliding(%v every %v%s)", f.Size, f.Period, offsetSuffix(f.Offset))
}
