package joins

import (
	"fmt"

	"tidemark/internal/routing"
)

// readCell builds a cell from its log.
func readCell(ru *rules, from bags) (*cell, error) {
	c := newCell(ru)
	for i := range c.slots {
		records, err := from.Read(i)
		if err != nil {
			return nil, err
		}
		rows, err := c.readSlot(records)
		if err != nil {
			return nil, err
		}
		s := &c.slots[i]
		s.rows, s.written = int32(len(rows)), len(records) > 0
		for _, r := range records {
			s.bytes += len(r)
		}
		for n, r := range rows {
			if r.gone {
				continue
			}
			r.slot, r.pos = uint8(i), int32(n)
			c.keep(r.row, c.key(r.key()), r.timer)
		}
		if s.bytes > c.slots[c.current].bytes {
			c.current = uint8(i)
		}
	}
	c.agenda.changed = nil // their timers are set
	return c, nil
}

// loggedRow is a row with its timer.
type loggedRow struct {
	*row
	timer timerID
}

// readSlot reads the rows of a slot, with those that are gone.
func (ru *rules) readSlot(records [][]byte) (rows []loggedRow, err error) {
	for _, r := range records {
		if len(r) == 0 {
			return nil, fmt.Errorf("joins: empty record")
		}
		switch r[0] {
		case logMessage:
			rows, err = ru.readMessage(r, rows)
		case logRows:
			rows, err = readMoved(r[1:], rows)
		case logFlags:
			err = readFlags(r[1:], rows)
		default:
			err = fmt.Errorf("joins: record of unknown kind %q", r[0])
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (ru *rules) readMessage(msg []byte, rows []loggedRow) ([]loggedRow, error) {
	h, b, err := openMessage(msg)
	if err != nil {
		return nil, err
	}
	all, err := h.readRows(b)
	for i := range all {
		rows = append(rows, loggedRow{&all[i], ru.timerOf(h, all[i].timeMs)})
	}
	return rows, err
}

func readMoved(b []byte, rows []loggedRow) ([]loggedRow, error) {
	r := routing.NewReader(b)
	for !r.Done() {
		x := loggedRow{row: &row{side: side(r.Byte()), joined: r.Byte() == 1, timeMs: r.Varint()}}
		x.timer = timerID{r.Varint(), r.Uvarint()}
		x.entry = r.Prefixed()
		if r.Err() != nil {
			break
		}
		var err error
		if x.keyAt, x.keyEnd, err = splitEntry(x.entry); err != nil {
			return nil, err
		}
		rows = append(rows, x)
	}
	return rows, r.Err()
}

func readFlags(b []byte, rows []loggedRow) error {
	r := routing.NewReader(b)
	for !r.Done() {
		n := r.Uvarint()
		if r.Err() != nil || n>>1 >= uint64(len(rows)) {
			return fmt.Errorf("joins: flag of a row that is not there")
		}
		if n&1 == 1 {
			rows[n>>1].gone = true
		} else {
			rows[n>>1].joined = true
		}
	}
	return r.Err()
}
