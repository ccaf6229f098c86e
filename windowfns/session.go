package windowfns

import (
	"fmt"
	"time"
)

var _ Fn = Session{}

// Session gives an element the window that it opens by itself,
//
//	[t, t + Gap)
//
// t being its timestamp. The windows of a key that overlap are merged by the
// transform: a session lasts from its first element to Gap after its last one.
// An element at exactly Gap after the last one opens a session of its own.
type Session struct {
	// Gap is the event time without elements that ends a session: a positive
	// whole number of milliseconds, at most 876600h (100 years). Required.
	Gap time.Duration
}

// AppendWindows appends the window of tMs to dst. See [Fn].
func (f Session) AppendWindows(dst []Window, tMs int64) []Window {
	return append(dst, Window{StartMs: tMs, EndMs: tMs + f.Gap.Milliseconds()})
}

// Validate reports why Gap cannot be used, or nil.
func (f Session) Validate() error { return checkLength("Session", "Gap", f.Gap) }

// String describes the windows, as in "session(10m0s)".
func (f Session) String() string { return fmt.Sprintf("session(%v)", f.Gap) }
