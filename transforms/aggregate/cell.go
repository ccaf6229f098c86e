package aggregate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// A cell is the state of one shard and window: a log of blocks in a bag. Blocks
// are only ever appended, so that adding to a window costs one blind write, and
// [cell] reads them back into one entry a key. A block is
//
//	kind byte | count uvarint | entry*
//
// where count is the number of elements that went into a delta and the number
// of entries of a snapshot. An entry of a delta is
//
//	len(key) uvarint | key | len(acc) uvarint | acc
//
// and one of a snapshot
//
//	len(key) uvarint | key | flags byte | [acc] [shown] [pending] prefixed | [rows uvarint]
const (
	// blockOnTime adds to what the ON_TIME row shows.
	blockOnTime = 'N'
	// blockCorrection came within the allowed lateness: it shows in a LATE row,
	// and never before the ON_TIME row.
	blockCorrection = 'C'
	// blockOpen and blockFired are snapshots: entries replace what the log said
	// of their keys before. In a fired one the end of the window has passed.
	blockOpen  = 'O'
	blockFired = 'F'
)

const (
	hasAcc = 1 << iota
	hasShown
	shownIsAcc
	hasPending
	hasRows
)

// cellKey names a cell: shard|start|end, in text because it is the key of a
// PCollection that non-Go runners handle too.
func cellKey(shard int64, w windowfns.Window) string {
	b := make([]byte, 0, 40)
	b = strconv.AppendInt(b, shard, 36)
	b = append(b, '|')
	b = strconv.AppendInt(b, w.StartMs, 36)
	b = append(b, '|')
	b = strconv.AppendInt(b, w.EndMs, 36)
	return string(b)
}

// cellWindow is the window in a key that [cellKey] made.
func cellWindow(key string) (windowfns.Window, error) {
	_, span, _ := strings.Cut(key, "|")
	start, end, _ := strings.Cut(span, "|")
	s, err1 := strconv.ParseInt(start, 36, 64)
	e, err2 := strconv.ParseInt(end, 36, 64)
	if err1 != nil || err2 != nil {
		return windowfns.Window{}, fmt.Errorf("aggregate: malformed cell key")
	}
	return windowfns.Window{StartMs: s, EndMs: e}, nil
}

// entry is what a cell holds of one key.
type entry struct {
	key     string
	acc     []byte // everything that the next row shows; nil if nothing yet
	pending []byte // corrections that wait for the ON_TIME row; nil if none
	shown   []byte // the total in the last row; nil if there was none
	rows    int64  // how many rows there were
	added   bool   // something on time came after the last snapshot
	touched bool   // changed since the last snapshot
}

// cell is the state of one shard and window, read from its log.
type cell struct {
	agg     Aggregator
	fired   bool
	entries []entry
	index   map[string]int
}

