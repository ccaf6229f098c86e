package oracle

import (
	"math"
	"math/big"

	"tidemark/windowfns"
)

// player is the state of a script that is being played. What elements add, and
// what rows say of it, is up to its user.
type player struct {
	windows    windowfns.Fn
	latenessMs int64
	amountOf   func(Element) *big.Rat
	emit       func(k cellKey, c *cell, pane string)

	watermark int64
	cells     map[cellKey]*cell
	counts    map[countKey]*count
	out       Outcome
}

type cellKey struct {
	key, currency string
	w             windowfns.Window
}

// cell is the total of one key, currency and window.
type cell struct {
	sum   big.Rat
	count int64
	maxMs int64

	rows int64 // emitted so far
}

type countKey struct {
	currency, kind string
	w              windowfns.Window
}

type count struct {
	n   int64
	sum big.Rat
}

// play plays steps and, after them, a watermark at infinity.
func (p *player) play(steps []Step) Outcome {
	p.watermark = math.MinInt64
	p.cells = map[cellKey]*cell{}
	p.counts = map[countKey]*count{}
	for _, st := range steps {
		if st.Element != nil {
			p.add(*st.Element)
			continue
		}
		p.advance(st.WatermarkMs)
	}
	p.advance(math.MaxInt64)
	for k, c := range p.counts {
		p.out.Counts = append(p.out.Counts, Count{k.w.StartMs, k.w.EndMs, k.currency, k.kind, c.n, decimal(&c.sum)})
	}
	return p.out
}

func (p *player) count(kind string, e Element, w windowfns.Window) {
	k := countKey{e.Currency, kind, w}
	c := p.counts[k]
	if c == nil {
		c = &count{}
		p.counts[k] = c
	}
	c.n++
	c.sum.Add(&c.sum, p.amountOf(e))
}

func (p *player) add(e Element) {
	all := p.windows.AppendWindows(nil, e.TimeMs)
	var missed []windowfns.Window
	for _, w := range all {
		p.out.Assigned++
		p.count("assigned", e, w)
		switch {
		case p.watermark < w.EndMs:
			p.out.Added++
			p.count("added", e, w)
			p.addTo(e, w)
		case p.watermark < w.EndMs+p.latenessMs:
			p.out.Added++
			p.out.Corrected++
			p.count("added", e, w)
			p.count("corrected", e, w)
			p.show(p.addTo(e, w), "LATE")
		default:
			p.out.Missed++
			p.count("late", e, w)
			missed = append(missed, w)
		}
	}
	if len(missed) > 0 {
		p.out.Late = append(p.out.Late, Late{Element: e, Missed: missed, All: len(missed) == len(all)})
	}
}

// addTo adds e to its cell for w.
func (p *player) addTo(e Element, w windowfns.Window) cellKey {
	k := cellKey{e.Key, e.Currency, w}
	c := p.cells[k]
	if c == nil {
		c = &cell{maxMs: math.MinInt64}
		p.cells[k] = c
	}
	c.sum.Add(&c.sum, p.amountOf(e))
	c.count++
	c.maxMs = max(c.maxMs, e.TimeMs)
	return k
}

// advance moves the watermark and emits the ON_TIME rows of the windows whose
// ends it reaches. A cell that a late element has opened never gets there: its
// end is behind the watermark already.
func (p *player) advance(ms int64) {
	if ms <= p.watermark {
		return
	}
	was := p.watermark
	p.watermark = ms
	for k := range p.cells {
		if was < k.w.EndMs && k.w.EndMs <= ms {
			p.show(k, "ON_TIME")
		}
	}
}

func (p *player) show(k cellKey, pane string) { p.emit(k, p.cells[k], pane) }

// decimal is x, whose denominator is a power of two, in decimal with all of its
// digits.
func decimal(x *big.Rat) string { return x.FloatString(x.Denom().BitLen() - 1) }
