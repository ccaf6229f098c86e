package ledger

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"tidemark/internal/routing"
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

// pack appends all amounts, in the order of their keys: the key with its length, the
// number, and the digits of the sum with their length.
func (b book) pack(dst []byte) []byte {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		a := b[key]
		dst = binary.AppendVarint(routing.AppendPrefixed(dst, key), a.N)
		dst = routing.AppendPrefixed(dst, a.Sum.String())
	}
	return dst
}

// Each calls f with the packed amounts. What it gets is valid until it returns.
func Each(packed []byte, f func(key []byte, a *Amount) error) error {
	var a Amount
	r := routing.NewReader(packed)
	for !r.Done() {
		key, n, sum := r.Prefixed(), r.Varint(), r.Prefixed()
		if r.Err() != nil {
			break
		}
		a.N = n
		if _, ok := a.Sum.SetString(string(sum), 10); !ok {
			return fmt.Errorf("ledger: the sum of %q is %q, want digits", key, sum)
		}
		if err := f(key, &a); err != nil {
			return err
		}
	}
	return r.Err()
}
