package intake

import (
	"bytes"
	"slices"

	"tidemark/windowfns"
)

// Element is an element with all the windows that came with it.
type Element struct {
	TimeMs  int64
	MarkMs  int64
	Elem    any
	Windows []windowfns.Window // by ascending end
}

// Regrouper puts the windows of an element together again. Beam hands an
// element of sliding windows out once for each of its windows, one after the
// other, with nothing that says that it is one element. A Regrouper takes
// neighbours with the same time, mark and encoding for one element until a
// window comes again: twins stay two elements. A runner that has torn the
// windows of an element apart before makes it several elements with fewer
// windows each; the count of (element, window) pairs is the same either way.
type Regrouper struct {
	open    Element
	raw     bytes.Buffer
	next    bytes.Buffer
	started bool
}

// Add takes an element in one of its windows and returns an element that is
// now complete, or nil. The result is valid until the next call.
func (g *Regrouper) Add(r *Reader, tMs int64, o Origin, v any) (*Element, error) {
	g.next.Reset()
	if err := r.Encode(v, &g.next); err != nil {
		return nil, err
	}
	w := o.Window()
	if g.started && g.open.TimeMs == tMs && g.open.MarkMs == o.MarkMs &&
		!slices.Contains(g.open.Windows, w) && bytes.Equal(g.raw.Bytes(), g.next.Bytes()) {
		g.open.Windows = append(g.open.Windows, w)
		return nil, nil
	}
	done := g.Flush()
	g.open = Element{TimeMs: tMs, MarkMs: o.MarkMs, Elem: v, Windows: []windowfns.Window{w}}
	g.raw, g.next = g.next, g.raw
	g.started = true
	return done, nil
}

// Flush returns the element that is still open, or nil.
func (g *Regrouper) Flush() *Element {
	if !g.started {
		return nil
	}
	g.started = false
	done := g.open
	slices.SortFunc(done.Windows, windowfns.Window.Compare)
	return &done
}
