package windowfns

import "cmp"

// Window is the half-open event-time interval [StartMs, EndMs), in
// milliseconds since the Unix epoch, UTC. Its maximum timestamp is EndMs - 1.
type Window struct {
	StartMs int64
	EndMs   int64
}

// Contains reports whether the timestamp tMs lies in w.
func (w Window) Contains(tMs int64) bool { return w.StartMs <= tMs && tMs < w.EndMs }

// Compare orders windows by end, then by start: -1, 0 or 1.
func (w Window) Compare(v Window) int {
	return cmp.Or(cmp.Compare(w.EndMs, v.EndMs), cmp.Compare(w.StartMs, v.StartMs))
}

// Fn assigns windows to timestamps. Implementations are plain structs whose
// exported fields survive a JSON round trip, because a pipeline ships them to
// its workers; register a type of your own with beam.RegisterType in init.
type Fn interface {
	// AppendWindows appends the windows of an element with timestamp tMs to dst
	// and returns the extended slice. The windows are distinct, each contains
	// tMs, and their ends ascend. It is a pure function of the receiver and
	// tMs, safe for concurrent use.
	AppendWindows(dst []Window, tMs int64) []Window

	// Validate reports why the parameters cannot be used, as an error that
	// says what was given and what is wanted, or nil.
	Validate() error

	// String describes the windows for people, as in "tumbling(1m0s)".
	String() string
}
