package exactsum

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

const (
	// unit is the exponent of the lowest bit of limb 0.
	unit = -1074

	limbBits  = 32
	limbBytes = limbBits / 8

	// maxLimbs holds 2^62 times the largest float64, and a sign.
	maxLimbs = 68
)

// Append appends the sum of x alone to dst. It panics if x is NaN or an infinity.
func Append(dst []byte, x float64) []byte {
	if x == 0 {
		return dst
	}
	b := math.Float64bits(x)
	mantissa, exponent := b&(1<<52-1), int(b>>52&0x7FF)
	switch exponent {
	case 0x7FF:
		panic(fmt.Sprintf("exactsum: %v, want a finite number", x))
	case 0:
		exponent = 1 // subnormal
	default:
		mantissa |= 1 << 52
	}
	low, shift := (exponent-1)/limbBits, (exponent-1)%limbBits
	lo, hi := mantissa<<shift, mantissa>>(64-shift)
	if x < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	at := len(dst)
	dst = append(dst, byte(low))
	dst = binary.LittleEndian.AppendUint64(dst, lo)
	dst = binary.LittleEndian.AppendUint64(dst, hi)
	return trim(dst, at)
}

// Add adds a sum to the one that dst ends in, which begins at dst[at], and
// returns dst, which is then longer, shorter or the same. Both sums have passed
// [Check]. They must not overlap.
func Add(dst []byte, at int, sum []byte) []byte {
	switch {
	case len(sum) == 0:
		return dst
	case len(dst) == at:
		return append(dst, sum...)
	}
	if fewer := int(dst[at]) - int(sum[0]); fewer > 0 {
		dst = pad(dst, fewer, 0)
		limbs := dst[at+1:]
		copy(limbs[fewer*limbBytes:], limbs)
		clear(limbs[:fewer*limbBytes])
		dst[at] = sum[0]
	}
	skip := int(sum[0]) - int(dst[at])
	addend := sum[1:]
	sign, addSign := signOf(dst), signOf(addend)
	if fewer := skip + len(addend)/limbBytes - len(dst[at+1:])/limbBytes; fewer > 0 {
		dst = pad(dst, fewer, byte(sign))
	}

	var carry uint64
	rest := dst[at+1+skip*limbBytes:]
	for len(addend) >= limbBytes {
		v := uint64(binary.LittleEndian.Uint32(rest)) + uint64(binary.LittleEndian.Uint32(addend)) + carry
		binary.LittleEndian.PutUint32(rest, uint32(v))
		carry = v >> limbBits
		rest, addend = rest[limbBytes:], addend[limbBytes:]
	}
	// Above it, the addend is its sign over and over. With a carry, a negative
	// one adds nothing, and so does a positive one without.
	for len(rest) >= limbBytes && carry != uint64(addSign&1) {
		v := uint64(binary.LittleEndian.Uint32(rest)) + uint64(addSign) + carry
		binary.LittleEndian.PutUint32(rest, uint32(v))
		carry = v >> limbBits
		rest = rest[limbBytes:]
	}
	if over := sign + addSign + uint32(carry); over != signOf(dst) {
		dst = binary.LittleEndian.AppendUint32(dst, over)
	}
	return trim(dst, at)
}

// signOf is the sign of limbs that end in the highest: all ones if they are
// negative, or zero.
func signOf(limbs []byte) uint32 {
	return uint32(int32(int8(limbs[len(limbs)-1])) >> 7)
}

// pad appends n limbs of the given bytes.
func pad(dst []byte, n int, fill byte) []byte {
	for range n * limbBytes {
		dst = append(dst, fill)
	}
	return dst
}

// trim brings the sum that begins at b[at] into its one encoding: without limbs
// that only repeat the sign, and without zeros at the low end.
func trim(b []byte, at int) []byte {
	for len(b) >= at+1+2*limbBytes {
		top := binary.LittleEndian.Uint32(b[len(b)-limbBytes:])
		if top != signOf(b[:len(b)-limbBytes]) {
			break
		}
		b = b[:len(b)-limbBytes]
	}
	limbs, zeros := b[at+1:], 0
	for zeros < len(limbs) && binary.LittleEndian.Uint32(limbs[zeros:]) == 0 {
		zeros += limbBytes
	}
	if zeros == 0 {
		return b
	}
	if zeros == len(limbs) {
		return b[:at]
	}
	b[at] += byte(zeros / limbBytes)
	return b[:at+1+copy(limbs, limbs[zeros:])]
}

// Check says why sum is not the encoding of a number, or returns nil.
func Check(sum []byte) error {
	if len(sum) == 0 {
		return nil
	}
	n := len(sum) / limbBytes
	if len(sum) != 1+n*limbBytes || n == 0 || int(sum[0])+n > maxLimbs {
		return fmt.Errorf("exactsum: malformed sum of %d bytes", len(sum))
	}
	if idle(sum[1:]) {
		return fmt.Errorf("exactsum: sum of %d bytes has idle limbs", len(sum))
	}
	return nil
}

// idle reports whether limbs have one too many at an end.
func idle(limbs []byte) bool {
	if binary.LittleEndian.Uint32(limbs) == 0 {
		return true
	}
	above := len(limbs) - limbBytes
	return above > 0 && binary.LittleEndian.Uint32(limbs[above:]) == signOf(limbs[:above])
}
