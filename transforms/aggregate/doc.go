// Package aggregate computes one value per key and window, corrects it when
// late elements come within the allowed lateness, and hands out what comes
// later than that.
//
// What is computed is up to an [Aggregator]: a mergeable accumulator with an
// encoding. Package gmv is one; see the example for a small one.
//
// # Panes
//
// With WM the watermark, L the allowed lateness and end the exclusive end of a
// window:
//
//   - ON_TIME: one row for each key and window that had an element while
//     WM < end, when WM reaches end.
//   - LATE: a corrected row as soon as an element comes while
//     end <= WM < end + L. Elements of one bundle can share it. If a key and
//     window had nothing before end, its first row is a LATE one.
//   - There is no row without new data.
//
// Every row carries the whole total so far, a revision that counts the rows of
// its key and window from 0, and the total of the row before: enough for a
// consumer that appends, one that upserts by (key, window), and one that
// retracts. Rows have the timestamp end - 1 ms, are in the global window, carry
// their window as data, and can be windowed again.
//
// # Sessions
//
// With [windowfns.Session] the windows of a key that overlap are one: a session.
// Windows that touch, [0, 10) and [10, 20), do not overlap. Whether an element is
// in time, a correction or late is judged by its own window, [t, t + gap); the
// pane of a row by the session:
//
//   - A session is ON_TIME when WM reaches its end. A late element that is added
//     to one that has ended shows in a LATE row at once; one that makes it last
//     until after WM shows in the ON_TIME row of the longer session.
//   - A session that reaches further than before, on either side, is another
//     window, with revisions from 0. Each session that it swallows and that had a
//     row is withdrawn at once: the next revision, with an empty Total. The pane is
//     EARLY before that window's own end, and LATE after it. Only a worker that has
//     just taken over can put this off, until something ends in its shard.
//   - A session that had no row vanishes silently, even if it had a total that was
//     not let through: nothing was said that has to be taken back.
//   - No element of the longer session counts as shown, so that EARLY rows come by
//     count at once if it has enough of them; by delay, from the first element that
//     nothing had shown, or from now.
//   - What is withdrawn has a FINAL row at its end + L, as all that had a row. If it
//     had that already, it is withdrawn after it, by an element whose own window is
//     still open.
//
// The last rows of all windows, without those that are withdrawn, are the sessions
// of all elements that were added, in whatever order they came.
//
// # Late elements
//
// An element that comes at WM >= end + L for a window is not added to it. It
// comes out on the late output once, with all the windows that it missed; see
// package gate, which decides.
//
// # Guarantees
//
//   - Conservation: each (element, window) pair is in exactly one total or one
//     late record. The counters assigned, added and late (namespace tidemark)
//     count pairs, at three different places.
//   - A total depends on which elements were added, never on their order, on
//     bundles or on shards.
//   - A total that the aggregator does not let through is reported, takes no
//     revision, and keeps its elements; later ones can bring it back.
//
// [PerKeyWithCounts] has the counts per window and group as an output too, with
// the totals of what is counted. It changes nothing else.
//
// Timestamps are of the years 1900 to 2185; others, such as those of elements
// that were never given one, fail the job.
//
// # State
//
// One accumulator a key and open window, no elements. The accumulators of a
// shard and window lie in one cell, as a log that is appended to blindly and
// compacted as it doubles, in the global window: there no runner clears it
// before its time. A cell is freed by a timer at end + L. An element in time is
// aggregated within its bundle first, so that a cell is touched once a bundle.
//
// The sessions of a shard have one cell, so that they meet. Each is forgotten at
// its end + gap + L, when no element in time can reach it any more, or a little
// later, with the next session that ends.
//
// What the gate remembers of past windows is in package gate, Limits.
//
// A cell is read whole when its window fires and at each correction: with
// millions of keys, use more shards.
//
// # Runners
//
// The fold is one DoFn with one bag and one timer family, which is what Flink's
// portable runner can do. EARLY and FINAL rows are not emitted yet.
package aggregate