func readCell(agg Aggregator, log [][]byte) (*cell, error) {
	// There cannot be more entries than elements, and hardly more than fit.
	size := 0
	for _, b := range log {
		_, n, err := blockCount(b)
		if err != nil {
			return nil, err
		}
		size = max(size, int(min(n, int64(len(b)/8))))
	}
	c := &cell{agg: agg, index: make(map[string]int, size), entries: make([]entry, 0, size)}
	for _, b := range log {
		if err := c.apply(b); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *cell) entry(key string) *entry {
	i, ok := c.index[key]
	if !ok {
		i = len(c.entries)
		c.index[key] = i
		c.entries = append(c.entries, entry{key: key})
	}
	return &c.entries[i]
}

// apply adds the block b of the log. It keeps references to b.
func (c *cell) apply(b []byte) error {
	// One copy for all keys, which then share its memory.
	text := string(b)
	r := routing.NewReader(b)
	kind := r.Byte()
	r.Uvarint()
	if kind == blockFired {
		c.fired = true
	}
	for !r.Done() {
		n := len(r.Prefixed())
		if r.Err() != nil {
			break
		}
		at := len(b) - r.Len() - n
		e := c.entry(text[at : at+n])
		e.touched = true
		var err error
		switch kind {
		case blockOnTime:
			if e.shown != nil {
				e.acc = slices.Clone(e.acc) // shown may be the same memory
			}
			e.added = true
			e.acc, err = merge(c.agg, e.acc, r.Prefixed())
		case blockCorrection:
			e.pending, err = merge(c.agg, e.pending, r.Prefixed())
		case blockOpen, blockFired:
			*e = readSnapshot(e.key, &r)
		default:
			err = fmt.Errorf("aggregate: block of unknown kind %q", kind)
		}
		if err != nil {
			return err
		}
	}
	return r.Err()
}

func readSnapshot(key string, r *routing.Reader) entry {
	e := entry{key: key}
	flags := r.Byte()
	if flags&hasAcc != 0 {
		e.acc = r.Prefixed()
	}
	if flags&hasShown != 0 {
		e.shown = r.Prefixed()
	}
	if flags&shownIsAcc != 0 {
		e.shown = e.acc
	}
	if flags&hasPending != 0 {
		e.pending = r.Prefixed()
	}
	if flags&hasRows != 0 {
		e.rows = int64(r.Uvarint())
	}
	return e
}

// merge folds src into dst, which may be nil and may be changed in place.
func merge(agg Aggregator, dst, src []byte) ([]byte, error) {
	if dst == nil {
		return slices.Clip(src), nil
	}
	out, err := agg.Merge(slices.Clip(dst), src)
	if err != nil {
		return nil, fmt.Errorf("aggregate: merging: %w", err)
	}
	return out, nil
}

// snapshot encodes the entries of c as one block; with touchedOnly, those that
// changed since c was read.
func (c *cell) snapshot(touchedOnly bool) []byte {
	kind := byte(blockOpen)
	if c.fired {
		kind = blockFired
	}
	count, size := 0, 0
	for i := range c.entries {
		if e := &c.entries[i]; e.touched || !touchedOnly {
			count++
			size += len(e.key) + len(e.acc) + len(e.pending) + 16
		}
	}
	b := appendBlockHeader(make([]byte, 0, size), kind, count)
	for i := range c.entries {
		if e := &c.entries[i]; e.touched || !touchedOnly {
			b = appendSnapshot(b, e)
		}
	}
	return b
}

func appendSnapshot(b []byte, e *entry) []byte {
	same := len(e.acc) > 0 && len(e.acc) == len(e.shown) && &e.acc[0] == &e.shown[0]
	var flags byte
	if e.acc != nil {
		flags |= hasAcc
	}
	switch {
	case same || e.shown != nil && string(e.shown) == string(e.acc):
		flags |= shownIsAcc
	case e.shown != nil:
		flags |= hasShown
	}
	if e.pending != nil {
		flags |= hasPending
	}
	if e.rows != 0 {
		flags |= hasRows
	}
	b = append(routing.AppendPrefixed(b, e.key), flags)
	if flags&hasAcc != 0 {
		b = routing.AppendPrefixed(b, e.acc)
	}
	if flags&hasShown != 0 {
		b = routing.AppendPrefixed(b, e.shown)
	}
	if flags&hasPending != 0 {
		b = routing.AppendPrefixed(b, e.pending)
	}
	if flags&hasRows != 0 {
		b = binary.AppendUvarint(b, uint64(e.rows))
	}
	return b
}

// show is called with each entry that has a row to show, before the row counts.
type show func(pane Pane, e *entry) error

// refuse is called with each total that the aggregator does not let through.
type refuse func(pane Pane, e *entry, reason error)

// fire shows what there is to show once the end of the window has passed: the
// first time an ON_TIME row for every key with something on time, and always a
// LATE row for every key with corrections. Keys come in ascending order.
func (c *cell) fire(row show, refused refuse) error {
	first := !c.fired
	c.fired = true
	order := make([]int32, len(c.entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(c.entries[a].key, c.entries[b].key) })
	for _, i := range order {
		e := &c.entries[i]
		var err error
		switch {
		case first && e.acc != nil:
			err = c.showOne(OnTime, e, row, refused)
		case !first && e.added:
			// An element on time that came after the firing: no runner should
			// let it, and it is not lost if one does.
			err = c.showOne(Late, e, row, refused)
		}
		if err == nil && e.pending != nil {
			err = c.correct(e, row, refused)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// correct shows the pending corrections of e in a LATE row.
func (c *cell) correct(e *entry, row show, refused refuse) (err error) {
	if e.acc, err = merge(c.agg, slices.Clone(e.acc), e.pending); err != nil {
		return err
	}
	e.pending = nil
	return c.showOne(Late, e, row, refused)
}

func (c *cell) showOne(pane Pane, e *entry, row show, refused refuse) error {
	e.touched = true
	if err := c.agg.Check(e.acc); err != nil {
		refused(pane, e, err)
		return nil
	}
	if err := row(pane, e); err != nil {
		return err
	}
	e.shown = e.acc
	e.rows++
	return nil
}
