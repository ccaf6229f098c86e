package joins

import (
	"tidemark/joins/interval"
)

// rules are what the cells of a join have in common.
type rules struct {
	traits
	iv         [2]interval.Interval // as each side sees it
	latenessMs int64
	maxRows    int // that a key may hold, or 0
}

// row is an element that a cell holds.
type row struct {
	timeMs        int64
	entry         []byte
	group         *group // of its timer; nil if it was done at once
	keyAt, keyEnd uint32 // where the key is in entry
	pos           int32  // in its slot
	slot          uint8
	side          side
	joined        bool // it has matched
	gone          bool // it is done
	logged        bool // its slot counts it as one that is needed
}

func (r *row) key() []byte   { return r.entry[r.keyAt:r.keyEnd] }
func (r *row) value() []byte { return r.entry[r.keyEnd:] }
func (r *row) size() int     { return len(r.entry) + 16 }

// outlet takes what a cell has to say.
type outlet interface {
	// pair takes a match. Of a semi join it is the first one of a left row, and the
	// right row is nil.
	pair(l, r *row, timeMs int64) error

	// unmatched takes a row that has no match and can have none any more.
	unmatched(r *row) error

	// overLimit takes a row that the cell does not take.
	overLimit(r *row)
}

// cell holds the rows of a shard that can still match, in memory. It is built from
// a log and knows nothing of Beam.
//
// A cell does not know the watermark. Each row has a timer, which it shares with
// others of about its time, and is let go when that fires. So a row can be on a
// shelf longer than it has to, but never matches then: what the watermark lets
// pass is out of its reach.
type cell struct {
	*rules
	keys   map[string]*keyRows
	spare  []*keyRows // of keys that are gone
	agenda agenda
	log
	counts  [2]sideCounts
	touched bool // it is not what it was when it was saved
}

// sideCounts are what has become of the rows of a side, since somebody asked.
type sideCounts struct{ taken, joined, unmatched, overLimit int64 }

// keyRows are the rows of a key that can match.
type keyRows struct {
	shelves [2]shelf
}

// maxSpare bounds the keys whose memory is kept for others.
const maxSpare = 1 << 12

func newCell(ru *rules) *cell {
	return &cell{rules: ru, keys: map[string]*keyRows{}}
}

// take matches the rows of a message, and holds those that can match again.
func (c *cell) take(msg []byte, to outlet) error {
	h, b, err := openMessage(msg)
	if err != nil {
		return err
	}
	rows, err := h.readRows(b)
	if err != nil {
		return err
	}
	c.touched = true
	c.makeRoom()
	slot, first := c.appendMessage(msg, h.rows)
	for i := range rows {
		r := &rows[i]
		r.slot, r.pos = slot, first+int32(i)
		if err := c.place(r, c.timerOf(h, r.timeMs), to); err != nil {
			return err
		}
	}
	return nil
}

// timerOf is the timer of a row of a message: for when the row is done, or up to
// grain later. Timers of a message are grain apart, and those of different messages
// are rarely for the same time.
func (ru *rules) timerOf(h head, tMs int64) timerID {
	done := ru.iv[h.side].DoneAt(tMs, ru.latenessMs)
	grain := min(h.grain, ru.mostGrain())
	phase := int64(h.id % uint64(grain))
	return timerID{done + ((phase-done)%grain+grain)%grain, h.id}
}

// mostGrain bounds the distance of timers, in ms, for messages that hold old and new
// rows: to a small part of the time for which rows are held, and a second at least.
func (ru *rules) mostGrain() int64 {
	return max(1000, (ru.iv[left].UpperMs-ru.iv[left].LowerMs+ru.latenessMs)/timersPerMessage)
}

// place matches a row with those that are here, and holds it.
func (c *cell) place(r *row, t timerID, to outlet) error {
	k := c.key(r.key())
	mine, others := &k.shelves[r.side], &k.shelves[r.side.other()]
	counts := &c.counts[r.side]
	if c.maxRows > 0 && mine.len()+others.len() >= c.maxRows {
		counts.overLimit++
		c.leave(r)
		to.overLimit(r)
		return nil
	}
	counts.taken++
	if err := c.match(r, others, to); err != nil {
		return err
	}
	if r.gone {
		c.tidy(r.key(), k)
		return nil
	}
	c.keep(r, k, t)
	return nil
}

