package gmv

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// total is the accumulator of one key, currency and window: an exact sum in 128
// bits, which no count of int64 amounts that fits an int64 can overflow.
type total struct {
	hi    uint64 // two's complement, high half
	lo    uint64
	count int64
	maxMs int64 // the latest element timestamp
}

// totalBytes is the size of an encoded total: four words, little endian.
const totalBytes = 32

func totalOf(minor, timeMs int64) total {
	return total{hi: uint64(minor >> 63), lo: uint64(minor), count: 1, maxMs: timeMs}
}

func (t total) appendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, t.hi)
	b = binary.LittleEndian.AppendUint64(b, t.lo)
	b = binary.LittleEndian.AppendUint64(b, uint64(t.count))
	return binary.LittleEndian.AppendUint64(b, uint64(t.maxMs))
}

func readTotal(b []byte) (total, error) {
	if len(b) != totalBytes {
		return total{}, fmt.Errorf("gmv: accumulator of %d bytes, want %d", len(b), totalBytes)
	}
	return total{
		hi:    binary.LittleEndian.Uint64(b),
		lo:    binary.LittleEndian.Uint64(b[8:]),
		count: int64(binary.LittleEndian.Uint64(b[16:])),
		maxMs: int64(binary.LittleEndian.Uint64(b[24:])),
	}, nil
}

// plus is the total of the elements of t and u.
func (t total) plus(u total) total {
	lo, carry := bits.Add64(t.lo, u.lo, 0)
	hi, _ := bits.Add64(t.hi, u.hi, carry)
	return total{hi: hi, lo: lo, count: t.count + u.count, maxMs: max(t.maxMs, u.maxMs)}
}

// minor is the sum, if it is inside int64.
func (t total) minor() (int64, bool) {
	v := int64(t.lo)
	return v, t.hi == uint64(v>>63)
}

// exact is the sum in decimal.
func (t total) exact() string {
	v := new(big.Int).SetInt64(int64(t.hi))
	v.Lsh(v, 64)
	return v.Add(v, new(big.Int).SetUint64(t.lo)).String()
}

// check says why t cannot be emitted.
func (t total) check() error {
	if _, ok := t.minor(); !ok {
		return fmt.Errorf("overflow: the sum %s is outside int64, %d to %d", t.exact(), int64(math.MinInt64), int64(math.MaxInt64))
	}
	return nil
}
