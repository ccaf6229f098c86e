// Package windowfns maps event times to windows.
//
// A window is a half-open interval [start, end) of event time, in whole
// milliseconds since the Unix epoch, UTC. A window function is a plain struct
// that implements [Fn]; it is data plus arithmetic and needs no pipeline.
//
//	function      windows of an element   for example
//	[Tumbling]    one                     every minute
//	[Sliding]     ceil(Size/Period)       10 minutes, every minute
//	[Cumulative]  1 to Size/Step          the day so far, every hour
//	[Calendar]    one                     days in America/Los_Angeles
//	[Session]     one, that grows         until 10 minutes without an element
//
// [FromBeam] converts Beam's own fixed and sliding windows. A type of your own
// that implements [Fn] works wherever these do.
//
// # Guarantees
//
// For every time of the years 1900 to 2185, UTC:
//
//   - Each window that a function returns contains the time.
//   - The windows of one time are distinct and their ends ascend.
//   - Tumbling and Calendar windows tile time: every time lies in exactly one
//     window, and each window starts where the one before it ends.
//   - Times before 1970 are treated like those after it: division rounds
//     towards negative infinity.
//   - AppendWindows does not allocate when dst has room.
//
// The window of a Session is what an element opens by itself, and what its
// lateness is judged by. What sessions there are depends on the other elements of
// its key, which no function of one time can know: package aggregate merges them.
//
// # Limits
//
// AppendWindows does not check the parameters: call Validate once before, at
// pipeline construction. With parameters that Validate refuses, AppendWindows
// panics or returns windows without meaning.
//
// A Size is at most 876600h (100 years of 365.25 days), and an element has at
// most 100000 windows. Times of the years 1900 to 2185 are below 7e12 ms in
// magnitude and sizes below 4e12 ms, so that no sum of them comes near the
// limits of int64.
//
// Calendar takes the rules of a zone from the machine's zone data and, where
// there are none, from the copy that this package embeds. Machines with
// different editions of the zone data can disagree on a zone whose rules the
// editions changed. Set the environment variable ZONEINFO to use a file of
// your own on every machine.
package windowfns
