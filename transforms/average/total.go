package average

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/exactsum"
)

// total is the accumulator of one key and window. Encoded, it is the count and
// the time as words, little endian, then the sum, which has no fixed size.
type total struct {
	count int64
	maxMs int64  // the latest element timestamp
	sum   []byte // see package exactsum
}

const (
	maxTimeAt = 8
	sumAt     = 16
)

// appendTotal appends the total of one element.
func appendTotal(b []byte, value float64, timeMs int64) []byte {
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, uint64(timeMs))
	return exactsum.Append(b, value)
}

// check says why b is not an encoded total, or returns nil.
func check(b []byte) error {
	switch {
	case len(b) < sumAt:
		return fmt.Errorf("average: accumulator of %d bytes, want at least %d", len(b), sumAt)
	case countOf(b) < 0:
		return fmt.Errorf("average: accumulator of %d elements", countOf(b))
	}
	return exactsum.Check(b[sumAt:])
}

func countOf(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

func maxTimeOf(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b[maxTimeAt:])) }

// readTotal decodes a total, which refers to b.
func readTotal(b []byte) (total, error) {
	if err := check(b); err != nil {
		return total{}, err
	}
	return total{count: countOf(b), maxMs: maxTimeOf(b), sum: b[sumAt:]}, nil
}

// mergeTotals adds the elements of src to dst, in place where they fit.
func mergeTotals(dst, src []byte) ([]byte, error) {
	if err := check(dst); err != nil {
		return nil, err
	}
	if err := check(src); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(dst, uint64(countOf(dst)+countOf(src)))
	binary.LittleEndian.PutUint64(dst[maxTimeAt:], uint64(max(maxTimeOf(dst), maxTimeOf(src))))
	return exactsum.Add(dst, sumAt, src[sumAt:]), nil
}
