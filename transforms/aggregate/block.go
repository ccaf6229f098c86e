package aggregate

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tidemark/internal/routing"
)

// What travels to a cell is a message, a sequence of blocks:
//
//	kind byte | first varint | last-first uvarint | elements uvarint | id uvarint | len uvarint | entry*
//
// The entries are for all windows of the cell that end from first to last. An
// entry is
//
//	len(key) uvarint | key | elements uvarint | len(acc) uvarint | acc
const (
	// blockOnTime adds to what the ON_TIME rows show.
	blockOnTime = 'N'
	// blockCorrection came within the allowed lateness: it shows in LATE rows,
	// and never before the ON_TIME row.
	blockCorrection = 'C'
	// blockShow asks for EARLY rows of its keys, unless they have shown the block
	// with its id. It has no elements.
	blockShow = 'E'
)

// blockKey is what the elements of a block have in common.
type blockKey struct {
	kind    byte
	shard   int64
	startMs int64 // of their window, where there is no grid
	firstMs int64 // they are in the windows that end from here
	lastMs  int64 // to here
}

// block gathers one accumulator a key.
type block struct {
	blockKey
	elements int64
	index    map[string]int
	keys     []string
	accs     [][]byte
	perKey   []int64 // elements
}

// add merges acc into the key's accumulator and returns by how many bytes b
// grew, roughly.
func (b *block) add(agg Aggregator, key, acc []byte) (int, error) {
	b.elements++
	i, ok := b.index[string(key)]
	if !ok {
		k, n := string(key), len(b.keys)
		b.index[k] = n
		b.keys = append(b.keys, k)
		if n < cap(b.accs) {
			b.accs = b.accs[:n+1] // and the memory of an accumulator before
		} else {
			b.accs = append(b.accs, nil)
		}
		b.accs[n] = append(b.accs[n][:0], acc...)
		b.perKey = append(b.perKey, 1)
		return 2*len(k) + len(acc) + 64, nil
	}
	was := len(b.accs[i])
	merged, err := agg.Merge(b.accs[i], acc)
	if err != nil {
		return 0, fmt.Errorf("aggregate: merging: %w", err)
	}
	b.accs[i] = merged
	b.perKey[i]++
	return len(merged) - was, nil
}

// entries appends the entries of b.
func (b *block) entries(dst []byte) []byte {
	n := 0
	for i, k := range b.keys {
		n += len(k) + len(b.accs[i]) + 8
	}
	dst = slices.Grow(dst, n)
	for i, k := range b.keys {
		dst = appendEntry(dst, k, b.perKey[i], b.accs[i])
	}
	return dst
}

func appendEntry[T ~string | ~[]byte](dst []byte, key T, elements int64, acc []byte) []byte {
	dst = routing.AppendPrefixed(dst, key)
	dst = binary.AppendUvarint(dst, uint64(elements))
	return routing.AppendPrefixed(dst, acc)
}

// header is a block in a message.
type header struct {
	kind     byte
	firstMs  int64
	lastMs   int64
	elements int64
	id       uint64 // by which an EARLY row can be asked for, or 0
}

func appendBlock(dst []byte, h header, entries []byte) []byte {
	dst = append(dst, h.kind)
	dst = binary.AppendVarint(dst, h.firstMs)
	dst = binary.AppendUvarint(dst, uint64(h.lastMs-h.firstMs))
	dst = binary.AppendUvarint(dst, uint64(h.elements))
	dst = binary.AppendUvarint(dst, h.id)
	return routing.AppendPrefixed(dst, entries)
}

// eachBlock calls f for each block of a message.
func eachBlock(msg []byte, f func(h header, entries []byte) error) error {
	r := routing.NewReader(msg)
	for !r.Done() {
		h := header{kind: r.Byte(), firstMs: r.Varint()}
		h.lastMs = h.firstMs + int64(r.Uvarint())
		h.elements = int64(r.Uvarint())
		h.id = r.Uvarint()
		entries := r.Prefixed()
		if r.Err() != nil {
			break
		}
		if h.lastMs < h.firstMs || h.elements < 0 {
			return fmt.Errorf("aggregate: malformed block")
		}
		if err := f(h, entries); err != nil {
			return err
		}
	}
	return r.Err()
}

// eachEntry calls f for each entry of a block. Keys and accumulators point into
// entries.
func eachEntry(entries []byte, f func(key []byte, elements int64, acc []byte) error) error {
	r := routing.NewReader(entries)
	for !r.Done() {
		key, n, acc := r.Prefixed(), int64(r.Uvarint()), r.Prefixed()
		if r.Err() != nil {
			break
		}
		if err := f(key, n, acc); err != nil {
			return err
		}
	}
	return r.Err()
}
