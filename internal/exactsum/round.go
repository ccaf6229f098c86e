package exactsum

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Float64 is the float64 nearest to the sum, or an infinity if it is outside
// float64.
func Float64(sum []byte) float64 { return Mean(sum, 1) }

// Mean is the float64 nearest to the sum divided by n, which is positive. That is
// an infinity only if the quotient is outside float64, as it never is for a mean.
func Mean(sum []byte, n int64) float64 {
	if len(sum) == 0 {
		return 0
	}
	negative, hi, lo, exponent, more := leading(sum)

	// Long division by n with its top bit set, which the dividend has too: the
	// quotient has 64 bits or 65. What leading left out is less than a unit, so
	// that it cannot change the digits, only that something follows them.
	shift := bits.LeadingZeros64(uint64(n))
	divisor := uint64(n) << shift
	exponent += shift
	over := hi >= divisor
	if over {
		hi -= divisor
	}
	q, rest := bits.Div64(hi, lo, divisor)
	more = more || rest != 0
	if over {
		more = more || q&1 != 0
		q = q>>1 | 1<<63
		exponent++
	}
	x := round(q, exponent, more)
	if negative && x != 0 {
		return -x
	}
	return x
}

// leading is the size of the sum, which is not zero: at least hi,lo and less than
// one more, in units of 2^exponent, with the top bit of hi set. There is more
// if it is not exactly hi,lo.
func leading(sum []byte) (negative bool, hi, lo uint64, exponent int, more bool) {
	limbs := sum[1:]
	negative = signOf(limbs) != 0
	top := len(limbs)/limbBytes - 1
	if size(limbs, top) == 0 {
		top-- // it held the sign only
	}
	w0, w1, w2, w3, w4 := size(limbs, top), size(limbs, top-1), size(limbs, top-2), size(limbs, top-3), size(limbs, top-4)
	shift := bits.LeadingZeros32(uint32(w0))
	hi, lo = w0<<limbBits|w1, w2<<limbBits|w3
	hi = hi<<shift | lo>>(64-shift)
	lo = lo<<shift | w4>>(limbBits-shift)
	exponent = unit + limbBits*(int(sum[0])+top-3) - shift
	return negative, hi, lo, exponent, uint32(w4<<shift) != 0 || top > 4 // limb 0 is not zero
}

// size is limb i of the absolute value, or 0 if there is none.
func size(limbs []byte, i int) uint64 {
	if i < 0 {
		return 0
	}
	v := binary.LittleEndian.Uint32(limbs[i*limbBytes:])
	switch {
	case signOf(limbs) == 0:
		return uint64(v)
	case i == 0:
		return uint64(-v) // not zero: no carry goes on from here
	default:
		return uint64(^v)
	}
}

// round is the float64 nearest to m units of 2^exponent, and a little more where
// more is set. The top bit of m is set.
func round(m uint64, exponent int, more bool) float64 {
	biased := exponent + 63 + 1023
	drop := 11
	switch {
	case biased > 2046:
		return math.Inf(1)
	case biased < 1: // subnormal: fewer digits
		drop += 1 - biased
		biased = 0
		if drop > 64 {
			return 0
		}
	}
	kept, rest, half := m>>drop, m&(1<<drop-1), uint64(1)<<(drop-1)
	if rest > half || rest == half && (more || kept&1 != 0) {
		kept++
	}
	if biased > 0 {
		kept += uint64(biased-1) << 52 // and its own top bit is one more
	}
	return math.Float64frombits(kept)
}

// Exact is the sum in decimal, with all of its digits.
func Exact(sum []byte) string {
	if len(sum) == 0 {
		return "0"
	}
	limbs := sum[1:]
	n := new(big.Int)
	for i := len(limbs)/limbBytes - 1; i >= 0; i-- {
		n.Lsh(n, limbBits).Or(n, new(big.Int).SetUint64(size(limbs, i)))
	}
	if signOf(limbs) != 0 {
		n.Neg(n)
	}
	exponent := unit + limbBits*int(sum[0])
	if exponent >= 0 {
		return n.Lsh(n, uint(exponent)).String()
	}
	v := new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), uint(-exponent)))
	return v.FloatString(v.Denom().BitLen() - 1) // a power of two: as many decimals as its exponent
}
