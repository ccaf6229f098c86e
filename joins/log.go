package joins

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/routing"
)

// The rows of a cell are logged in slots, each a bag in the runner's state. Rows
// are appended to one slot after the other, and a slot is cleared when none of its
// rows is needed any more, so that payloads are written once. Only where some rows
// outlive the others of their slot by far are they written again.
//
// A slot is a sequence of records,
//
//	kind byte | len uvarint | payload
//
// and rows are numbered in it from 0.
const (
	logMessage = 'M' // grain uvarint | id uvarint | a message, as it came
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

	records []byte // to be written
	flags   []byte // to be written behind them
	written bool   // there is something in the state
	rewrite bool   // it is to be replaced
}

// place is where the rows of a message begin.
type place struct {
	slot uint8
	pos  int32
}

// appendMessage logs a message.
func (l *log) appendMessage(msg []byte, grain int64, id uint64) place {
	s := &l.slots[l.current]
	at := place{l.current, s.rows}
	_, n, _ := countRows(msg)
	s.rows += int32(n)
	head := binary.AppendUvarint(make([]byte, 0, 2*binary.MaxVarintLen64), uint64(grain))
	s.append(logMessage, binary.AppendUvarint(head, id), msg)
	return at
}

// countRows reads the head of a message.
func countRows(msg []byte) (s side, n uint64, err error) {
	r := routing.NewReader(msg)
	s, n = side(r.Byte()), r.Uvarint()
	return s, n, r.Err()
}

func (s *slot) append(kind byte, parts ...[]byte) {
	s.close()
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	was := len(s.records)
	if s.records == nil {
		s.records = make([]byte, 0, n+16)
	}
	s.records = binary.AppendUvarint(append(s.records, kind), uint64(n))
	for _, p := range parts {
		s.records = append(s.records, p...)
	}
	s.bytes += len(s.records) - was
}

// close puts the flags behind the records so far.
func (s *slot) close() {
	if len(s.flags) == 0 {
		return
	}
	was := len(s.records)
	s.records = routing.AppendPrefixed(append(s.records, logFlags), s.flags)
	s.bytes += len(s.records) - was
	s.flags = s.flags[:0]
}

// flag logs that a row has matched, or that it is gone.
func (l *log) flag(r *row) {
	n := uint64(r.pos) << 1
	if r.gone {
		n |= 1
	}
	s := &l.slots[r.slot]
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
	*s = slot{written: s.written, rewrite: s.written, records: s.records[:0], flags: s.flags[:0]}
}

// moveRows writes the rows of a slot that are needed to the current one, which can
// be the same.
func (c *cell) moveRows(from uint8) {
	var b []byte
	var moved []*row
	for _, g := range c.agenda.groups {
		for _, r := range g.rows {
			if r.logged && r.slot == from {
				moved = append(moved, r)
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
		to.append(logRows, b)
	}
}

func appendRow(b []byte, r *row) []byte {
	joined := byte(0)
	if r.joined {
		joined = 1
	}
	b = append(b, byte(r.side), joined)
	b = binary.AppendVarint(b, r.timeMs)
	b = binary.AppendVarint(b, r.timer.ms)
	b = binary.AppendUvarint(b, r.timer.message)
	return routing.AppendPrefixed(b, appendEntry(nil, r.key, r.body))
}

// bags is the state that a log is written to.
type bags interface {
	Clear(slot int) error
	Add(slot int, records []byte) error
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
		if len(s.records) == 0 {
			continue
		}
		if err := to.Add(i, s.records); err != nil {
			return changed, err
		}
		s.written, changed = true, true
		s.records = nil // it may be kept by whom it was given to
	}
	return changed, nil
}

// readCell builds a cell from its log.
func readCell(ru *rules, from bags) (*cell, error) {
	c := newCell(ru)
	for i := range c.slots {
		parts, err := from.Read(i)
		if err != nil {
			return nil, err
		}
		rows, err := c.readSlot(uint8(i), parts)
		if err != nil {
			return nil, err
		}
		s := &c.slots[i]
		s.rows = int32(len(rows))
		for _, r := range rows {
			if r.gone {
				continue
			}
			c.key(r.key).shelves[r.side].add(r)
			c.agenda.add(r, c.unmatched[r.side] && !r.joined)
			c.hold(r)
		}
		if s.bytes > c.slots[c.current].bytes {
			c.current = uint8(i)
		}
	}
	c.agenda.changed = nil // their timers are set
	return c, nil
}

// readSlot reads the rows of a slot, with those that are gone.
func (c *cell) readSlot(slot uint8, parts [][]byte) (rows []*row, err error) {
	s := &c.slots[slot]
	for _, part := range parts {
		s.bytes += len(part)
		s.written = true
		r := routing.NewReader(part)
		for !r.Done() {
			kind, payload := r.Byte(), r.Prefixed()
			if r.Err() != nil {
				break
			}
			if rows, err = c.readRecord(kind, payload, rows); err != nil {
				return nil, err
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	for i, r := range rows {
		r.slot, r.pos = slot, int32(i)
	}
	return rows, nil
}

func (c *cell) readRecord(kind byte, payload []byte, rows []*row) ([]*row, error) {
	r := routing.NewReader(payload)
	switch kind {
	case logMessage:
		grain, id := max(1, int64(r.Uvarint())), r.Uvarint()
		all, s, err := parseMessage(r.Bytes(r.Len()))
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].timer = c.timerOf(s, all[i].timeMs, grain, id)
			rows = append(rows, &all[i])
		}
	case logRows:
		for !r.Done() {
			x := &row{side: side(r.Byte()), joined: r.Byte() == 1, timeMs: r.Varint(), timer: timerID{r.Varint(), r.Uvarint()}}
			entry := r.Prefixed()
			if r.Err() != nil {
				break
			}
			var err error
			if x.key, x.body, err = splitEntry(entry); err != nil {
				return nil, err
			}
			rows = append(rows, x)
		}
	case logFlags:
		for !r.Done() {
			n := r.Uvarint()
			if r.Err() != nil || n>>1 >= uint64(len(rows)) {
				return nil, fmt.Errorf("joins: flag of a row that is not there")
			}
			if n&1 == 1 {
				rows[n>>1].gone = true
			} else {
				rows[n>>1].joined = true
			}
		}
	default:
		return nil, fmt.Errorf("joins: record of unknown kind %q", kind)
	}
	return rows, r.Err()
}
