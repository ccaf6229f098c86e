package oracle

import (
	"math"
	"math/big"
	"time"

	"tidemark/windowfns"
)

// player is the state of a script that is being played. What elements add, and
// what rows look like, is up to its user.
type player struct {
	cfg      Config
	amountOf func(Element) *big.Rat
	emit     func(k cellKey, f firing) (shown bool)

	watermark int64
	clockMs   int64 // processing time since the script began
	cells     map[cellKey]*cell
	counts    map[countKey]*count
	out       Outcome
}

type cellKey struct {
	key, currency string
	w             windowfns.Window
}

// cell is what there is of one key, currency and window.
type cell struct {
	total     values
	rows      int64   // emitted so far
	last      *values // of the row before; nil without one
	swallowed bool    // by a session that reaches further

	// What no row of this window has shown yet, and since when, in processing
	// time. They matter before the end only.
	unshown int64
	sinceMs int64
}

// values are a total. They are not changed: plus makes new ones.
type values struct {
	sum   *big.Rat
	count int64
	maxMs int64 // the latest timestamp, where count is not 0
}

func nothing() values { return values{sum: new(big.Rat)} }

func (v values) plus(w values) values {
	out := values{new(big.Rat).Add(v.sum, w.sum), v.count + w.count, max(v.maxMs, w.maxMs)}
	switch {
	case v.count == 0:
		out.maxMs = w.maxMs
	case w.count == 0:
		out.maxMs = v.maxMs
	}
	return out
}

// latest is the latest timestamp, nil where there is none.
func (v values) latest() *int64 {
	if v.count == 0 {
		return nil
	}
	return &v.maxMs
}

// firing is a row to be.
type firing struct {
	pane     string
	revision int64
	now      values
	was      *values // the row before; nil on revision 0
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
	for i, st := range steps {
		switch {
		case st.Element != nil:
			p.add(i, *st.Element)
		case st.Elapsed > 0:
			p.elapse(st.Elapsed)
		default:
			p.advance(st.WatermarkMs)
		}
	}
	p.advance(math.MaxInt64)
	for k, c := range p.counts {
		p.out.Counts = append(p.out.Counts, Count{k.w.StartMs, k.w.EndMs, k.currency, k.kind, c.n, decimal(&c.sum)})
	}
	return p.out
}

func (p *player) latenessMs() int64 { return p.cfg.AllowedLateness.Milliseconds() }

func (p *player) count(kind string, e Element, w windowfns.Window) {
	if p.sessions() {
		w = dayOf(e.TimeMs)
	}
	k := countKey{e.Currency, kind, w}
	c := p.counts[k]
	if c == nil {
		c = &count{}
		p.counts[k] = c
	}
	c.n++
	c.sum.Add(&c.sum, p.amountOf(e))
}

func (p *player) add(step int, e Element) {
	all := p.cfg.Windows.AppendWindows(nil, e.TimeMs)
	var missed []windowfns.Window
	for _, w := range all {
		p.out.Assigned++
		p.count("assigned", e, w)
		if p.watermark >= w.EndMs+p.latenessMs() {
			p.out.Missed++
			p.count("late", e, w)
			missed = append(missed, w)
			continue
		}
		p.out.Added++
		p.count("added", e, w)
		if p.watermark >= w.EndMs {
			p.out.Corrected++
			p.count("corrected", e, w)
		}
		p.addTo(e, w)
	}
	if len(missed) > 0 {
		p.out.Late = append(p.out.Late, Late{Element: e, Missed: missed, All: len(missed) == len(all), Step: step})
	}
}

// addTo adds e to its cell for w, or to that of the session that w is part of,
// and shows what is to be shown at once.
func (p *player) addTo(e Element, w windowfns.Window) {
	k := cellKey{e.Key, e.Currency, w}
	if p.sessions() {
		k = p.merge(k)
	}
	c := p.cells[k]
	if c == nil {
		c = &cell{total: nothing()}
		p.cells[k] = c
	}
	c.total = c.total.plus(values{p.amountOf(e), 1, e.TimeMs})
	if c.unshown == 0 {
		c.sinceMs = p.clockMs
	}
	c.unshown++
	switch n := int64(p.cfg.EarlyCount); {
	case p.watermark >= k.w.EndMs:
		p.show(k, "LATE")
	case n > 0 && c.unshown >= n:
		p.show(k, "EARLY")
	}
}

// elapse lets processing time pass. A cell has at most one EARLY row by it,
// however much that is: nothing is added meanwhile.
func (p *player) elapse(d time.Duration) {
	p.clockMs += d.Milliseconds()
	delayMs := p.cfg.EarlyDelay.Milliseconds()
	if delayMs == 0 {
		return
	}
	for k, c := range p.cells {
		if c.unshown > 0 && p.watermark < k.w.EndMs && p.clockMs >= c.sinceMs+delayMs {
			p.show(k, "EARLY")
		}
	}
}

// advance moves the watermark and emits the ON_TIME rows of the windows whose
// ends it reaches, and the FINAL rows of those whose ends + L it reaches. A cell
// that a late element has opened has no ON_TIME row: its end is behind the
// watermark already.
func (p *player) advance(ms int64) {
	if ms <= p.watermark {
		return
	}
	was := p.watermark
	p.watermark = ms
	for k, c := range p.cells {
		if !c.swallowed && was < k.w.EndMs && k.w.EndMs <= ms {
			p.show(k, "ON_TIME")
		}
	}
	if !p.cfg.FinalRows {
		return
	}
	for k, c := range p.cells {
		if closed := k.w.EndMs + p.latenessMs(); c.rows > 0 && was < closed && closed <= ms {
			p.row(k, "FINAL", *c.last)
		}
	}
}

// show emits the total of a cell. What cannot be shown is reported, and counts
// as shown.
func (p *player) show(k cellKey, pane string) {
	c := p.cells[k]
	c.unshown = 0
	p.row(k, pane, c.total)
}

// row emits a row with v.
func (p *player) row(k cellKey, pane string, v values) {
	c := p.cells[k]
	if p.emit(k, firing{pane: pane, revision: c.rows, now: v, was: c.last}) {
		c.rows++
		c.last = &v
	}
}

// decimal is x, whose denominator is a power of two, in decimal with all of its
// digits.
func decimal(x *big.Rat) string { return x.FloatString(x.Denom().BitLen() - 1) }
