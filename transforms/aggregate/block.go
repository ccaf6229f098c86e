package aggregate

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

type blockKey struct {
	kind  byte
	shard int64
	w     windowfns.Window
}

// block gathers one accumulator a key.
type block struct {
	blockKey
	counted  bool
	elements int
	index    map[string]int
	keys     []string
	accs     [][]byte
	perKey   []int64 // elements, where counted is set
}

// add merges acc into the key's accumulator and returns by how many bytes b
// grew, roughly.
func (b *block) add(agg Aggregator, key, acc []byte) (int, error) {
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
		if b.counted {
			b.perKey = append(b.perKey, 1)
		}
		return 2*len(k) + len(acc) + 64, nil
	}
	was := len(b.accs[i])
	merged, err := agg.Merge(b.accs[i], acc)
	if err != nil {
		return 0, fmt.Errorf("aggregate: merging: %w", err)
	}
	b.accs[i] = merged
	if b.counted {
		b.perKey[i]++
	}
	return len(merged) - was, nil
}

func (b *block) encode() []byte {
	n := 12
	for i, k := range b.keys {
		n += len(k) + len(b.accs[i]) + 6
	}
	out := make([]byte, 0, n)
	if b.counted {
		out = appendPerKey(out, b.perKey)
	}
	out = appendBlockHeader(out, b.kind, b.elements)
	for i, k := range b.keys {
		out = appendDelta(out, k, b.accs[i])
	}
	return out
}

func appendBlockHeader(b []byte, kind byte, count int) []byte {
	return binary.AppendUvarint(append(b, kind), uint64(count))
}

func appendDelta(b []byte, key string, acc []byte) []byte {
	return routing.AppendPrefixed(routing.AppendPrefixed(b, key), acc)
}

// On the way to its cell, a block of elements that are counted has in front of
// it how many each key has, in the order of its entries:
//
//	entries uvarint | elements uvarint *
func appendPerKey(b []byte, perKey []int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(perKey)))
	for _, n := range perKey {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// cutPerKey reads what [appendPerKey] wrote, into perKey, and returns the block.
func cutPerKey(b []byte, perKey []int64) (_ []int64, block []byte, err error) {
	r := routing.NewReader(b)
	for range r.Uvarint() {
		if r.Err() != nil {
			break
		}
		perKey = append(perKey, int64(r.Uvarint()))
	}
	return perKey, r.Bytes(r.Len()), r.Err()
}

// eachDelta calls f for each entry of a block of deltas.
func eachDelta(b []byte, f func(i int, key, acc []byte) error) error {
	r := routing.NewReader(b)
	r.Byte()
	r.Uvarint()
	for i := 0; !r.Done(); i++ {
		key, acc := r.Prefixed(), r.Prefixed()
		if r.Err() != nil {
			break
		}
		if err := f(i, key, acc); err != nil {
			return err
		}
	}
	return r.Err()
}

// blockCount reads the header of a block.
func blockCount(b []byte) (kind byte, count int64, err error) {
	r := routing.NewReader(b)
	kind = r.Byte()
	count = int64(r.Uvarint())
	return kind, count, r.Err()
}
