package oracle

import (
	"math"
	"math/big"

	"tidemark/windowfns"
)

// gmv is the state of a script that is being played.
type gmv struct {
	windows    windowfns.Fn
	latenessMs int64
	watermark  int64
	cells      map[cellKey]*cell
	counts     map[countKey]*count
	out        Result
}

type cellKey struct {
	key, currency string
	w             windowfns.Window
}

// cell is the total of one key, currency and window.
type cell struct {
	sum   big.Int
	count int64
	maxMs int64

	rows int64 // emitted so far
	last Row   // the one emitted last
}

type countKey struct {
	currency, kind string
	w              windowfns.Window
}

type count struct {
	n   int64
	sum big.Int
}

func (g *gmv) count(kind string, e Element, w windowfns.Window) {
	k := countKey{e.Currency, kind, w}
	c := g.counts[k]
	if c == nil {
		c = &count{}
		g.counts[k] = c
	}
	c.n++
	c.sum.Add(&c.sum, big.NewInt(e.Minor))
}

func (g *gmv) add(e Element) {
	all := g.windows.AppendWindows(nil, e.TimeMs)
	var missed []windowfns.Window
	for _, w := range all {
		g.out.Assigned++
		g.count("assigned", e, w)
		switch {
		case g.watermark < w.EndMs:
			g.out.Added++
			g.count("added", e, w)
			g.cell(e, w)
		case g.watermark < w.EndMs+g.latenessMs:
			g.out.Added++
			g.out.Corrected++
			g.count("added", e, w)
			g.count("corrected", e, w)
			g.emit(g.cell(e, w), "LATE")
		default:
			g.out.Missed++
			g.count("late", e, w)
			missed = append(missed, w)
		}
	}
	if len(missed) > 0 {
		g.out.Late = append(g.out.Late, Late{Element: e, Missed: missed, All: len(missed) == len(all)})
	}
}

// cell adds e to its cell for w.
func (g *gmv) cell(e Element, w windowfns.Window) cellKey {
	k := cellKey{e.Key, e.Currency, w}
	c := g.cells[k]
	if c == nil {
		c = &cell{maxMs: math.MinInt64}
		g.cells[k] = c
	}
	c.sum.Add(&c.sum, big.NewInt(e.Minor))
	c.count++
	c.maxMs = max(c.maxMs, e.TimeMs)
	return k
}

// advance moves the watermark and emits the ON_TIME rows of the windows whose
// ends it reaches. A cell that a late element has opened never gets there: its
// end is behind the watermark already.
func (g *gmv) advance(ms int64) {
	if ms <= g.watermark {
		return
	}
	was := g.watermark
	g.watermark = ms
	for k := range g.cells {
		if was < k.w.EndMs && k.w.EndMs <= ms {
			g.emit(k, "ON_TIME")
		}
	}
}

// emit emits the total of a cell.
func (g *gmv) emit(k cellKey, pane string) {
	c := g.cells[k]
	if !c.sum.IsInt64() {
		g.out.Overflows = append(g.out.Overflows, Overflow{
			Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
			Pane: pane, Total: c.sum.String(), Count: c.count,
		})
		return
	}
	row := Row{
		Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
		Pane: pane, Revision: c.rows,
		Minor: c.sum.Int64(), Count: c.count, MaxTimeMs: c.maxMs,
	}
	if c.rows > 0 {
		minor, count := c.last.Minor, c.last.Count
		row.PreviousMinor, row.PreviousCount = &minor, &count
	}
	c.rows++
	c.last = row
	g.out.Rows = append(g.out.Rows, row)
}
