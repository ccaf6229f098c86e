// Package files reads files of records in batch: newline-delimited JSON.
//
// [Read] turns files into records at their event times and bad records with
// their positions. Nothing is skipped: every line that is not blank is one or
// the other.
//
// # Positions
//
// A record's position is its line number, from 1, in a file that is read from
// start to end, and the byte offset of its line in a file that is large enough
// to be read in parallel ranges ([SplitBytes]).
//
// # Lines
//
// Lines end with a newline; the last one need not. A carriage return before it
// and blank lines are ignored, and so is a byte order mark at the start of a
// file. A line longer than the limit is a bad record whose text is cut.
//
// # Memory
//
// A file is never held whole: the source checkpoints itself every few
// megabytes, and what it has emitted can go on.
package files
