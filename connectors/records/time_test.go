package records

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimeLimits(t *testing.T) {
	if want := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(); MinTimeMs != want {
		t.Errorf("MinTimeMs = %d, want %d", int64(MinTimeMs), want)
	}
	if want := time.Date(2186, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1; MaxTimeMs != want {
		t.Errorf("MaxTimeMs = %d, want %d", int64(MaxTimeMs), want)
	}
}

func TestParseTime(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	for _, tc := range []struct {
		text     string
		isString bool
		unit     string
		want     int64
	}{
		// RFC 3339.
		{"1970-01-01T00:00:00Z", true, "ms", 0},
		{"2019-07-24T08:04:00Z", true, "ms", 1563955440000},
		{"2019-07-24T08:04:00Z", true, "ns", 1563955440000}, // the unit is for numbers
		{"2019-07-24T10:04:00+02:00", true, "ms", 1563955440000},
		{"2019-07-24T13:34:00+05:30", true, "ms", 1563955440000},
		{"2019-07-23T22:04:00-10:00", true, "ms", 1563955440000},
		{"2019-07-24T08:04:00-00:00", true, "ms", 1563955440000},
		{"2019-07-24t08:04:00z", true, "ms", 1563955440000},
		{"2019-07-24t10:04:00+02:00", true, "ms", 1563955440000},
		{"1970-01-01T00:00:00.1Z", true, "ms", 100},
		{"1970-01-01T00:00:00.0509Z", true, "ms", 50},
		{"1970-01-01T00:00:00.999999999999999999Z", true, "ms", 999},
		{"1969-12-31T23:59:59.9999Z", true, "ms", -1},
		{"1969-12-31T23:59:59.9985Z", true, "ms", -2},
		{"2020-02-29T00:00:00Z", true, "ms", 1582934400000},
		{"1990-12-31T23:59:60Z", true, "ms", 662688000000},
		{"1990-12-31T15:59:60.5-08:00", true, "ms", 662688000500},
		{"1990-12-31t23:59:60z", true, "ms", 662688000000},
		{"1900-01-01T00:00:00Z", true, "ms", MinTimeMs},
		{"1899-12-31T23:30:00-01:00", true, "ms", MinTimeMs + 30*60*1000},
		{"2185-12-31T23:59:59.999999Z", true, "ms", MaxTimeMs},
		// Whole numbers.
		{"0", false, "ms", 0},
		{"-0", false, "ms", 0},
		{"-1", false, "ms", -1},
		{"5.0", false, "ms", 5},
		{"1.7e12", false, "ms", 1700000000000},
		{"1700000e-3", false, "s", 1700000},
		{"1559347200", false, "s", 1559347200000},
		{"-2208988800", false, "s", MinTimeMs},
		{"6816355199", false, "s", MaxTimeMs - 999},
		{"1559347200123999", false, "us", 1559347200123},
		{"1559347200123999999", false, "ns", 1559347200123},
		{"-1", false, "us", -1},
		{"-1000", false, "us", -1},
		{"-1001", false, "us", -2},
		{"-1", false, "ns", -1},
		{"-1000001", false, "ns", -2},
		{"-2208988800000", false, "ms", MinTimeMs},
		{"6816355199999", false, "ms", MaxTimeMs},
		{"6816355199999999", false, "us", MaxTimeMs},
		{"6816355199999999999", false, "ns", MaxTimeMs},
		{"86400000", true, "ms", day},
		{"-86400000", true, "ms", -day},
		{"007", true, "ms", 7},
		{"2019", true, "s", 2019000},
	} {
		got, err := ParseTime(tc.text, tc.isString, tc.unit)
		if err != nil || got != tc.want {
			t.Errorf("ParseTime(%q, %v, %s) = %d, %v, want %d", tc.text, tc.isString, tc.unit, got, err, tc.want)
		}
	}
}

func TestParseTimeErrors(t *testing.T) {
	const notTime = " is not an RFC 3339 time or a whole number of ms"
	for _, tc := range []struct {
		text     string
		isString bool
		unit     string
		want     string
		side     error
	}{
		{"", true, "ms", `""` + notTime, nil},
		{"abc", true, "ms", `"abc"` + notTime, nil},
		{"-", true, "ms", `"-"` + notTime, nil},
		{"+5", true, "ms", `"+5"` + notTime, nil},
		{"5.0", true, "ms", `"5.0"` + notTime, nil},
		{"1e3", true, "ms", `"1e3"` + notTime, nil},
		{" 5", true, "ms", `" 5"` + notTime, nil},
		{"+inf", true, "ms", `"+inf"` + notTime, nil},
		{"2019-07-24", true, "ms", `"2019-07-24"` + notTime, nil},
		{"2019-07-24T08:04Z", true, "ms", `"2019-07-24T08:04Z"` + notTime, nil},
		{"2019-07-24 08:04:00Z", true, "ms", `"2019-07-24 08:04:00Z"` + notTime, nil},
		{"2019-07-24T8:04:00.00Z", true, "ms", `"2019-07-24T8:04:00.00Z"` + notTime, nil},
		{"2019-07-24T08:04:00,5Z", true, "ms", `"2019-07-24T08:04:00,5Z"` + notTime, nil},
		{"2019-07-24T08:04:00.Z", true, "ms", `"2019-07-24T08:04:00.Z"` + notTime, nil},
		{"2019-07-24T08:04:00+0200", true, "ms", `"2019-07-24T08:04:00+0200"` + notTime, nil},
		{"2019-07-24T08:04:00+24:00", true, "ms", `"2019-07-24T08:04:00+24:00"` + notTime, nil},
		{"2019-07-24T08:04:00+02:60", true, "ms", `"2019-07-24T08:04:00+02:60"` + notTime, nil},
		{"2019-07-24T08:04:00+02.00", true, "ms", `"2019-07-24T08:04:00+02.00"` + notTime, nil},
		{"2019-02-29T00:00:00Z", true, "ms", `"2019-02-29T00:00:00Z"` + notTime, nil},
		{"2019-07-00T00:00:00Z", true, "ms", `"2019-07-00T00:00:00Z"` + notTime, nil},
		{"2019-00-24T00:00:00Z", true, "ms", `"2019-00-24T00:00:00Z"` + notTime, nil},
		{"2019-13-24T00:00:00Z", true, "ms", `"2019-13-24T00:00:00Z"` + notTime, nil},
		{"2019-07-24T23:60:00Z", true, "ms", `"2019-07-24T23:60:00Z"` + notTime, nil},
		{"2019-07-24T24:00:00Z", true, "ms", `"2019-07-24T24:00:00Z"` + notTime, nil},
		{"2019-07-24T08:04:60Z", true, "ms", `"2019-07-24T08:04:60Z"` + notTime, nil},
		{"1990-12-31T23:59:60-08:00", true, "ms", `"1990-12-31T23:59:60-08:00"` + notTime, nil},
		{"1990-12-31T23:59:61Z", true, "ms", `"1990-12-31T23:59:61Z"` + notTime, nil},
		{"12019-07-24T08:04:00Z", true, "ms", `"12019-07-24T08:04:00Z"` + notTime, nil},
		{"2019-\u0131\u0131\u0131\u0131\u0131\u0131\u0131\u0131", true, "ms", "\"2019-\u0131\u0131\u0131\u0131\u0131\u0131\u0131\u0131\"" + notTime, nil},
		{
			"2019-07-24T08:04:00", true, "ms",
			`"2019-07-24T08:04:00" has no offset, want one such as Z or +02:00 at the end`, nil,
		},
		{
			"x" + strings.Repeat("\x80", 99), true, "ms",
			`"x` + strings.Repeat(`\x80`, 59) + `..."` + notTime, nil, // not UTF-8: nothing to cut between
		},
		{"1.5", false, "ms", `1.5 is not a whole number of ms`, nil},
		{"1.5", false, "s", `1.5 is not a whole number of s`, nil},
		{"1e-400000000", false, "ns", `1e-400000000 is not a whole number of ns`, nil},
		{"5", false, "m", `unit = "m", want s, ms, us or ns`, nil},
		{"5", false, "", `unit = "", want s, ms, us or ns`, nil},

		// Outside the accepted years.
		{"1899-12-31T23:59:59.999Z", true, "ms", `1899-12-31T23:59:59.999Z is in the year 1899, outside 1900 to 2185`, ErrTooEarly},
		{"1900-01-01T00:30:00+01:00", true, "ms", `1900-01-01T00:30:00+01:00 is in the year 1899, outside 1900 to 2185`, ErrTooEarly},
		{"0000-01-01T00:00:00Z", true, "ms", `0000-01-01T00:00:00Z is in the year 0, outside 1900 to 2185`, ErrTooEarly},
		{"2186-01-01T00:00:00Z", true, "ms", `2186-01-01T00:00:00Z is in the year 2186, outside 1900 to 2185`, ErrTooLate},
		{"2185-12-31T23:59:60Z", true, "ms", `2185-12-31T23:59:60Z is in the year 2186, outside 1900 to 2185`, ErrTooLate},
		{"9999-12-31T23:59:59Z", true, "ms", `9999-12-31T23:59:59Z is in the year 9999, outside 1900 to 2185`, ErrTooLate},
		{"-2208988800001", false, "ms", `-2208988800001 ms is in the year 1899, outside 1900 to 2185; is the unit us?`, ErrTooEarly},
		{"6816355200000", false, "ms", `6816355200000 ms is in the year 2186, outside 1900 to 2185; is the unit us?`, ErrTooLate},
		{"1559347200000", false, "s", `1559347200000 s is in the year 51383, outside 1900 to 2185; is the unit ms?`, ErrTooLate},
		{"1559347200000", true, "s", `1559347200000 s is in the year 51383, outside 1900 to 2185; is the unit ms?`, ErrTooLate},
		{"1.5593472e18", false, "ms", `1.5593472e18 ms is in the year 49415715, outside 1900 to 2185; is the unit ns?`, ErrTooLate},
		{"9223372036854775807", false, "s", `9223372036854775807 s is in the year 292277026596, outside 1900 to 2185`, ErrTooLate},
		{"9223372036854775807", false, "ns", `9223372036854775807 ns is in the year 2262, outside 1900 to 2185`, ErrTooLate},
		{"-9223372036854775808", false, "s", `-9223372036854775808 s is in the year -292277022657, outside 1900 to 2185`, ErrTooEarly},
		{"9223372036854775808", false, "ms", `9223372036854775808 ms is outside 1900 to 2185`, ErrTooLate},
		{"-1e30", false, "ms", `-1e30 ms is outside 1900 to 2185`, ErrTooEarly},
	} {
		got, err := ParseTime(tc.text, tc.isString, tc.unit)
		if err == nil || err.Error() != tc.want {
			t.Errorf("ParseTime(%q, %v, %s) = %d, %v, want %s", tc.text, tc.isString, tc.unit, got, err, tc.want)
		}
		for _, side := range []error{ErrTooEarly, ErrTooLate} {
			if errors.Is(err, side) != (side == tc.side) {
				t.Errorf("ParseTime(%q, %v, %s): errors.Is(%v, %v) = %v", tc.text, tc.isString, tc.unit, err, side, side != tc.side)
			}
		}
	}
}

func TestFormatTime(t *testing.T) {
	for _, tc := range []struct {
		ms   int64
		want string
	}{
		{0, "1970-01-01T00:00:00Z"},
		{50, "1970-01-01T00:00:00.050Z"},
		{1563955440000, "2019-07-24T08:04:00Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{-1000, "1969-12-31T23:59:59Z"},
		{MinTimeMs, "1900-01-01T00:00:00Z"},
		{MaxTimeMs, "2185-12-31T23:59:59.999Z"},
		{MaxTimeMs + 1, "2186-01-01T00:00:00Z"},
		{math.MaxInt64, "292278994-08-17T07:12:55.807Z"},
		{math.MinInt64, "-292275055-05-16T16:47:04.192Z"},
	} {
		if got := FormatTime(tc.ms); got != tc.want {
			t.Errorf("FormatTime(%d) = %s, want %s", tc.ms, got, tc.want)
		}
	}
	if got := string(AppendTime([]byte("at "), 50)); got != "at 1970-01-01T00:00:00.050Z" {
		t.Errorf("AppendTime after a text: %s", got)
	}
	buf := make([]byte, 0, 32)
	if n := testing.AllocsPerRun(100, func() { buf = AppendTime(buf[:0], 1563955440123) }); n != 0 {
		t.Errorf("AppendTime allocates %v times, want 0", n)
	}
}

// anyTimeMs draws accepted times and the rest of int64, half of them on a whole
// second.
var anyTimeMs = rapid.Custom(func(t *rapid.T) int64 {
	ms := rapid.OneOf(rapid.Int64Range(MinTimeMs, MaxTimeMs), rapid.Int64()).Draw(t, "ms")
	if rapid.Bool().Draw(t, "whole") {
		ms -= ms % 1000
	}
	return ms
})

func TestFormatTimeIsOfPackageTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := anyTimeMs.Draw(t, "time")
		layout := "2006-01-02T15:04:05.000Z"
		if ms%1000 == 0 {
			layout = "2006-01-02T15:04:05Z"
		}
		if got, want := FormatTime(ms), time.UnixMilli(ms).UTC().Format(layout); got != want {
			t.Fatalf("FormatTime(%d) = %s, want %s", ms, got, want)
		}
	})
}
