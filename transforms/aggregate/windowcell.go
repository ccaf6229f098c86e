package aggregate

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/internal/routing"
	"tidemark/windowfns"
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
		p := part{first: first, last: last, elements: elements, acc: acc}
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
			c.countEarly(k, p, h.id)
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
		q.elements += p.elements
		q.acc, err = c.grow(q.acc, p.acc)
		return err
	}
	if i > 0 && k.parts[i-1].last > p.last || i < len(k.parts) && k.parts[i].last < p.last {
		for j := range k.loose {
			if q := &k.loose[j]; q.first == p.first && q.last == p.last {
				q.elements += p.elements
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

// recordOf returns the record of a window. A new one says what follows from the
// parts.
func (c *windowCell) recordOf(k *keyed, i int32) (*record, error) {
	at, ok := k.search(i)
	if !ok {
		r := record{window: i}
		if i < c.fired {
			total, err := c.onTime(k, i)
			if err != nil {
				return nil, err
			}
			c.follow(&r.rowState, total)
		}
		k.records = slices.Insert(k.records, at, r)
	}
	return &k.records[at], nil
}

// follow sets what was shown of a window that has fired and has no record.
func (c *windowCell) follow(s *rowState, total []byte) {
	if total != nil && c.agg.Check(total) == nil {
		*s = rowState{rows: 1, shown: total, ever: true}
	}
}

// correct adds a correction to a window that has fired.
func (c *windowCell) correct(k *keyed, i int32, acc []byte) error {
	r, err := c.recordOf(k, i)
	if err != nil {
		return err
	}
	if r.total == nil {
		if r.total, err = c.onTime(k, i); err != nil {
			return err
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

// fireWaiting shows the corrections that waited for window i, which is marked as
// fired for them.
func (c *windowCell) fireWaiting(k *keyed, i int32, w windowfns.Window, to outlet) error {
	corrected := false
	for j := range k.waiting {
		if !k.waiting[j].covers(i) {
			continue
		}
		r, ok := k.search(i)
		if !ok {
			total, err := c.onTime(k, i)
			if err != nil {
				return err
			}
			fresh := record{window: i}
			c.follow(&fresh.rowState, total)
			k.records = slices.Insert(k.records, r, fresh)
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
func (c *windowCell) countEarly(k *keyed, p part, id uint64) {
	for i := p.first; i <= p.last; i++ {
		at, ok := k.search(i)
		if !ok {
			k.records = slices.Insert(k.records, at, record{window: i})
		}
		r := &k.records[at]
		r.unshown += p.elements
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
				dst = binary.AppendUvarint(dst, uint64(p.elements))
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
		dst = binary.AppendUvarint(dst, uint64(r.unshown))
		dst = binary.AppendUvarint(dst, uint64(len(r.ids)))
		for _, id := range r.ids {
			dst = binary.AppendUvarint(dst, id)
		}
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
		rec.unshown = int64(r.Uvarint())
		for range r.Uvarint() {
			if r.Err() != nil {
				break
			}
			rec.ids = append(rec.ids, r.Uvarint())
		}
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
				p.elements = int64(r.Uvarint())
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
