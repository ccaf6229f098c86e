package joins

import (
	"bytes"
	"encoding/binary"

	"tidemark/internal/routing"
)

// The rows of a cell are logged in slots, each a bag in the runner's state. Rows
// are appended to one slot after the other, and a slot is cleared when none of its
// rows is needed any more, so that payloads are written once. Only where some rows
// outlive the others of their slot by far are they written again.
//
// Each part of a slot is a record, which begins with its kind, and rows are numbered
// in it from 0.
const (
	logMessage = 'M' // a message, as it came
	logRows    = 'R' // rows of other slots: (side byte | joined byte | time varint | timer varint, uvarint | entry prefixed)*
	logFlags   = 'F' // what has become of rows of the slot: (number << 1 | gone uvarint)*; they have matched, or they are gone
)

const (
	slots = 4

	// slotBytes is how much is appended to a slot at least before the next one has
	// its turn. It also has to come to a half of what is needed.
	slotBytes = 64 << 10

	// slackBytes is how much more than twice what is needed may be in a slot that
	// is being appended to.
	slackBytes = 1 << 20
)

// log is what there is to write of a cell.
type log struct {
	slots   [slots]slot
	current uint8
}

// slot is a bag of the state.
type slot struct {
	rows      int32 // numbered so far
	live      int   // of them, those that are needed
	liveBytes int
	bytes     int // written and to be written

	records [][]byte // to be written
	flags   []byte   // to be written behind them
	written bool     // there is something in the state
	rewrite bool     // it is to be replaced
}

// appendMessage logs a message with so many rows, and returns the slot and what is
// the number of the first one there.
func (l *log) appendMessage(msg []byte, rows int) (in uint8, first int32) {
	s := &l.slots[l.current]
	first = s.rows
	s.rows += int32(rows)
	s.append(msg)
	return l.current, first
}

func (s *slot) append(record []byte) {
	s.close()
	s.records = append(s.records, record)
	s.bytes += len(record)
}

// close puts the flags behind the records so far.
func (s *slot) close() {
	if len(s.flags) > 0 {
		s.records = append(s.records, s.flags)
		s.bytes += len(s.flags)
		s.flags = nil
	}
}

// flag logs that a row has matched, or that it is gone.
func (l *log) flag(r *row) {
	n := uint64(r.pos) << 1
	if r.gone {
		n |= 1
	}
	s := &l.slots[r.slot]
	if len(s.flags) == 0 {
		s.flags = append(s.flags, logFlags)
	}
	s.flags = binary.AppendUvarint(s.flags, n)
}

// hold counts a row as needed.
func (l *log) hold(r *row) {
	r.logged = true
	s := &l.slots[r.slot]
	s.live++
	s.liveBytes += r.size()
}

// release undoes hold.
func (l *log) release(r *row) {
	if !r.logged {
		return
	}
	r.logged = false
	s := &l.slots[r.slot]
	s.live--
	s.liveBytes -= r.size()
}

// makeRoom chooses the slot to append to, and writes rows again that keep a slot
// from being cleared.
func (c *cell) makeRoom() {
	needed := 0
	for i := range c.slots {
		needed += c.slots[i].liveBytes
	}
	cur := &c.slots[c.current]
	if cur.bytes > 2*cur.liveBytes+slackBytes {
		c.moveRows(c.current)
	}
	if cur.bytes < max(slotBytes, needed/2) {
		return
	}
	for i := range c.slots {
		s := &c.slots[i]
		if s != cur && s.bytes > max(slotBytes, needed/4) && 4*s.liveBytes <= s.bytes {
			c.moveRows(uint8(i))
		}
	}
	for i := range c.slots {
		if c.slots[i].live == 0 && uint8(i) != c.current {
			c.slots[i].reset()
			c.current = uint8(i)
			return
		}
	}
}

// reset begins a slot anew.
func (s *slot) reset() {
	*s = slot{written: s.written, rewrite: s.written}
}

// moveRows writes the rows of a slot that are needed to the current one, which can
// be the same.
func (c *cell) moveRows(from uint8) {
	b := []byte{logRows}
	var moved []*row
	for _, g := range c.agenda.groups {
		for i, r := range g.rows {
			if r.logged && r.slot == from {
				// In memory of its own: it outlives its message.
				own := *r
				own.entry = bytes.Clone(r.entry)
				if k := c.keys[string(r.key())]; k != nil {
					k.shelves[r.side].replace(r, &own)
				}
				g.rows[i] = &own
				moved = append(moved, &own)
			}
		}
	}
	for _, r := range moved {
		b = appendRow(b, r)
		c.release(r)
	}
	c.slots[from].reset()
	to := &c.slots[c.current]
	for _, r := range moved {
		r.slot, r.pos = c.current, to.rows
		to.rows++
		c.hold(r)
	}
	if len(moved) > 0 {
		to.append(b)
	}
}

func appendRow(b []byte, r *row) []byte {
	joined := byte(0)
	if r.joined {
		joined = 1
	}
	b = append(b, byte(r.side), joined)
	b = binary.AppendVarint(b, r.timeMs)
	b = binary.AppendVarint(b, r.group.ms)
	b = binary.AppendUvarint(b, r.group.message)
	return routing.AppendPrefixed(b, r.entry)
}

// bags is the state that a log is written to.
type bags interface {
	Clear(slot int) error
	Add(slot int, record []byte) error
	Read(slot int) ([][]byte, error)
}

// write writes what is new, and reports whether there was anything.
func (l *log) write(to bags) (changed bool, err error) {
	for i := range l.slots {
		s := &l.slots[i]
		if s.live == 0 {
			s.reset()
		}
		s.close()
		if s.rewrite {
			if err := to.Clear(i); err != nil {
				return changed, err
			}
			s.rewrite, s.written, changed = false, false, true
		}
		for _, r := range s.records {
			if err := to.Add(i, r); err != nil {
				return changed, err
			}
			s.written, changed = true, true
		}
		s.records = nil
	}
	return changed, nil
}
