package rows

import (
	"math"
	"strconv"
	"unicode/utf8"

	"tidemark/connectors/records"
)

// appendName begins a member of the object that dst ends in.
func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func appendText[T string | []byte](dst []byte, name string, s T) []byte {
	return appendString(appendName(dst, name), s)
}

func appendInt(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(dst, name), n, 10)
}

// appendIntOrNull appends null where n is nil.
func appendIntOrNull(dst []byte, name string, n *int64) []byte {
	if n == nil {
		return appendNull(dst, name)
	}
	return appendInt(dst, name, *n)
}

func appendNull(dst []byte, name string) []byte { return append(appendName(dst, name), "null"...) }

// appendFloatOrNull appends null where x is nil.
func appendFloatOrNull(dst []byte, name string, x *float64) []byte {
	if x == nil {
		return appendNull(dst, name)
	}
	return appendNumber(appendName(dst, name), *x)
}

// appendNumber appends a finite float64 as encoding/json does: with the fewest
// digits that give it back, and with an exponent where it is below 1e-6 or at
// least 1e21.
func appendNumber(dst []byte, x float64) []byte {
	if size := math.Abs(x); size == 0 || 1e-6 <= size && size < 1e21 {
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	// Exponents have two digits at least; JSON writes e-7, not e-07.
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

func appendBool(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(appendName(dst, name), b)
}

// appendTime needs no escaping: the text of a time is digits, letters and signs.
func appendTime(dst []byte, name string, ms int64) []byte {
	dst = append(appendName(dst, name), '"')
	dst = records.AppendTime(dst, ms)
	return append(dst, '"')
}

// appendTimeOrNull appends null where ms is nil.
func appendTimeOrNull(dst []byte, name string, ms *int64) []byte {
	if ms == nil {
		return appendNull(dst, name)
	}
	return appendTime(dst, name, *ms)
}

func appendWindow(dst []byte, startMs, endMs int64) []byte {
	dst = appendTime(dst, "window_start", startMs)
	return appendTime(dst, "window_end", endMs)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. U+2028 and U+2029 are escaped, because
// JavaScript once took them for line breaks inside a string.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	kept := 0 // s[kept:i] goes in as it is
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[kept:i]...)
			dst = appendEscape(dst, c)
			i++
			kept = i
			continue
		}
		// Of at most four bytes, the conversion stays off the heap.
		r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[kept:i]...)
			dst = append(dst, `\ufffd`...)
			kept = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[kept:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xF])
			kept = i + size
		}
		i += size
	}
	dst = append(dst, s[kept:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of a quote, a backslash or a control
// character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
	}
}
