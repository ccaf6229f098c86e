package windowfns

import (
	"fmt"
	"time"
)

var _ Fn = Tumbling{}

// Tumbling assigns each element to one window of a fixed length. The windows
// are
//
//	[k*Size + Offset, (k+1)*Size + Offset)   for every integer k
//
// counted from the Unix epoch, UTC. They tile time.
type Tumbling struct {
	// Size is the window length in event time: a positive whole number of
	// milliseconds, at most 876600h (100 years). Required.
	Size time.Duration

	// Offset moves every window boundary, later if positive and earlier if
	// negative: a whole number of milliseconds, -Size < Offset < Size. Days
	// that start at 06:00 UTC have Size 24h and Offset 6h. Zero aligns the
	// windows with the epoch.
	Offset time.Duration
}

// AppendWindows appends the window of tMs to dst. See [Fn].
func (f Tumbling) AppendWindows(dst []Window, tMs int64) []Window {
	size := f.Size.Milliseconds()
	start := gridFloor(tMs, size, f.Offset.Milliseconds())
	return append(dst, Window{StartMs: start, EndMs: start + size})
}

// Validate reports the first parameter that cannot be used, or nil.
func (f Tumbling) Validate() error {
	if err := checkLength("Tumbling", "Size", f.Size); err != nil {
		return err
	}
	return checkOffset("Tumbling", f.Offset, "Size", f.Size)
}

// String describes the windows, as in "tumbling(24h0m0s, offset 6h0m0s)".
func (f Tumbling) String() string {
	return fmt.Sprintf("tumbling(%v%s)", f.Size, offsetSuffix(f.Offset))
}
