// Package gate tells elements that are in time for their windows from those
// that are too late, per (element, window), and loses neither. Beam drops late
// data silently; no Beam SDK has this as an output.
//
// # The rule
//
// WM is the watermark, L the allowed lateness, end the exclusive end of a
// window. At the moment when an element meets the gate:
//
//	WM < end              in time
//	end <= WM < end + L   in time, and Late: it corrects the window
//	WM >= end + L         too late for this window: missed
//
// An element of several windows can be in time for some and late for others. It
// comes out once for each window that it is in time for, and once on the late
// output, with all the windows that it missed.
//
// WM is the runner's watermark, or, where [Config].MarksDecide is set, that of the
// source.
//
// # How it is known
//
// A DoFn cannot read the watermark in Beam Go, but a trigger can. The gate
// groups elements in windows of 1 ms that end at the deadline in question, with
// a trigger that fires for every element, and reads from the timing of the pane
// whether the watermark had passed. So the gate is as exact as the runner, also
// for the first element of a window that was never seen before, and it works
// for windows that Beam Go does not have.
//
// # Windows
//
// Windows come from [Config].Windows, or from the input's own WindowInto, where
// Beam hands out an element of sliding windows once for each window: the gate
// puts neighbours with the same timestamp and encoding together again. If a
// runner tears the windows of an element apart on the way, its late records
// come in as many pieces; no (element, window) pair is lost or doubled.
//
// # Guarantees
//
//   - Every (element, window) pair comes out exactly once, in time or missed.
//     The counters assigned, added and late (namespace tidemark) show it.
//   - An element that is in time when it reaches the gate is not late because
//     the gate took its time: in flight it holds the watermark back below the
//     deadline that it has to meet. (Between the two deadlines, end and end + L,
//     an element without a mark holds nothing on runners other than Prism; it
//     is judged for end + L by the watermark when it gets there.)
//   - The outcome does not depend on shards or bundles.
//
// # Marked elements
//
// A source that computes its own watermark can send it along with each element
// (Config.Watermarked). The pipeline's watermark is never ahead of it, so what
// is in time by its mark bypasses the gate and costs nothing.
//
// What is past its last deadline by its mark is late by the rule already. Only
// the runner, which may be behind, can still be in time for it, and is asked in
// steps: has it passed that deadline rounded up to a day, or to a minute? Only
// what it has not gets to gates for each (shard, window). An element comes out
// late only if its mark is at or past end + L, never if it is not.
//
// A mark has to be a watermark that the source has had. One that is too high,
// to say that the element is late or the watermark unknown, would have the gate
// believe what it has to find out, and marks above the accepted times fail the
// job. A source that does not know its watermark sends elements without marks.
//
// # Marks that decide
//
// Where all elements are of one source with one watermark, that watermark is all
// that the runner will ever know, and it knows it later: it moves its own between
// bundles. With [Config].MarksDecide the mark is the watermark of the rule. There is
// no grouping then, nothing is remembered, and none of the Limits below on cells
// hold. What comes out depends on elements and marks alone: not on bundles, nor on
// the pace of the runner, nor on whether it went back to a checkpoint.
//
// It is not for several sources, or splits of one, that have a watermark each: the
// lowest of them counts, and what is late by that of its own source may be in time.
// A source that goes back to a checkpoint has to go on with the watermark of then.
//
// # Limits
//
// The gate keeps a small cell for every (shard, window end) that an unmarked
// element had, for as long as it remembers: a month of 1-minute windows and 4
// shards is 172,800 cells. By default it remembers for ever, because a
// runner drops what is beyond the memory of its grouping, silently. Where that
// is too much, marks, fewer shards or longer windows help, or
// Config.Retention R: what is late by more than R is then taken out by a
// coarser gate in front, and the exact gates forget a window at the latest
// 1.5 R + L after its end. Nothing is lost. But in flight through the coarse
// gate an element does not hold the watermark below its deadlines: it is judged
// by the watermark of a few milliseconds later. That is for live streams, whose
// event time goes by at the pace of the clock; in a replay, where a millisecond
// can be a day, it would make elements late that are not. Leave it 0 there.
//
// On Prism each cell that a bundle touches costs a walk over all cells that are
// remembered. At the pace of the clock that does not matter; replaying months of
// unmarked elements is slow, and wants marks.
//
// Marked elements cost a cell for each day that late ones had a deadline in, for
// ever; one for each minute, for a day, if they came within the day; and one for
// each (shard, window end), for L and two minutes, if they came within the
// minute. With a large L it is the last ones that add up. A bundle whose late
// elements lie in thousands of different days is slow on Prism.
//
// An element type is anything that Beam can encode, but not a KV: put key and
// value into a struct. Timestamps are of the years 1900 to 2185; others, such as
// those of elements that were never given one, fail the job.
package gate
