// Package joins joins two streams by key and distance in time. Rows of either side
// that come too late are routed to outputs of their own, and what nothing matches can
// come out too.
//
// # The rule
//
// A left row l and a right row r of one key match when
//
//	l.time + Lower <= r.time <= l.time + Upper
//
// Both bounds are inclusive by default. WM is the watermark of the join: the minimum
// of both inputs'. L is the allowed lateness.
//
//   - A row with the timestamp t is late when WM > t + L. It is not joined, and comes
//     out on LateLeft or LateRight. A row that is not late is matched with everything
//     that it matches: at no instant is a row neither joined nor reported.
//   - A pair comes out as soon as its second row is there, once, with the timestamp
//     max(l.time, r.time). It is not behind the output watermark, but for a pair with a
//     row that came late and within L, which can be behind by L.
//   - An unmatched left row, where [Type] asks for it, comes out when no right row that
//     is not late can match it any more: WM > l.time + Upper + L. A right row does at
//     WM > r.time - Lower + L. Its timestamp is its own, and the output watermark is
//     held there until then. A row never comes out both alone and in a pair.
//   - A left semi join emits a left row once, at its first match, with the timestamp of
//     that pair; of several right rows that are there already the earliest counts. What
//     its timestamp is depends on the order of arrival, and which rows come out does not.
//
// Swapping the inputs, and negating and swapping the bounds, gives the same pairs. The
// arithmetic is in package interval.
//
// # Timing
//
// An unmatched row comes out at exactly the watermark above where a bundle has brought
// up to 32 rows of its side and shard. Rows of larger bundles share timers, about 32
// for the stretch of event time that the bundle covers, and come out up to a 32nd of
// that later, because the watermark moves between bundles; and at most a 32nd of
// Upper - Lower + L later, or a second if that is more.
//
// # Bounded state
//
// A left row is held until WM > l.time + Upper + L, a right row until WM > r.time -
// Lower + L, each side for itself, and up to the time between two timers longer. With
// Lower = 0 a right row is held only until it would be late itself. Left rows of semi
// and anti joins are let go at their first match. When the watermark is at infinity
// nothing is left.
//
// Rows are kept sorted by key and time, so that a row costs a search and its matches,
// however many rows its key holds. [Config].MaxRowsPerKey bounds those: what comes when
// a key holds as many rows, of both sides, comes out on OverLimitLeft or OverLimitRight
// and is not joined. Rows that wait for their timers count.
//
// The runner's state holds each row as it came, appended once, in the global window,
// keyed by shard. Between bundles a worker keeps the rows that it has read in memory.
//
// # Lateness, and marked values
//
// The runner decides what is late, exactly, as in package gate: the watermark is that
// which it has when it gets to the row. Values that are [Marked] bring the watermark of
// their source along. What is in time by its mark is not asked about, which is several
// times as fast; and a source that knows the watermarks of both inputs can decide alone
// ([Config].MarksDecide), so that results do not depend on the runner's pace.
//
// Unmarked rows go through the gate a bundle at a time, and where the earliest row of a
// bundle is late they are asked about in ever smaller parts. On runners where an element
// behind the watermark does not hold it, rows of such a bundle are judged by the
// watermark of a moment later. The gate keeps a cell for each bundle and shard, and for
// each late row, for as long as it remembers: see [Config].Retention.
//
// # Counts
//
// In namespace tidemark, of each side (left_, right_): assigned = joined + unmatched +
// late + over_limit holds when the watermark has been at infinity. In semi and anti
// joins a right row is joined when it was the first match of a left row.
//
// # Errors
//
// A bad Config or input is refused at construction, saying what was given and what is
// wanted. Timestamps are of the years 1900 to 2185; others fail the job.
package joins
