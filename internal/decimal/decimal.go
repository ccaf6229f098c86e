// Package decimal reads decimal text: as int64 minor units, so that "12.34" at
// scale 2 is 1234, exactly and never through a float64, or as the nearest float64.
package decimal

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// MaxScale is the largest scale of [Minor]: 10^18 is the largest power of ten
// inside int64.
const MaxScale = 18

// Kind says why a text has no value in minor units.
type Kind int

const (
	// NotNumber means that the text does not have the form of a number.
	NotNumber Kind = iota
	// TooFine means that the value has more decimals than the scale.
	TooFine
	// TooLarge means that the value in minor units is outside int64.
	TooLarge
	// NotFinite means that the value is outside float64.
	NotFinite
)

// Error is the error of [Minor] and [Float]. Its message quotes the text, cut to
// a readable length.
type Error struct {
	Kind  Kind
	Text  string // what was read, cut to a readable length
	Scale int
}

// Error returns the reason, as in `"12.345" has more than 2 decimals`.
func (e *Error) Error() string {
	switch e.Kind {
	case TooFine:
		if e.Scale == 1 {
			return e.Text + " has more than 1 decimal"
		}
		return fmt.Sprintf("%s has more than %d decimals", e.Text, e.Scale)
	case TooLarge:
		return e.Text + " is outside the range of int64 minor units"
	case NotFinite:
		return e.Text + " is outside the range of float64"
	default:
		return e.Text + " is not a number"
	}
}

// Minor returns the value of text times 10^scale, exactly.
//
// The text is an optional sign (+ or -), digits, an optional fraction (a dot
// and digits) and an optional exponent (e or E, an optional sign, digits):
// every JSON number, and with a plus sign or leading zeros a little more. The
// value counts, not the spelling: at scale 2 the texts "12.34", "12.3400" and
// "1.234e1" are all 1234, and "-0" is 0. Spaces, underscores, hexadecimal,
// "NaN", "Inf", ".5" and "5." are not numbers.
//
// A value that is not a whole number of minor units, or that does not fit in
// int64, is an [*Error]; a value that is both is reported as [TooFine]. A scale
// outside 0 to [MaxScale] is an error of another type. Time is linear in the
// length of the text and memory is constant, whatever the exponent.
func Minor(text []byte, scale int) (int64, error) {
	if scale < 0 || scale > MaxScale {
		return 0, fmt.Errorf("scale = %d, want 0 to %d", scale, MaxScale)
	}
	if v, ok := plain(text, scale); ok {
		return v, nil
	}
	v, kind, ok := exact(text, scale)
	if !ok {
		return 0, &Error{Kind: kind, Text: quote(text), Scale: scale}
	}
	return v, nil
}

// pow10 holds the powers of ten inside int64.
var pow10 = func() (p [MaxScale + 1]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// plain reads the common case: at most 18 digits, no exponent, and a result
// inside int64. It returns false for everything else, good or bad.
func plain(text []byte, scale int) (int64, bool) {
	digits, negative := sign(text)
	if len(digits) > 19 { // 18 digits and a dot
		return 0, false
	}
	var v int64
	count, dot := 0, -1
	for i, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			v = 10*v + int64(c-'0')
			count++
		case c == '.' && dot < 0 && i > 0:
			dot = i
		default:
			return 0, false
		}
	}
	if count == 0 || count > 18 || dot == len(digits)-1 {
		return 0, false
	}
	fraction := 0
	if dot >= 0 {
		fraction = len(digits) - dot - 1
	}
	for fraction > scale && v%10 == 0 {
		v /= 10
		fraction--
	}
	if fraction > scale || v > math.MaxInt64/pow10[scale-fraction] {
		return 0, false
	}
	v *= pow10[scale-fraction]
	if negative {
		v = -v
	}
	return v, true
}

// exact reads any text. Zeros that do not count are dropped and the size is
// checked before a number is made of the digits, so that neither a long
// mantissa nor a large exponent costs anything.
func exact(text []byte, scale int) (v int64, kind Kind, ok bool) {
	n, ok := split(text)
	if !ok {
		return 0, NotNumber, false
	}
	// The value in minor units is the integer whole+fraction times 10^exponent.
	exponent := n.exponent + int64(scale)
	whole, fraction := bytes.TrimLeft(n.whole, "0"), bytes.TrimRight(n.fraction, "0")
	if len(fraction) > 0 {
		exponent -= int64(len(fraction))
		if len(whole) == 0 {
			fraction = bytes.TrimLeft(fraction, "0")
		}
	} else {
		all := len(whole)
		whole = bytes.TrimRight(whole, "0")
		exponent += int64(all - len(whole))
	}
	size := len(whole) + len(fraction)
	switch {
	case size == 0:
		return 0, 0, true
	case exponent < 0:
		return 0, TooFine, false
	case int64(size)+exponent > 19: // int64 has 19 digits
		return 0, TooLarge, false
	}
	var buf [19]byte
	digits := append(append(buf[:0], whole...), fraction...)
	d := apd.Decimal{Negative: n.negative, Exponent: int32(exponent)}
	if _, ok := d.Coeff.SetString(string(digits), 10); !ok {
		return 0, NotNumber, false
	}
	v, err := d.Int64() // exact; the one error left is the range
	if err != nil {
		return 0, TooLarge, false
	}
	return v, 0, true
}

// number is a text taken apart: whole.fraction times 10^exponent.
type number struct {
	negative        bool
	whole, fraction []byte
	exponent        int64
}

// farExponent bounds the exponents that are told apart. No text is long enough
// to bring a value with such an exponent back into int64.
const farExponent = 1 << 40

// split takes text apart and reports whether it has the form of a number.
func split(text []byte) (n number, ok bool) {
	rest, negative := sign(text)
	n.negative = negative
	if n.whole, rest = leadingDigits(rest); len(n.whole) == 0 {
		return n, false
	}
	if len(rest) > 0 && rest[0] == '.' {
		if n.fraction, rest = leadingDigits(rest[1:]); len(n.fraction) == 0 {
			return n, false
		}
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		var digits []byte
		rest, negative = sign(rest[1:])
		if digits, rest = leadingDigits(rest); len(digits) == 0 {
			return n, false
		}
		for _, c := range digits {
			n.exponent = min(10*n.exponent+int64(c-'0'), farExponent)
		}
		if negative {
			n.exponent = -n.exponent
		}
	}
	return n, len(rest) == 0
}

// sign cuts one optional sign from the front of text.
func sign(text []byte) (rest []byte, negative bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		return text[1:], text[0] == '-'
	}
	return text, false
}

// leadingDigits cuts the longest run of digits from the front of text.
func leadingDigits(text []byte) (digits, rest []byte) {
	i := 0
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}

// maxQuoted is the number of bytes of a text that an error message shows.
const maxQuoted = 40

// quote returns text in quotes, cut between characters after maxQuoted bytes.
func quote(text []byte) string {
	if len(text) <= maxQuoted {
		return strconv.Quote(string(text))
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(string(text[:end])) + "..."
}
