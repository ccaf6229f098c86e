package aggregate

import (
	"slices"
	"sort"
	"strings"
)

// settle implements [cell].
func (c *sessionCell) settle(ms int64, to outlet) error {
	if err := c.showNews(to); err != nil {
		return err
	}
	for ms = max(ms, c.watermark); ; {
		at := c.next()
		if at > ms || at == never {
			break
		}
		c.watermark = max(c.watermark, at)
		if err := c.advance(to); err != nil {
			return err
		}
	}
	c.watermark = ms
	c.forget()
	return nil
}

// next is when the next thing is due.
func (c *sessionCell) next() int64 {
	return min(c.fires.next(c.noFire), c.finals.next(c.noFinal), c.waits.next(c.noWait))
}

// advance shows what is due at the watermark: ON_TIME rows, FINAL rows, and then
// what has waited.
func (c *sessionCell) advance(to outlet) error {
	for {
		d, ok := c.fires.pop(c.watermark)
		if !ok {
			break
		}
		if c.noFire(d) {
			continue
		}
		if err := c.showSession(d.of, OnTime, to); err != nil {
			return err
		}
		c.ended(d.of)
	}
	for {
		d, ok := c.finals.pop(c.watermark)
		if !ok {
			break
		}
		if c.noFinal(d) || !d.of.ever {
			continue
		}
		if err := c.finish(d.of, to); err != nil {
			return err
		}
	}
	for {
		d, ok := c.waits.pop(c.watermark)
		if !ok {
			break
		}
		if c.noWait(d) {
			continue
		}
		if err := c.applyWaiting(d.of.k, d.of.w); err != nil {
			return err
		}
	}
	return c.showNews(to)
}

func (c *sessionCell) applyWaiting(k *sessionKey, w *waiting) error {
	k.waiting = slices.DeleteFunc(k.waiting, func(v *waiting) bool { return v == w })
	if w.elements == 0 {
		c.askEarly(k, w.stretch, w.id)
		c.release(k)
		return nil
	}
	id := w.id
	if id == askedFor {
		id = 0
	}
	s, err := c.add(k, w.stretch, id)
	if err == nil && w.id == askedFor {
		c.tell(s)
	}
	return err
}

// showSession shows the total of a session.
func (c *sessionCell) showSession(s *session, pane Pane, to outlet) error {
	ok, err := c.show(to, pane, s.k.key, s.Window, s.total, &s.rowState)
	if ok {
		s.rowState = rowState{rows: s.rows + 1, shown: s.total, ever: true}
	}
	s.shared, s.unshown, s.ids, s.news = true, 0, nil, false
	return err
}

// showNews shows what has come, by key: first what is withdrawn, then what there
// is instead.
func (c *sessionCell) showNews(to outlet) error {
	byKey(c.dirty)
	for _, k := range c.dirty {
		k.dirty = false
		for _, s := range k.withdraw {
			if err := c.withdraw(s, to); err != nil {
				return err
			}
		}
		for _, s := range k.news {
			if s.swallowed || !s.news {
				continue
			}
			pane := Early
			if s.EndMs <= c.watermark {
				pane = Late
			}
			if err := c.showSession(s, pane, to); err != nil {
				return err
			}
			c.change(s)
		}
		clear(k.withdraw)
		clear(k.news)
		k.withdraw, k.news = k.withdraw[:0], k.news[:0]
	}
	clear(c.dirty)
	c.dirty = c.dirty[:0]
	return nil
}

func (c *sessionCell) withdraw(s *session, to outlet) error {
	c.scratch = Row{
		Key: s.k.key, StartMs: s.StartMs, EndMs: s.EndMs, Pane: s.withdrawn,
		Revision: s.rows, Previous: s.shown,
	}
	s.rowState = rowState{rows: s.rows + 1, ever: true}
	return to.row(&c.scratch)
}

// finish shows the FINAL row of a session that had a row.
func (c *sessionCell) finish(s *session, to outlet) error {
	err := repeat(to, s.k.key, s.Window, &s.rowState)
	s.rows++
	if s.swallowed {
		s.k.gone = slices.DeleteFunc(s.k.gone, func(g *session) bool { return g == s })
		c.release(s.k)
	}
	return err
}

// forget drops the sessions that no element in time can reach.
func (c *sessionCell) forget() {
	for {
		d, ok := c.forgets.pop(c.watermark)
		if !ok {
			return
		}
		if c.noForget(d) {
			continue
		}
		k := d.of.k
		i := sort.Search(len(k.live), func(i int) bool { return k.live[i].EndMs >= d.of.EndMs })
		if i < len(k.live) && k.live[i] == d.of {
			c.remove(k, i, i+1)
		}
	}
}

// remove drops the live sessions [i, j) of k.
func (c *sessionCell) remove(k *sessionKey, i, j int) {
	for _, s := range k.live[i:j] {
		s.swallowed, s.over = true, true
	}
	if i == 0 {
		clear(k.live[:j])
		k.live = k.live[j:]
	} else {
		k.live = slices.Delete(k.live, i, j)
	}
	c.release(k)
}

// release drops k if there is nothing left of it.
func (c *sessionCell) release(k *sessionKey) {
	if len(k.live)+len(k.gone)+len(k.waiting)+len(k.withdraw) == 0 {
		delete(c.keys, k.key)
	}
}

// deadlines implements [cell]. What is to be forgotten goes with the next session
// that ends, and with the last one where none is left.
func (c *sessionCell) deadlines(dst []int64, most int) []int64 {
	from := len(dst)
	dst = c.fires.times(dst, most, c.noFire)
	open := len(dst) > from
	dst = c.finals.times(dst, most, c.noFinal)
	dst = c.waits.times(dst, most, c.noWait)
	if !open && len(c.keys) > 0 {
		if last := c.forgets.last(); last > c.watermark {
			dst = append(dst, last)
		}
	}
	slices.Sort(dst[from:])
	dst = append(dst[:from], slices.Compact(dst[from:])...)
	return dst[:min(len(dst), from+most)]
}

// askEarly asks for an EARLY row of the session that the own window at the start of
// s is part of, if the block with the id was not shown yet. If s is longer, it has
// to wait for its end.
func (c *sessionCell) askEarly(k *sessionKey, s stretch, id uint64) {
	for _, w := range k.waiting {
		if w.id == id && w.startMs == s.startMs && w.elements > 0 {
			w.id = askedFor
			c.touch(k)
		}
	}
	i, j := k.overlapping(s.startMs, s.startMs+c.gapMs)
	if i == j || k.live[i].EndMs <= c.watermark || !slices.Contains(k.live[i].ids, id) {
		return
	}
	if s.endMs > s.startMs+c.gapMs && s.endMs > c.watermark {
		s.acc = nil
		c.wait(k, &waiting{stretch: s, id: id})
		c.touch(k)
		return
	}
	c.tell(k.live[i])
}

// tell notes that s has something to show.
func (c *sessionCell) tell(s *session) {
	if !s.news {
		s.news = true
		s.k.news = append(s.k.news, s)
		c.soil(s.k)
	}
}

func (c *sessionCell) soil(k *sessionKey) {
	if !k.dirty {
		k.dirty = true
		c.dirty = append(c.dirty, k)
	}
}

// byKey sorts keys for their rows.
func byKey(keys []*sessionKey) {
	slices.SortFunc(keys, func(a, b *sessionKey) int { return strings.Compare(a.key, b.key) })
}
