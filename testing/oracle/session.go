package oracle

import "tidemark/windowfns"

func (p *player) sessions() bool {
	_, ok := p.cfg.Windows.(windowfns.Session)
	return ok
}

// merge makes one session of k, which is the own window of an element, and of
// every session of its key that overlaps it, and returns that. Sessions do not
// overlap each other, so that the one made of them overlaps no further one.
//
// A session that was there already stays as it is. Otherwise what is swallowed
// is withdrawn, and a window of its own begins with all of the elements, none of
// which it has shown: they are not shown since now, or since before if they were
// not then.
func (p *player) merge(k cellKey) cellKey {
	own := k.w
	var parts []cellKey
	for o, c := range p.cells {
		if o.key != k.key || o.currency != k.currency || c.swallowed || o.w.EndMs <= own.StartMs || own.EndMs <= o.w.StartMs {
			continue
		}
		parts = append(parts, o)
		k.w.StartMs, k.w.EndMs = min(k.w.StartMs, o.w.StartMs), max(k.w.EndMs, o.w.EndMs)
	}
	if p.cells[k] != nil {
		return k
	}
	merged := &cell{total: nothing(), sinceMs: p.clockMs}
	for _, o := range parts {
		c := p.cells[o]
		merged.total = merged.total.plus(c.total)
		if c.unshown > 0 {
			merged.sinceMs = min(merged.sinceMs, c.sinceMs)
		}
		c.swallowed = true
		p.withdraw(o)
	}
	merged.unshown = merged.total.count
	p.cells[k] = merged
	return k
}

// withdraw takes back what rows have said of a session that is there no more.
func (p *player) withdraw(k cellKey) {
	c := p.cells[k]
	c.unshown = 0
	if c.rows == 0 {
		return
	}
	pane := "LATE"
	if p.watermark < k.w.EndMs {
		pane = "EARLY"
	}
	p.row(k, pane, nothing())
}

// dayOf is the UTC day of a time.
func dayOf(ms int64) windowfns.Window {
	const day = 24 * 60 * 60 * 1000
	into := ms % day
	if into < 0 {
		into += day
	}
	return windowfns.Window{StartMs: ms - into, EndMs: ms - into + day}
}
