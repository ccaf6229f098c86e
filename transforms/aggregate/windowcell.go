package aggregate

import (
	"fmt"
	"slices"
)

// windowCell is a cell of windows that do not merge.
//
// Elements on time are kept by slice: parts of a key that are for the same run of
// windows are one. The ON_TIME total of a window follows from its parts, so that
// only what was shown otherwise has a record: EARLY rows, and totals with
// corrections.
type windowCell struct {
	rules
	span

	watermark int64
	fired     int32 // the windows below it have fired
	closed    int32 // those below it take nothing any more
	first     int32 // the windows from first to last have something
	last      int32

	keys    map[string]*keyed
	order   []*keyed // by key, where ordered is set
	ordered bool
	news    []*keyed // have records to show
	touched []*keyed // have records to log
	page    []keyed  // memory for new keys
}

// keyed is what a cell holds of one key.
type keyed struct {
	key     string
	parts   []part // on time, in an order that queue can use
	loose   []part // on time, those that would break it
	waiting []part // corrections for windows that have not fired
	records []record
	one     [1]part // memory for the only part

	fires  queue
	finals queue

	news, touched bool
}

// record is what was shown of a window where that does not follow from the parts.
type record struct {
	rowState
	window  int32
	unshown int64    // elements on time that no EARLY row has shown
	ids     []uint64 // and their blocks, where EARLY rows can be asked for
	total   []byte   // with corrections; nil if there are none
	news    bool     // there is something to show
	touched bool     // it is not logged as it is
}

func newWindowCell(ru rules, s span) *windowCell {
	return &windowCell{rules: ru, span: s, watermark: noWatermark, first: int32(s.size()), last: -1, keys: map[string]*keyed{}}
}

func (c *windowCell) empty() bool { return len(c.keys) == 0 }

func (c *windowCell) busy() bool { return c.fired <= c.last }

func (c *windowCell) reached() int64 { return c.watermark }

// absolute implements [cell].
func (c *windowCell) absolute() bool { return false }

func (c *windowCell) of(key []byte) *keyed {
	if k := c.keys[string(key)]; k != nil {
		return k
	}
	if len(c.page) == 0 {
		c.page = make([]keyed, min(256, max(4, len(c.keys))))
	}
	k := &c.page[0]
	c.page = c.page[1:]
	k.key = string(key)
	c.keys[k.key] = k
	c.order, c.ordered = append(c.order, k), false
	return k
}

// take implements [cell].
func (c *windowCell) take(h header, entries []byte, again bool) error {
	switch h.kind {
	case blockOnTime, blockCorrection, blockShow:
	default:
		return fmt.Errorf("aggregate: block of unknown kind %q", h.kind)
	}
	if h.firstMs < c.firstMs || h.lastMs > c.lastMs || (h.firstMs-c.firstMs)%c.stepMs != 0 || (h.lastMs-c.firstMs)%c.stepMs != 0 {
		return fmt.Errorf("aggregate: block for the windows %d to %d in the cell %d to %d", h.firstMs, h.lastMs, c.firstMs, c.lastMs)
	}
	first, last := int32(c.past(h.firstMs))-1, int32(c.past(h.lastMs))-1
	c.first, c.last = min(c.first, first), max(c.last, last)
	return eachEntry(entries, func(key []byte, elements int64, acc []byte) error {
		p := part{first: first, last: last, acc: acc}
		if h.kind == blockShow {
			if k := c.keys[string(key)]; k != nil {
				c.askEarly(k, p, h.id)
			}
			return nil
		}
		k := c.of(key)
		// What comes for windows that have fired corrects them, even if it should
		// be on time: no runner should let that, and it is not lost if one does.
		for ; p.first < c.fired && p.first <= p.last; p.first++ {
			if again {
				continue // what was shown follows in the log
			}
			if err := c.correct(k, p.first, acc); err != nil {
				return err
			}
		}
		if p.first > p.last {
			return nil
		}
		if h.kind == blockCorrection {
			k.waiting = append(k.waiting, p)
			return nil
		}
		if err := c.add(k, p); err != nil {
			return err
		}
		if c.early {
			c.countEarly(k, p, elements, h.id)
		}
		return nil
	})
}

