package sink

import (
	"encoding/binary"
	"errors"
)

// Batch is packed lines, each with its order.
type Batch []byte

// Each calls f with the lines and their orders, which share memory with b.
func (b Batch) Each(f func(order, line []byte) error) error {
	for len(b) > 0 {
		order, line, rest, err := cutLine(b)
		if err != nil {
			return err
		}
		if err := f(order, line); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// Packer puts lines together to a [Batch], the element that [Write] takes: a
// pipeline moves a few large elements much faster than many small ones. A DoFn
// fills one while a bundle lasts, emits it at about a megabyte and in
// FinishBundle. The zero value is ready. It is not safe for concurrent use.
type Packer struct {
	batch []byte
	hint  int // the length of the last batch
}

// Add packs copies of a line, without a newline, and of its order; see
// [Spool.Add].
func (p *Packer) Add(order, line []byte) {
	if p.batch == nil {
		p.batch = make([]byte, 0, max(p.hint, 1<<10))
	}
	p.batch = appendLine(p.batch, order, line)
}

// Bytes returns the batch so far. It is valid until the next Add, and for ever
// after a Reset.
func (p *Packer) Bytes() []byte { return p.batch }

// Len returns the length of the batch in bytes; 0 means that nothing is in it.
func (p *Packer) Len() int { return len(p.batch) }

// Reset begins a new batch. It leaves the memory of the last one alone, because
// what a DoFn has emitted must not change.
func (p *Packer) Reset() {
	p.hint = max(p.hint/2, len(p.batch)) // bundles differ: forget a large one slowly
	p.batch = nil
}

// A line, in batches and on disk, is
//
//	len(order), len(line) uvarint | order | line

func appendLine(b, order, line []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(order)))
	b = binary.AppendUvarint(b, uint64(len(line)))
	b = append(b, order...)
	return append(b, line...)
}

var errBatch = errors.New("sink: malformed batch, want one made by a Packer")

// cutLine returns the first line of b and what follows it. The results share
// memory with b.
func cutLine(b []byte) (order, line, rest []byte, err error) {
	first, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, nil, errBatch
	}
	second, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return nil, nil, nil, errBatch
	}
	b = b[n+m:]
	if first > uint64(len(b)) || second > uint64(len(b))-first {
		return nil, nil, nil, errBatch
	}
	mid, end := int(first), int(first+second)
	return b[:mid], b[mid:end], b[end:], nil
}
