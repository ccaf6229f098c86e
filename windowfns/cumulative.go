package windowfns

import (
	"fmt"
	"slices"
	"time"
)

var _ Fn = Cumulative{}

// Cumulative assigns each element to windows that share a start and grow by
// Step up to Size, as for "the day so far, every hour". The windows are
//
//	[k*Size + Offset, k*Size + Offset + j*Step)   for every integer k
//	                                              and j = 1 .. Size/Step
//
// counted from the Unix epoch, UTC. An element belongs to those of its k whose
// end is after it: to Size/Step windows in the first step, to one in the last.
type Cumulative struct {
	// Step is the event time by which the windows grow: a positive whole
	// number of milliseconds that divides Size, at least Size/100000.
	// Required.
	Step time.Duration

	// Size is the length of the longest window in event time: a positive
	// whole number of milliseconds, at most 876600h (100 years). Required.
	Size time.Duration

	// Offset moves every window boundary, later if positive and earlier if
	// negative: a whole number of milliseconds, -Size < Offset < Size. Zero
	// aligns the window starts with the epoch.
	Offset time.Duration
}

// AppendWindows appends the windows of tMs to dst, the shortest first. See
// [Fn].
func (f Cumulative) AppendWindows(dst []Window, tMs int64) []Window {
	size, step := f.Size.Milliseconds(), f.Step.Milliseconds()
	first, last := f.Ends(tMs)
	dst = slices.Grow(dst, int((last-first)/step)+1)
	for end := first; end <= last; end += step {
		dst = append(dst, Window{StartMs: last - size, EndMs: end})
	}
	return dst
}

// Validate reports the first parameter that cannot be used, or nil.
func (f Cumulative) Validate() error {
	if err := checkLength("Cumulative", "Step", f.Step); err != nil {
		return err
	}
	if err := checkLength("Cumulative", "Size", f.Size); err != nil {
		return err
	}
	if f.Size%f.Step != 0 {
		return fmt.Errorf("windowfns.Cumulative: Step = %v, want a divisor of Size = %v", f.Step, f.Size)
	}
	if err := checkOffset("Cumulative", f.Offset, "Size", f.Size); err != nil {
		return err
	}
	return checkCount("Cumulative", f.Size, "Step", f.Step)
}

// String describes the windows, as in "cumulative(24h0m0s by 1h0m0s)".
func (f Cumulative) String() string {
	return fmt.Sprintf("cumulative(%v by %v%s)", f.Size, f.Step, offsetSuffix(f.Offset))
}
