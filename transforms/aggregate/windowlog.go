package aggregate

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/routing"
)

// appendBlocks implements [cell].
func (c *windowCell) appendBlocks(dst []byte) []byte {
	c.sort()
	for _, k := range c.order {
		dst = routing.AppendPrefixed(dst, k.key)
		for _, parts := range [][]part{k.parts, k.loose, k.waiting} {
			dst = binary.AppendUvarint(dst, uint64(len(parts)))
			for _, p := range parts {
				dst = binary.AppendUvarint(dst, uint64(p.first))
				dst = binary.AppendUvarint(dst, uint64(p.last-p.first))
				dst = routing.AppendPrefixed(dst, p.acc)
			}
		}
	}
	return dst
}

// appendState implements [cell].
func (c *windowCell) appendState(dst []byte, whole bool) []byte {
	dst = binary.AppendVarint(dst, c.watermark)
	keys := c.touched
	if whole {
		keys = c.order
	}
	for _, k := range keys {
		for j := range k.records {
			if r := &k.records[j]; r.touched || whole {
				dst = appendRecordOf(dst, k.key, r)
				r.touched = false
			}
		}
	}
	for _, k := range c.touched {
		k.touched = false
	}
	clear(c.touched)
	c.touched = c.touched[:0]
	return dst
}

func appendRecordOf(dst []byte, key string, r *record) []byte {
	var flags byte
	if r.ever {
		flags |= stateRows
	}
	if len(r.shown) > 0 {
		flags |= stateShown
	}
	if r.total != nil {
		flags |= stateTotal
		if len(r.shown) == len(r.total) && string(r.shown) == string(r.total) {
			flags |= stateSame
		}
	}
	if r.unshown > 0 {
		flags |= stateUnshown
	}
	dst = routing.AppendPrefixed(dst, key)
	dst = binary.AppendUvarint(dst, uint64(r.window))
	dst = append(dst, flags)
	if flags&stateRows != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.rows))
	}
	if flags&stateShown != 0 {
		dst = routing.AppendPrefixed(dst, r.shown)
	}
	if flags&(stateTotal|stateSame) == stateTotal {
		dst = routing.AppendPrefixed(dst, r.total)
	}
	if flags&stateUnshown != 0 {
		dst = appendUnshown(dst, r.unshown, r.ids)
	}
	return dst
}

// readWindow reads a number of windows. More than there can be in a cell are none
// that [windowCell.inside] lets through.
func readWindow(r *routing.Reader) int32 { return int32(min(r.Uvarint(), math.MaxInt32)) }

func readRecord(r *routing.Reader) record {
	rec := record{window: readWindow(r)}
	flags := r.Byte()
	if flags&stateRows != 0 {
		rec.ever, rec.rows = true, int64(r.Uvarint())
	}
	if flags&stateShown != 0 {
		rec.shown = r.Prefixed()
	}
	switch flags & (stateTotal | stateSame) {
	case stateTotal:
		rec.total = r.Prefixed()
	case stateTotal | stateSame:
		rec.total = rec.shown
	}
	if flags&stateUnshown != 0 {
		rec.unshown, rec.ids = readUnshown(r)
	}
	return rec
}

// restore implements [cell].
func (c *windowCell) restore(kind byte, r *routing.Reader) error {
	if kind == logBlocks {
		return c.restoreBlocks(r)
	}
	c.watermark = max(c.watermark, r.Varint())
	c.fired = max(c.fired, int32(c.past(c.watermark)))
	for !r.Done() {
		key := r.Prefixed()
		rec := readRecord(r)
		if r.Err() != nil {
			break
		}
		if err := c.inside(rec.window, rec.window); err != nil {
			return err
		}
		k := c.of(key)
		if at, ok := k.search(rec.window); ok {
			k.records[at] = rec
		} else {
			k.records = slices.Insert(k.records, at, rec)
		}
	}
	// Corrections that waited were shown, and EARLY rows are a matter of what was
	// not.
	for _, k := range c.order {
		for j := range k.waiting {
			k.waiting[j].first = max(k.waiting[j].first, c.fired)
		}
		k.waiting = slices.DeleteFunc(k.waiting, func(p part) bool { return p.first > p.last })
		for j := range k.records {
			k.records[j].news = false
		}
		k.news = false
	}
	c.news = c.news[:0]
	c.prune(max(c.closed, c.pastLateness(c.watermark)))
	return r.Err()
}

func (c *windowCell) restoreBlocks(r *routing.Reader) error {
	for !r.Done() {
		k := c.of(r.Prefixed())
		for _, parts := range []*[]part{&k.parts, &k.loose, &k.waiting} {
			for range r.Uvarint() {
				p := part{first: readWindow(r)}
				p.last = p.first + readWindow(r)
				p.acc = r.Prefixed()
				if r.Err() != nil {
					return r.Err()
				}
				if err := c.inside(p.first, p.last); err != nil {
					return err
				}
				*parts = append(*parts, p)
			}
		}
	}
	return r.Err()
}

// inside checks windows that were read, and notes that they have something.
func (c *windowCell) inside(first, last int32) error {
	if first < 0 || last < first || int(last) >= c.size() {
		return fmt.Errorf("aggregate: windows %d to %d in a cell of %d", first, last, c.size())
	}
	c.first, c.last = min(c.first, first), max(c.last, last)
	return nil
}
