// Package oracle computes what a windowed GMV or average has to come to, for
// tests to compare pipelines with.
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
// Nothing here is shared with the transforms but the window functions. Sums are
// big.Rats, which are exact, averages are rounded once, and state is a map, kept
// for ever: this is for scripts of at most some thousands of steps.
package oracle

import "tidemark/windowfns"

// Element is an amount of money, or a value to average, at a time.
type Element struct {
	Key      string
	Currency string
	Minor    int64
	Value    float64 // finite
	TimeMs   int64
}

// Step is one step of a script: an element, or a watermark where Element is
// nil. A watermark that is not higher than the one before has no effect.
type Step struct {
	Element     *Element
	WatermarkMs int64
}

// Add is the step that brings e.
func Add(e Element) Step { return Step{Element: &e} }

// Watermark is the step that advances the watermark to ms.
func Watermark(ms int64) Step { return Step{WatermarkMs: ms} }

// Late is an element that missed at least one of its windows.
type Late struct {
	Element Element
	Missed  []windowfns.Window // by ascending end
	All     bool               // it missed every window that it has
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
