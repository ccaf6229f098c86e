// Package oracle computes what a windowed GMV or average, or an interval join, has
// to come to, for tests to compare pipelines with.
//
// It plays a script of elements and watermarks one step at a time and follows
// the promises of the transforms to the letter: for an element with timestamp t
// and each window [start, end) that the window function gives it,
//
//	WM < end               it is added, and shows in the ON_TIME row
//	end <= WM < end + L    it is added, and a LATE row shows it at once
//	end + L <= WM          it is late for the window
//
// WM being the watermark at that moment and L the allowed lateness. When the
// watermark reaches end, every key with something added so far gets its ON_TIME
// row. A sum of money outside int64 is reported instead of shown and takes no
// revision.
//
// # Early and final rows
//
// There is an EARLY row as soon as EarlyCount elements of a key and window are
// not shown while WM < end, and one EarlyDelay of processing time after the first
// element that is not, if nothing has shown it by then and WM < end. Everything
// is shown then. The ON_TIME row comes all the same, and no EARLY row after it.
// A sum that is reported counts as shown.
//
// When WM reaches end + L, each key and window that ever had a row has a FINAL
// one: the last row's values again, and the same as previous ones.
//
// # Sessions
//
// Whether an element is in time, a correction or late is judged by its own window
// [t, t + gap), and late records and counts of pairs are about that; in Counts it
// is in the UTC day of t. What it is added to is the session: its own window with
// all sessions of the key that overlap it. If WM has passed the end of the
// session, a LATE row shows it at once; otherwise it shows in EARLY rows and in the
// ON_TIME row.
//
// A session that reaches further than before is another window, with rows of its
// own, from revision 0. What it swallows is withdrawn at once, if it had a row:
// the next revision with a count and a sum of 0, no average and no latest time;
// the pane is EARLY before that window's own end, LATE after it. A window that is
// swallowed has no ON_TIME row after that, but a FINAL one as any other that had
// a row; if it had that already, it is withdrawn after it. All elements of the new
// session count as not shown, those that were shown elsewhere since the merge.
//
// # Joins
//
// A [JoinConfig] plays a script of left and right elements and watermarks of the
// join; [JoinConfig.Play] says what comes out when.
//
// # Independence
//
// Nothing here is shared with the transforms but the window functions. Sums are
// big.Rats, which are exact, averages are rounded once, and state is a map, kept
// for ever; joins compare every left element with every right one. This is for
// scripts of at most some thousands of steps.
package oracle

import (
	"time"

	"tidemark/windowfns"
)

// Element is an amount of money, or a value to average, at a time.
type Element struct {
	Key      string
	Currency string
	Minor    int64
	Value    float64 // finite
	TimeMs   int64
}

// Step is one step of a script: an element; or, where Element is nil, processing
// time that passes; or, where Elapsed is 0 too, a watermark. A watermark that is
// not higher than the one before has no effect.
type Step struct {
	Element     *Element
	Elapsed     time.Duration // in whole milliseconds
	WatermarkMs int64
}

// Add is the step that brings e.
func Add(e Element) Step { return Step{Element: &e} }

// Watermark is the step that advances the watermark to ms.
func Watermark(ms int64) Step { return Step{WatermarkMs: ms} }

// Elapse is the step that lets d of processing time pass.
func Elapse(d time.Duration) Step { return Step{Elapsed: d} }

// Config says what windows there are and which rows are asked for. The fields are
// those of aggregate.Config.
type Config struct {
	Windows         windowfns.Fn
	AllowedLateness time.Duration // L
	EarlyCount      int           // 0 is off
	EarlyDelay      time.Duration // 0 is off
	FinalRows       bool
}

func lenient(windows windowfns.Fn, latenessMs int64) Config {
	return Config{Windows: windows, AllowedLateness: time.Duration(latenessMs) * time.Millisecond}
}

// Late is an element that missed at least one of its windows.
type Late struct {
	Element Element
	Missed  []windowfns.Window // by ascending end
	All     bool               // it missed every window that it has
	Step    int                // its place in the script, from 0
}

// Count is how many elements of a currency a window had, and what they come to.
type Count struct {
	StartMs  int64
	EndMs    int64
	Currency string
	Kind     string // assigned, added, corrected or late
	Elements int64
	Sum      string // in decimal
}

// Outcome is what every script has, whatever it adds up.
type Outcome struct {
	Late []Late

	// Pairs of an element and one of its windows. Assigned = Added + Missed,
	// and Corrected is the part of Added that came at or after the end.
	Assigned  int64
	Added     int64
	Corrected int64
	Missed    int64

	// Counts are the same by window, currency and kind, and in what is added up,
	// in no certain order.
	Counts []Count
}
