package records

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/decimal"
)

// MinTimeMs and MaxTimeMs are the first and the last accepted event time, in
// milliseconds since the Unix epoch: 1900-01-01T00:00:00.000Z and
// 2185-12-31T23:59:59.999Z.
const (
	MinTimeMs = minSeconds * 1000
	MaxTimeMs = endSeconds*1000 - 1

	minSeconds = -2208988800 // 1900-01-01T00:00:00Z
	endSeconds = 6816355200  // 2186-01-01T00:00:00Z
)

// ErrTooEarly and ErrTooLate are what errors.Is finds in the error of
// a well-formed time before 1900 or after 2185.
var (
	ErrTooEarly = errors.New("before the year 1900")
	ErrTooLate  = errors.New("after the year 2185")
)

// rangeError is the error of a time outside the accepted years.
type rangeError struct {
	reason string
	side   error
}

func (e *rangeError) Error() string { return e.reason }
func (e *rangeError) Unwrap() error { return e.side }

// unit is a unit of time.
type unit struct {
	name      string
	perSecond int64
}

// units holds the known units, the coarsest first.
var units = [...]unit{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}

const unitNames = "s, ms, us or ns"

// unitOf returns the unit with the given name.
func unitOf(name string) (unit, bool) {
	for _, u := range units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// ParseTime reads a time as [Decoder.Decode] does: text is the content of
// a JSON string, without escapes, or a number literal; unit is "s", "ms", "us"
// or "ns". For a time outside the accepted years errors.Is finds [ErrTooEarly]
// or [ErrTooLate] in the error.
func ParseTime(text string, isString bool, unit string) (ms int64, err error) {
	u, ok := unitOf(unit)
	if !ok {
		return 0, fmt.Errorf("unit = %q, want %s", unit, unitNames)
	}
	if isString {
		return u.text([]byte(text))
	}
	return u.number([]byte(text))
}

// value reads a time from a JSON value.
func (u unit) value(value []byte) (int64, error) {
	switch k := kindOf(value); k {
	case text:
		return u.text(unquoted(value))
	case number:
		return u.number(value)
	default:
		return 0, fmt.Errorf("%s, want an RFC 3339 time or a whole number of %s", k, u.name)
	}
}

// text reads a time from the content of a string.
func (u unit) text(s []byte) (int64, error) {
	if ms, ok := parseRFC3339(s); ok {
		if ms < MinTimeMs || ms > MaxTimeMs {
			year := yearOf(floorDiv(ms, 1000))
			return 0, outOfRange(fmt.Sprintf("%s is in the year %d,", cut(s), year), ms < 0, "")
		}
		return ms, nil
	}
	if isDigits(s) {
		return u.number(s)
	}
	if _, ok := parseRFC3339(append(bytes.Clone(s), 'Z')); ok {
		return 0, fmt.Errorf("%q has no offset, want one such as Z or +02:00 at the end", cut(s))
	}
	return 0, fmt.Errorf("%q is not an RFC 3339 time or a whole number of %s", cut(s), u.name)
}

// number reads a time from a number literal.
func (u unit) number(s []byte) (int64, error) {
	n, err := decimal.Minor(s, 0)
	if err != nil {
		var why *decimal.Error
		if errors.As(err, &why) && why.Kind == decimal.TooLarge {
			return 0, outOfRange(fmt.Sprintf("%s %s is", cut(s), u.name), s[0] == '-', "")
		}
		return 0, fmt.Errorf("%s is not a whole number of %s", cut(s), u.name)
	}
	seconds := floorDiv(n, u.perSecond)
	if seconds < minSeconds || seconds >= endSeconds {
		what := fmt.Sprintf("%s %s is in the year %d,", cut(s), u.name, yearOf(seconds))
		return 0, outOfRange(what, n < 0, hint(n))
	}
	if u.perSecond < 1000 {
		return n * (1000 / u.perSecond), nil
	}
	return floorDiv(n, u.perSecond/1000), nil
}

// outOfRange returns the error of a time outside the accepted years.
func outOfRange(what string, early bool, hint string) error {
	e := &rangeError{reason: what + " outside 1900 to 2185" + hint, side: ErrTooLate}
	if early {
		e.side = ErrTooEarly
	}
	return e
}

// hint suggests the coarsest unit in which n is an accepted time, if any.
func hint(n int64) string {
	for _, u := range units {
		if s := floorDiv(n, u.perSecond); minSeconds <= s && s < endSeconds {
			return "; is the unit " + u.name + "?"
		}
	}
	return ""
}

// isDigits reports whether s is one or more digits after an optional minus.
func isDigits(s []byte) bool {
	s = bytes.TrimPrefix(s, []byte("-"))
	for _, c := range s {
		if !isDigit(c) {
			return false
		}
	}
	return len(s) > 0
}

// yearOf returns the Gregorian year of a time in seconds since the Unix epoch,
// also where package time would overflow. Years before 1 count down from 0.
func yearOf(seconds int64) int64 {
	const cycle = 146097 * 24 * 60 * 60 // 400 years
	inCycle := time.Unix(floorMod(seconds, cycle), 0).UTC()
	return int64(inCycle.Year()) + 400*floorDiv(seconds, cycle)
}

// floorDiv returns the quotient a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod returns a - b*floorDiv(a, b), which is in [0, b).
func floorMod(a, b int64) int64 { return a - b*floorDiv(a, b) }

// FormatTime returns the time in RFC 3339, UTC, with three decimals if its
// milliseconds are not zero: 2019-07-24T08:04:00Z, 1970-01-01T00:00:00.050Z.
// It takes any time, not only the accepted ones; years past 9999 have as many
// digits as they need, years before 0 a minus sign.
func FormatTime(ms int64) string { return string(AppendTime(nil, ms)) }

// AppendTime appends the text of [FormatTime] to dst.
func AppendTime(dst []byte, ms int64) []byte {
	dst = time.UnixMilli(ms).UTC().AppendFormat(dst, time.RFC3339)
	if m := floorMod(ms, 1000); m != 0 {
		dst = append(dst[:len(dst)-1], '.', byte('0'+m/100), byte('0'+m/10%10), byte('0'+m%10), 'Z')
	}
	return dst
}
