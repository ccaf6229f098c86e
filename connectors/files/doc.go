// Package files reads records from files and pipes, in batch and as streams:
// newline-delimited JSON and comma-separated values, each also compressed.
//
// [Read] and [Stream] turn files into records at their event times and bad
// records with their positions; [ReadRows] and [StreamPair] do so for joins.
// Nothing is skipped: every line that is not blank is one or the other, or a part
// of a row of several lines, or a header.
//
// # Positions
//
// A record's position is its line number, from 1, in a file that is read from
// start to end: that of its first line where it has several. It is the byte offset
// of its line in a plain file of lines that [Read] cuts into parallel ranges: one
// of twice [SplitBytes] or more.
//
// # Lines
//
// Lines end with a newline; the last one need not. A carriage return before it
// and blank lines are ignored, and so is a byte order mark at the start of a
// file. A line longer than the limit is a bad record whose text is cut.
//
// # Comma-separated values
//
// The first row is the header, and a record is an object of strings. A row that
// is not well-formed is a bad record, and it is its first line only: the lines
// behind it are read again. So a quote that never closes costs one record.
//
// # Compressed files
//
// Data that is cut short or damaged ends with one bad record: what could be read
// in front of it counts. An error of reading the file itself fails the job.
//
// # Memory
//
// A file is never held whole: the source checkpoints itself every few
// megabytes, and what it has emitted can go on.
package files
