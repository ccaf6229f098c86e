package ledger

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/big"
	"slices"
)

// Amount is how many of something there are, and what they come to.
type Amount struct {
	N   int64
	Sum big.Int
}

func (a *Amount) add(o *Amount) {
	a.N += o.N
	a.Sum.Add(&a.Sum, &o.Sum)
}

// book is amounts by what they are of.
type book map[string]*Amount

// add adds to the amount of key.
func (b book) add(key []byte, more *Amount) {
	a := b[string(key)]
	if a == nil {
		a = new(Amount)
		b[string(key)] = a
	}
	a.add(more)
}

// pack appends all amounts, in the order of their keys.
func (b book) pack(dst []byte) []byte {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		dst = appendEntry(dst, key, b[key])
	}
	return dst
}

// appendEntry appends the length of the key and the key, the number, and the sum as
// the length of its size, doubled, with the sign in the lowest bit, and its size.
func appendEntry(dst []byte, key string, a *Amount) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	dst = binary.AppendVarint(dst, a.N)
	size := a.Sum.Bytes()
	head := uint64(len(size)) << 1
	if a.Sum.Sign() < 0 {
		head |= 1
	}
	return append(binary.AppendUvarint(dst, head), size...)
}

var errDamaged = errors.New("ledger: damaged entry")

// Each calls f with the packed amounts. What it gets is valid until it returns.
func Each(packed []byte, f func(key []byte, a *Amount) error) error {
	var a Amount
	for len(packed) > 0 {
		key, rest, ok := cut(packed, 0)
		if !ok {
			return errDamaged
		}
		n, used := binary.Varint(rest)
		if used <= 0 {
			return errDamaged
		}
		rest = rest[used:]
		head, used := binary.Uvarint(rest)
		if used <= 0 {
			return errDamaged
		}
		size, rest, ok := cut(rest, 1)
		if !ok {
			return errDamaged
		}
		a.N = n
		a.Sum.SetBytes(size)
		if head&1 == 1 {
			a.Sum.Neg(&a.Sum)
		}
		if err := f(key, &a); err != nil {
			return err
		}
		packed = rest
	}
	return nil
}

// cut cuts what comes with its length, which is shifted by some bits.
func cut(b []byte, shift uint) (part, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if n >>= shift; used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, false
	}
	b = b[used:]
	return b[:n], b[n:], true
}
