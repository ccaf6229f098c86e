package routing

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/windowfns"
)

// Verdicts on elements that have several windows travel packed, in groups, one
// for each batch that was judged:
//
//	nonce 8 bytes | start varint | end varint | late byte | len uvarint | verdict*
//
// and a verdict is
//
//	seq, probes, judged uvarint | [windows uvarint | time varint] | raw prefixed
//
// where the bracketed part is there when late is 1. In time, raw is empty but
// behind a second gate: copies that were late at the first hold the watermark no
// more, so that one can be late at the second where an earlier one is not.

// appendVerdicts appends a group of verdicts, each made by [appendVerdict].
func appendVerdicts(b []byte, nonce uint64, w windowfns.Window, late bool, group []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, nonce)
	b = appendWindow(b, w)
	if late {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return AppendPrefixed(b, group)
}

// appendVerdict appends the verdict on a copy that stands for as many windows as
// judged says. Late ones stand for one.
func appendVerdict(b []byte, it *Item, judged int64, late bool) []byte {
	b = binary.AppendUvarint(b, it.Seq)
	b = binary.AppendUvarint(b, uint64(it.Probes))
	b = binary.AppendUvarint(b, uint64(judged))
	if late {
		b = binary.AppendUvarint(b, uint64(it.Windows))
		b = binary.AppendVarint(b, it.TimeMs)
	}
	return AppendPrefixed(b, it.Raw)
}

// open is an element some of whose windows are not judged yet.
type open struct {
	left    int // verdicts to come
	windows int
	timeMs  int64
	missed  []windowfns.Window
	raw     []byte
}

type elementID struct{ nonce, seq uint64 }

// collector puts the verdicts on an element's windows together.
type collector map[elementID]*open

// add takes packed verdicts and appends the late records of the elements that
// are now judged for all of their windows to records. It returns the smallest
// time among them, or oldest.
func (c collector) add(b, records []byte, oldest int64) ([]byte, int64, error) {
	r := NewReader(b)
	for !r.Done() {
		nonce := r.Bytes(8)
		w := r.window()
		late := r.Byte() == 1
		group := NewReader(r.Prefixed())
		if r.Err() != nil {
			return records, oldest, r.Err()
		}
		if records, oldest = c.addGroup(nonce, w, late, &group, records, oldest); group.Err() != nil {
			return records, oldest, group.Err()
		}
	}
	return records, oldest, r.Err()
}

func (c collector) addGroup(nonce []byte, w windowfns.Window, late bool, r *Reader, records []byte, oldest int64) ([]byte, int64) {
	for !r.Done() {
		id := elementID{binary.LittleEndian.Uint64(nonce), r.Uvarint()}
		probes, judged := int(r.Uvarint()), int(r.Uvarint())
		e := c[id]
		if e == nil {
			e = &open{left: probes}
			c[id] = e
		}
		e.left -= judged
		if late {
			e.windows, e.timeMs = int(r.Uvarint()), r.Varint()
			e.missed = append(e.missed, w)
		}
		// Not every copy carries the element.
		if raw := r.Prefixed(); len(raw) > 0 {
			e.raw = raw
		}
		if e.left > 0 {
			continue
		}
		delete(c, id)
		if len(e.missed) > 0 {
			slices.SortFunc(e.missed, windowfns.Window.Compare)
			oldest = min(oldest, e.timeMs)
			records = AppendLate(records, &LateRecord{TimeMs: e.timeMs, Missed: e.missed, All: len(e.missed) == e.windows, Raw: e.raw})
		}
	}
	return records, oldest
}

// encode encodes c, in a fixed order.
func (c collector) encode() (b []byte) {
	ids := make([]elementID, 0, len(c))
	for id := range c {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		a, b := ids[i], ids[j]
		return a.nonce < b.nonce || a.nonce == b.nonce && a.seq < b.seq
	})
	for _, id := range ids {
		e := c[id]
		b = binary.LittleEndian.AppendUint64(b, id.nonce)
		b = binary.AppendUvarint(b, id.seq)
		b = binary.AppendUvarint(b, uint64(e.left))
		b = binary.AppendUvarint(b, uint64(e.windows))
		b = binary.AppendVarint(b, e.timeMs)
		b = binary.AppendUvarint(b, uint64(len(e.missed)))
		for _, w := range e.missed {
			b = appendWindow(b, w)
		}
		b = AppendPrefixed(b, e.raw)
	}
	return b
}

func readCollector(b []byte) (collector, error) {
	c := collector{}
	r := NewReader(b)
	for !r.Done() {
		nonce := r.Bytes(8)
		if nonce == nil {
			break
		}
		id := elementID{binary.LittleEndian.Uint64(nonce), r.Uvarint()}
		e := &open{left: int(r.Uvarint()), windows: int(r.Uvarint()), timeMs: r.Varint()}
		for range r.Uvarint() {
			if r.Err() != nil {
				break
			}
			e.missed = append(e.missed, r.window())
		}
		e.raw = r.Prefixed()
		c[id] = e
	}
	return c, r.Err()
}

func init() {
	register.DoFn4x1[state.Provider, int64, []byte, Emit, error](&collectFn{})
}

// collectFn writes one late record for each element that missed some of its
// windows, once all of them are judged. Its state, one cell a shard, holds the
// elements between their first verdict and their last.
type collectFn struct {
	Open state.Value[[]byte]
}

func newCollectFn() *collectFn {
	return &collectFn{Open: state.MakeValueState[[]byte]("open")}
}

func (f *collectFn) ProcessElement(sp state.Provider, shard int64, verdicts []byte, emit Emit) error {
	was, ok, err := f.Open.Read(sp)
	if err != nil {
		return err
	}
	c, err := readCollector(was)
	if err != nil {
		return err
	}
	records, oldest, err := c.add(verdicts, nil, math.MaxInt64)
	if err != nil {
		return err
	}
	if records != nil {
		emit(mtime.Time(oldest), shard, records)
	}
	if len(c) == 0 {
		if !ok {
			return nil
		}
		return f.Open.Clear(sp)
	}
	return f.Open.Write(sp, c.encode())
}
