package windowfns

// A Grid is an Fn whose windows end at multiples of a step, no two of them at
// the same time, so that the windows of an element are those of a run of ends.
// Transforms handle an element of a Grid once, however many windows it has:
// elements with the same run share a slice, and windows are put together from
// slices.
//
// [Tumbling], [Sliding] and [Cumulative] are Grids. An Fn of your own becomes
// one by having these methods. They agree with AppendWindows: the windows of tMs
// are EndingAt(first), EndingAt(first + StepMs), ... EndingAt(last). The two ends
// of a run never descend as tMs ascends.
type Grid interface {
	Fn

	// Ends returns the ends of the first and the last window of tMs.
	Ends(tMs int64) (firstMs, lastMs int64)

	// EndingAt returns the window that ends at endMs, a multiple of the step
	// away from an end that Ends gives.
	EndingAt(endMs int64) Window

	// StepMs is the time between two ends, positive.
	StepMs() int64
}

var (
	_ Grid = Tumbling{}
	_ Grid = Sliding{}
	_ Grid = Cumulative{}
)

// Ends implements [Grid].
func (f Tumbling) Ends(tMs int64) (firstMs, lastMs int64) {
	size := f.Size.Milliseconds()
	end := gridFloor(tMs, size, f.Offset.Milliseconds()) + size
	return end, end
}

// EndingAt implements [Grid].
func (f Tumbling) EndingAt(endMs int64) Window {
	return Window{StartMs: endMs - f.Size.Milliseconds(), EndMs: endMs}
}

// StepMs implements [Grid].
func (f Tumbling) StepMs() int64 { return f.Size.Milliseconds() }

// Ends implements [Grid].
func (f Sliding) Ends(tMs int64) (firstMs, lastMs int64) {
	size, period := f.Size.Milliseconds(), f.Period.Milliseconds()
	last := gridFloor(tMs, period, f.Offset.Milliseconds())
	// A window contains tMs if its start is at most tMs and after tMs - size.
	before := (size - 1 - (tMs - last)) / period
	return last - before*period + size, last + size
}

// EndingAt implements [Grid].
func (f Sliding) EndingAt(endMs int64) Window {
	return Window{StartMs: endMs - f.Size.Milliseconds(), EndMs: endMs}
}

// StepMs implements [Grid].
func (f Sliding) StepMs() int64 { return f.Period.Milliseconds() }

// Ends implements [Grid].
func (f Cumulative) Ends(tMs int64) (firstMs, lastMs int64) {
	size, step := f.Size.Milliseconds(), f.Step.Milliseconds()
	start := gridFloor(tMs, size, f.Offset.Milliseconds())
	return start + ((tMs-start)/step+1)*step, start + size
}

// EndingAt implements [Grid].
func (f Cumulative) EndingAt(endMs int64) Window {
	return Window{StartMs: gridFloor(endMs-1, f.Size.Milliseconds(), f.Offset.Milliseconds()), EndMs: endMs}
}

// StepMs implements [Grid].
func (f Cumulative) StepMs() int64 { return f.Step.Milliseconds() }