// add adds a part on time, for windows that have not fired.
func (c *windowCell) add(k *keyed, p part) (err error) {
	if k.parts == nil {
		k.parts = k.one[:0]
	}
	i := len(k.parts)
	for i > 0 && (k.parts[i-1].first > p.first || k.parts[i-1].first == p.first && k.parts[i-1].last >= p.last) {
		i--
	}
	if i < len(k.parts) && k.parts[i].first == p.first && k.parts[i].last == p.last {
		q := &k.parts[i]
		q.acc, err = c.grow(q.acc, p.acc)
		return err
	}
	if i > 0 && k.parts[i-1].last > p.last || i < len(k.parts) && k.parts[i].last < p.last {
		for j := range k.loose {
			if q := &k.loose[j]; q.first == p.first && q.last == p.last {
				q.acc, err = c.grow(q.acc, p.acc)
				return err
			}
		}
		k.loose = append(k.loose, p)
		return nil
	}
	k.parts = slices.Insert(k.parts, i, p)
	return nil
}

// grow merges into a total that was not shown to anybody. It may lie in bytes
// that were read for this cell alone, but not run into those behind it.
func (c *windowCell) grow(dst, src []byte) ([]byte, error) { return c.mergeInto(slices.Clip(dst), src) }

// onTime is the ON_TIME total of a window, nil if there is none.
func (c *windowCell) onTime(k *keyed, i int32) (total []byte, err error) {
	for _, parts := range [][]part{k.parts, k.loose} {
		for j := range parts {
			if parts[j].covers(i) {
				if total, err = c.merge(total, parts[j].acc); err != nil {
					return nil, err
				}
			}
		}
	}
	return total, nil
}

// next is the ON_TIME total of the window that q comes to.
func (c *windowCell) next(k *keyed, q *queue, i int32) (total []byte, err error) {
	if total, err = q.at(&c.rules, k.parts, i); err != nil {
		return nil, err
	}
	for j := range k.loose {
		if k.loose[j].covers(i) {
			if total, err = c.merge(total, k.loose[j].acc); err != nil {
				return nil, err
			}
		}
	}
	return total, nil
}

// find returns the record of a window, or nil.
func (k *keyed) find(i int32) *record {
	if len(k.records) == 0 {
		return nil
	}
	at, ok := k.search(i)
	if !ok {
		return nil
	}
	return &k.records[at]
}

func (k *keyed) search(i int32) (int, bool) {
	return slices.BinarySearchFunc(k.records, i, func(r record, i int32) int { return int(r.window - i) })
}

// follow sets what was shown of a window that has fired and has no record.
func (c *windowCell) follow(s *rowState, total []byte) {
	if total != nil && c.agg.Check(total) == nil {
		*s = rowState{rows: 1, shown: total, ever: true}
	}
}

// correct adds a correction to a window that has fired.
func (c *windowCell) correct(k *keyed, i int32, acc []byte) (err error) {
	at, known := k.search(i)
	if !known {
		k.records = slices.Insert(k.records, at, record{window: i})
	}
	r := &k.records[at]
	if r.total == nil {
		if r.total, err = c.onTime(k, i); err != nil {
			return err
		}
		if !known {
			c.follow(&r.rowState, r.total)
		}
	}
	if r.total == nil {
		r.total = slices.Clone(acc) // acc can be in a part too, which grows
	} else if r.total, err = c.merge(r.total, acc); err != nil {
		return err
	}
	r.news = true
	c.tell(k)
	return nil
}

// tell notes that k has records to show.
func (c *windowCell) tell(k *keyed) {
	if !k.news {
		k.news = true
		c.news = append(c.news, k)
	}
}

// touch notes that r, a record of k, is not logged as it is.
func (c *windowCell) touch(k *keyed, r *record) {
	r.touched = true
	if !k.touched {
		k.touched = true
		c.touched = append(c.touched, k)
	}
}
