package aggregate

import (
	"slices"
	"strings"

	"tidemark/windowfns"
)

// settle implements [cell].
func (c *windowCell) settle(ms int64, to outlet) error {
	c.watermark = max(c.watermark, ms)
	if past := int32(c.past(c.watermark)); past > c.fired {
		c.sort()
		for c.fired = max(c.fired, min(c.first, past)); c.fired < past; c.fired++ {
			if c.fired > c.last {
				c.fired = past
				break
			}
			if err := c.fire(c.fired, to); err != nil {
				return err
			}
		}
	}
	if err := c.showNews(to); err != nil {
		return err
	}
	return c.close(to)
}

// past is how many windows the watermark ms has passed, with what is allowed.
func (c *windowCell) pastLateness(ms int64) int32 {
	if ms == noWatermark {
		return 0
	}
	return int32(c.past(ms - c.latenessMs))
}

func (c *windowCell) sort() {
	if !c.ordered {
		slices.SortFunc(c.order, func(a, b *keyed) int { return strings.Compare(a.key, b.key) })
		c.ordered = true
	}
}

// fire shows a window: its ON_TIME rows, and behind each the LATE row of the
// corrections that waited for it.
func (c *windowCell) fire(i int32, to outlet) error {
	w := c.window(int(i))
	for _, k := range c.order {
		total, err := c.next(k, &k.fires, i)
		if err != nil {
			return err
		}
		if total != nil {
			if err := c.showOnTime(k, i, w, total, to); err != nil {
				return err
			}
		}
		if len(k.waiting) > 0 {
			if err := c.fireWaiting(k, i, w, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *windowCell) showOnTime(k *keyed, i int32, w windowfns.Window, total []byte, to outlet) error {
	r := k.find(i)
	if r == nil {
		_, err := c.show(to, OnTime, k.key, w, total, &rowState{})
		return err
	}
	return c.showRecord(k, r, OnTime, w, total, to)
}

// showRecord shows a total of a window that has a record.
func (c *windowCell) showRecord(k *keyed, r *record, pane Pane, w windowfns.Window, total []byte, to outlet) error {
	ok, err := c.show(to, pane, k.key, w, total, &r.rowState)
	if ok {
		r.rowState = rowState{rows: r.rows + 1, shown: total, ever: true}
	}
	r.unshown, r.ids, r.news = 0, nil, false
	c.touch(k, r)
	return err
}

// fireWaiting shows the corrections that waited for window i, whose ON_TIME row was
// shown.
func (c *windowCell) fireWaiting(k *keyed, i int32, w windowfns.Window, to outlet) error {
	corrected := false
	for j := range k.waiting {
		if !k.waiting[j].covers(i) {
			continue
		}
		if err := c.correct(k, i, k.waiting[j].acc); err != nil {
			return err
		}
		corrected = true
	}
	if !corrected {
		return nil
	}
	r := k.find(i)
	return c.showRecord(k, r, Late, w, r.total, to)
}

// showNews shows the records that have something to show, by key and window.
func (c *windowCell) showNews(to outlet) error {
	slices.SortFunc(c.news, func(a, b *keyed) int { return strings.Compare(a.key, b.key) })
	for _, k := range c.news {
		k.news = false
		for j := range k.records {
			r := &k.records[j]
			if !r.news {
				continue
			}
			pane, total := Late, r.total
			if r.window >= c.fired {
				pane = Early
				var err error
				if total, err = c.onTime(k, r.window); err != nil {
					return err
				}
				total = slices.Clone(total) // more can be merged into it
			}
			if err := c.showRecord(k, r, pane, c.window(int(r.window)), total, to); err != nil {
				return err
			}
		}
	}
	c.news = c.news[:0]
	return nil
}

// countEarly counts a part that is new for EARLY rows.
func (c *windowCell) countEarly(k *keyed, p part, elements int64, id uint64) {
	for i := p.first; i <= p.last; i++ {
		at, ok := k.search(i)
		if !ok {
			k.records = slices.Insert(k.records, at, record{window: i})
		}
		r := &k.records[at]
		r.unshown += elements
		if id != 0 {
			r.ids = append(r.ids, id)
		}
		if c.earlyCount > 0 && r.unshown >= c.earlyCount {
			r.news = true
			c.tell(k)
		}
	}
}

// askEarly asks for EARLY rows, if the block with the id was not shown yet.
func (c *windowCell) askEarly(k *keyed, p part, id uint64) {
	for i := max(p.first, c.fired); i <= p.last; i++ {
		if r := k.find(i); r != nil && slices.Contains(r.ids, id) {
			r.news = true
			c.tell(k)
		}
	}
}

// close shows the FINAL rows that are due, and forgets what is past.
func (c *windowCell) close(to outlet) error {
	past := c.pastLateness(c.watermark)
	if past <= c.closed {
		return nil
	}
	if c.final {
		c.sort()
		for i := max(c.closed, c.first); i < past && i <= c.last; i++ {
			if err := c.finish(i, to); err != nil {
				return err
			}
		}
	}
	c.prune(past)
	return nil
}

// prune forgets the windows below i, and the keys that have no others.
func (c *windowCell) prune(i int32) {
	c.closed = i
	kept := c.order[:0]
	for _, k := range c.order {
		k.forget(i)
		if len(k.parts)+len(k.loose)+len(k.waiting)+len(k.records) == 0 {
			delete(c.keys, k.key)
			continue
		}
		kept = append(kept, k)
	}
	clear(c.order[len(kept):])
	c.order = kept
}

// finish shows the FINAL rows of a window.
func (c *windowCell) finish(i int32, to outlet) error {
	w := c.window(int(i))
	for _, k := range c.order {
		total, err := c.next(k, &k.finals, i)
		if err != nil {
			return err
		}
		var s rowState
		if r := k.find(i); r != nil {
			s = r.rowState
		} else {
			c.follow(&s, total)
		}
		if s.ever {
			if err := repeat(to, k.key, w, &s); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget drops what is for windows below i only.
func (k *keyed) forget(i int32) {
	n := 0
	for n < len(k.parts) && k.parts[n].last < i {
		n++
	}
	if n > 0 {
		k.fires.dropped(n)
		k.finals.dropped(n)
		if k.parts = k.parts[n:]; len(k.parts) == 0 {
			k.parts = nil
		}
	}
	gone := func(p part) bool { return p.last < i }
	k.loose = slices.DeleteFunc(k.loose, gone)
	k.waiting = slices.DeleteFunc(k.waiting, gone)
	k.records = slices.DeleteFunc(k.records, func(r record) bool { return r.window < i })
}

// deadlines implements [cell].
func (c *windowCell) deadlines(dst []int64, most int) []int64 {
	from := len(dst)
	for i := max(c.fired, c.first); i <= c.last && len(dst)-from < most; i++ {
		dst = append(dst, c.end(int(i)))
	}
	if c.latenessMs > 0 && c.last >= c.closed {
		next, ends := c.last, len(dst)
		if c.final {
			next = max(c.closed, c.first)
		}
		for ; next <= c.last && len(dst)-ends < most; next++ {
			dst = append(dst, c.end(int(next))+c.latenessMs)
		}
	}
	slices.Sort(dst[from:])
	dst = append(dst[:from], slices.Compact(dst[from:])...)
	return dst[:min(len(dst), from+most)]
}