// keep holds a row that can match again.
func (c *cell) keep(r *row, k *keyRows, t timerID) {
	k.shelves[r.side].add(r)
	c.agenda.add(r, t, c.unmatched[r.side] && !r.joined)
	c.hold(r)
}

// match says what r matches of the others.
func (c *cell) match(r *row, others *shelf, to outlet) (err error) {
	from, until := c.iv[r.side].Partners(r.timeMs)
	switch {
	case !c.once:
		others.scan(from, until, func(m *row) bool {
			c.join(m)
			c.join(r)
			l, rt := r, m
			if r.side == right {
				l, rt = m, r
			}
			err = to.pair(l, rt, max(r.timeMs, m.timeMs))
			return err == nil
		})
	case r.side == left:
		others.scan(from, until, func(m *row) bool {
			c.join(m)
			err = c.settle(r, m, to)
			return false // the earliest is enough
		})
	default:
		others.remove(from, until, func(l *row) {
			c.join(r)
			if err == nil {
				err = c.settle(l, r, to)
			}
		})
	}
	return err
}

// settle says that a left row has its first match, and lets go of it.
func (c *cell) settle(l, m *row, to outlet) error {
	c.join(l)
	c.leave(l)
	if !c.first {
		return nil
	}
	return to.pair(l, nil, max(l.timeMs, m.timeMs))
}

// join notes that r has a match.
func (c *cell) join(r *row) {
	if !r.joined {
		r.joined = true
		c.counts[r.side].joined++
		c.flag(r)
	}
}

// leave notes that r is held no more.
func (c *cell) leave(r *row) {
	r.gone = true
	c.flag(r)
	c.release(r)
}

// fire says which rows have no match, at a timer: the watermark has reached it.
//
// All timers before this one have fired, if they were set before this bundle,
// because timers fire in their order. So rows whose timer was due before have been
// seen to, maybe by a worker that this cell has not heard of. Those of timers that
// were set in this bundle may be still to come. Where the order says nothing, because
// there are such ones, or others for the same time, the log has to say what has fired.
func (c *cell) fire(t timerID, bundle int64, to outlet) error {
	fired, past, unordered := c.agenda.due(t, bundle)
	c.touched = c.touched || fired != nil || len(past) > 0
	for _, g := range past {
		for _, r := range g.rows {
			c.done(r, t.ms)
		}
	}
	if fired == nil {
		return nil
	}
	for _, r := range fired.rows {
		if !c.done(r, t.ms) {
			continue
		}
		if unordered {
			c.flag(r)
		}
		if r.joined {
			continue
		}
		c.counts[r.side].unmatched++
		if c.unmatched[r.side] {
			if err := to.unmatched(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// done lets go of a row whose timer has fired, with the watermark at ms. It reports
// whether the row was there until then.
func (c *cell) done(r *row, ms int64) bool {
	if r.gone {
		return false
	}
	r.gone = true
	c.release(r)
	if k := c.keys[string(r.key())]; k != nil {
		k.shelves[r.side].drop(c.iv[r.side].DoneBefore(ms, c.latenessMs))
		c.tidy(r.key(), k)
	}
	return true
}

// key returns the rows of a key.
func (c *cell) key(key []byte) *keyRows {
	k := c.keys[string(key)]
	if k != nil {
		return k
	}
	if n := len(c.spare) - 1; n >= 0 {
		k, c.spare = c.spare[n], c.spare[:n]
	} else {
		k = &keyRows{}
	}
	c.keys[string(key)] = k
	return k
}

// tidy forgets a key without rows.
func (c *cell) tidy(key []byte, k *keyRows) {
	if k.shelves[left].len()+k.shelves[right].len() > 0 {
		return
	}
	delete(c.keys, string(key))
	if len(c.spare) < maxSpare {
		c.spare = append(c.spare, k)
	}
}

// empty reports whether there is nothing left.
func (c *cell) empty() bool { return len(c.agenda.groups) == 0 }
