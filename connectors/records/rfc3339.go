package records

import "time"

// parseRFC3339 reads an RFC 3339 time as milliseconds since the Unix epoch,
// floored, and reports whether s is one. It is ours because package time takes
// more (24:00 as an offset, a comma before the decimals, hours of one digit)
// and less (lower-case letters, leap seconds) than the RFC.
func parseRFC3339(s []byte) (ms int64, ok bool) {
	const form = "0000-00-00T00:00:00" // 0 stands for any digit
	if len(s) <= len(form) {
		return 0, false
	}
	for i := range len(form) {
		c := s[i]
		if isDigit(c) {
			c = '0'
		} else if c == 't' {
			c = 'T'
		}
		if c != form[i] {
			return 0, false
		}
	}
	year, month, day := 100*twoDigits(s)+twoDigits(s[2:]), twoDigits(s[5:]), twoDigits(s[8:])
	hour, minute, second := twoDigits(s[11:]), twoDigits(s[14:]), twoDigits(s[17:])
	decimals, rest := decimalMs(s[len(form):])
	offset, ok := offsetSeconds(rest)
	if !ok || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	// A day that the month lacks, day 0 among them, spills into another month,
	// a second 60 into the next minute.
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false
	}
	unix := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix() - offset
	if second == 60 && floorMod(unix, 24*60*60) != 0 {
		return 0, false
	}
	return 1000*unix + decimals, true
}

// decimalMs cuts a dot and digits from the front of s, if they are there, and
// returns their value in whole milliseconds.
func decimalMs(s []byte) (ms int64, rest []byte) {
	if len(s) < 2 || s[0] != '.' || !isDigit(s[1]) {
		return 0, s
	}
	weight, i := int64(100), 1
	for ; i < len(s) && isDigit(s[i]); i++ {
		ms += weight * int64(s[i]-'0')
		weight /= 10
	}
	return ms, s[i:]
}

// offsetSeconds reads all of s as an offset from UTC: Z or as in +02:00.
func offsetSeconds(s []byte) (offset int64, ok bool) {
	if len(s) == 1 {
		return 0, s[0] == 'Z' || s[0] == 'z'
	}
	if len(s) != len("+00:00") || (s[0] != '+' && s[0] != '-') || s[3] != ':' ||
		!isDigit(s[1]) || !isDigit(s[2]) || !isDigit(s[4]) || !isDigit(s[5]) {
		return 0, false
	}
	hours, minutes := twoDigits(s[1:]), twoDigits(s[4:])
	offset = int64(3600*hours + 60*minutes)
	if s[0] == '-' {
		offset = -offset
	}
	return offset, hours <= 23 && minutes <= 59
}

// twoDigits returns the number that the first two bytes of s spell, which are
// digits.
func twoDigits(s []byte) int { return 10*int(s[0]-'0') + int(s[1]-'0') }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
