// Package oracle computes what a windowed GMV has to come to, for tests to
// compare pipelines with.
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
// row. A sum outside int64 is reported instead of shown and takes no revision.
//
// Nothing here is shared with the transforms but the window functions. Sums are
// big.Ints and state is a map, kept for ever: this is for scripts of at most
// some thousands of steps.
package oracle

import (
	"math"

	"tidemark/windowfns"
)

// Element is an amount of money at a time.
type Element struct {
	Key      string
	Currency string
	Minor    int64
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

// Row is a row as the transform emits it. The fields are those of gmv.Row, so
// that one converts to the other.
type Row struct {
	Key           string
	Currency      string
	StartMs       int64
	EndMs         int64
	Pane          string // ON_TIME or LATE
	Revision      int64
	Minor         int64
	PreviousMinor *int64
	Count         int64
	PreviousCount *int64
	MaxTimeMs     int64
}

// Overflow is a sum that could not be shown.
type Overflow struct {
	Key      string
	Currency string
	StartMs  int64
	EndMs    int64
	Pane     string
	Total    string // the exact sum, in decimal
	Count    int64
}

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

// Result is the outcome of a script. The order of rows and overflows is that in
// which they fall due; rows that fall due together come in no certain order.
type Result struct {
	Rows      []Row
	Overflows []Overflow
	Late      []Late

	// Pairs of an element and one of its windows. Assigned = Added + Missed,
	// and Corrected is the part of Added that came at or after the end.
	Assigned  int64
	Added     int64
	Corrected int64
	Missed    int64

	// Counts are the same by window, currency and kind, and in money, in no
	// certain order.
	Counts []Count
}

// Play plays steps and, after them, a watermark at infinity. Windows are those
// of windows, and latenessMs is the allowed lateness L.
func Play(windows windowfns.Fn, latenessMs int64, steps []Step) Result {
	g := gmv{
		windows:    windows,
		latenessMs: latenessMs,
		watermark:  math.MinInt64,
		cells:      map[cellKey]*cell{},
		counts:     map[countKey]*count{},
	}
	for _, st := range steps {
		if st.Element != nil {
			g.add(*st.Element)
			continue
		}
		g.advance(st.WatermarkMs)
	}
	g.advance(math.MaxInt64)
	for k, c := range g.counts {
		g.out.Counts = append(g.out.Counts, Count{k.w.StartMs, k.w.EndMs, k.currency, k.kind, c.n, c.sum.String()})
	}
	return g.out
}
