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
//   - EARLY, if asked for: while WM < end, when EarlyCount elements of the key and
//     window are not shown yet, or at EarlyDelay of processing time after the
//     first that is not. With both, whichever comes first.
//   - ON_TIME: one row for each key and window that had an element while
//     WM < end, when WM reaches end, even if EARLY rows have shown everything.
//   - LATE: a corrected row as soon as an element comes while
//     end <= WM < end + L. Elements of one bundle can share it. If a key and
//     window had nothing before end, its first row is a LATE one.
//   - FINAL, if asked for: when WM reaches end + L, the values of the last row
//     once more, for each key and window that had one.
//   - Apart from that there is no row without new data.
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
// comes out on the late output once, with all the windows that it missed. Who
// decides, and by which watermark, is as in package gate: the runner, or, with
// [Config].MarksDecide, the marks of the one source that there is.
//
// With MarksDecide these depend on elements and marks alone: which elements are
// late for which windows, and what the ON_TIME row and the last row of a key and
// window come to. How many EARLY and LATE rows there are does not: corrections that
// meet in a bundle share a row. Of sessions it is the late elements and the last
// rows. Where the runner is behind, a correction can be in the ON_TIME row of a
// longer session, and a session that grows before its row is out is not withdrawn.
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
// No elements are kept, but one accumulator for each key and slice: the elements
// with the same windows. An element of a [windowfns.Grid] is added to its slice
// alone, however many windows it has, and windows are put together from slices,
// at a few merges for each slice and key. So 24 hours every minute cost an element
// little more than 3 minutes every minute, and the state is 1,440 accumulators a
// key, not 1,440 windows of them. What was shown of a key and window is kept only
// where it does not follow from the slices: with EARLY rows, and where there were
// corrections.
//
// State lies in the global window, where no runner clears it before its time, in
// cells of a shard and one or more windows. A cell is a log that is appended to
// blindly and compacted as it doubles; a window's slices are forgotten when the
// watermark has passed its end + L, and the cell when it has passed those of all of
// its windows. A worker remembers cells between bundles, up to 128 MiB of their
// logs, and needs none of that to be right.
//
// The sessions of a shard have one cell, so that they meet. Each is forgotten at
// its end + gap + L, when no element in time can reach it any more, or a little
// later, with the next session that ends.
//
// What the gate remembers of past windows, where there is one, is in package gate,
// Limits.
//
// # Runners
//
// The fold is one DoFn with bags, a value and one timer family, in the global
// window, and nothing has side inputs: that is what Flink's portable runner can do.
// It is checked by internal/portability. Keys are dealt into Config.Shards shards,
// and no more workers than that can share a fold. EARLY rows by delay need a trigger
// by processing time, which was not tried on Flink.
//
// A runner that goes back to a checkpoint emits again what it had emitted since.
// With MarksDecide, late elements and totals are the same then. Elements can share
// EARLY and LATE rows otherwise than before, so that the last row of a key and window
// can have a lower revision than one of before the failure. Without such rows each is
// what it was. Counts are emitted again as well: whoever adds them up has them twice.
package aggregate
