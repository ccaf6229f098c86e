// Package exactsum adds float64s without rounding. Sums are bytes, which are
// merged in that form; they round once, when they are asked for as a float64.
//
// # Encoding
//
// Every finite float64 is a whole number of units of 2^-1074, and so is a sum of
// them. A sum is that number in two's complement, in limbs of 32 bits, little
// endian, behind one byte that counts the limbs of zeros that were left out at
// the low end:
//
//	low byte | limb uint32 *
//
// The lowest limb is not zero, and the highest one says more than the sign of
// the one below it. Zero is no bytes at all. So there is one encoding of each
// number: sums of the same values are equal to the last byte, whatever order or
// tree they were added in, and values that cancel leave nothing behind.
//
// # Guarantees
//
//   - Nothing overflows or is lost in between: 2^62 values of any size fit, and
//     1e300, 1 and -1e300 come to 1.
//   - [Float64] and [Mean] round once, to nearest, ties to even, among the
//     subnormal numbers too. The mean is right where the sum itself is outside
//     float64.
//   - There is no negative zero: -0 counts as 0, and what rounds to zero is 0.
//
// # Limits
//
// NaN and infinities have no place in a sum. A value takes 5 to 13 bytes, a sum of
// values of one magnitude hardly more, and 273 is the most.
package exactsum
