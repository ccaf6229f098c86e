package windowfns

import (
	"fmt"
	"time"
)

var _ Fn = Calendar{}

// CalendarUnit is the period that a [Calendar] window covers.
type CalendarUnit string

// The units of [Calendar].
const (
	Day   CalendarUnit = "day"
	Week  CalendarUnit = "week" // starts on Monday, as in ISO 8601
	Month CalendarUnit = "month"
)

// Calendar assigns each element to the day, week or month of the Gregorian
// calendar in which it falls in a time zone. The windows are
//
//	[first(p), first(p+1))   for every period p
//
// where first(p) is the first instant at which a clock in the zone shows the
// first date of p or a later one. The windows tile time, through every change
// of the clocks:
//
//   - A day in which the clock goes forward by an hour has 23 hours, one in
//     which it goes back has 25.
//   - A day without a midnight starts at its first instant. America/Sao_Paulo
//     has 2018-11-04 start at 01:00.
//   - A day with two midnights starts at the first of them. If the clock shows
//     the day before in between, that time belongs to the new day, because its
//     window has started: in America/St_Johns on 2006-10-29 the clock goes
//     from 00:01 back to 23:01, and the hour up to the second midnight is
//     counted for 2006-10-29.
//   - A date that the zone skips has no window. Pacific/Apia goes from
//     2011-12-29 to 2011-12-31.
type Calendar struct {
	// Unit is the period: [Day], [Week] or [Month]. Required.
	Unit CalendarUnit

	// Zone is the time zone by its IANA name, such as "Europe/Berlin". Empty
	// means UTC. Names that mean the machine's own zone ("Local",
	// "localtime") are refused, because windows must not depend on the
	// machine; so are the names under "right/", which count leap seconds.
	Zone string
}

// AppendWindows appends the window of tMs to dst. See [Fn]. It panics if the
// zone cannot be loaded.
func (f Calendar) AppendWindows(dst []Window, tMs int64) []Window {
	z, err := loadZone(f.Zone)
	if err != nil {
		panic(f.zoneError(err))
	}
	i := z.spanAt(tMs)
	lo, hi := f.Unit.period(z.clock(i, tMs))
	return append(dst, Window{StartMs: z.first(i, lo), EndMs: z.first(i, hi)})
}

// Validate reports the first parameter that cannot be used, or nil.
func (f Calendar) Validate() error {
	switch f.Unit {
	case Day, Week, Month:
	default:
		return fmt.Errorf("windowfns.Calendar: Unit = %q, want %q, %q or %q", string(f.Unit), Day, Week, Month)
	}
	if _, err := loadZone(f.Zone); err != nil {
		return f.zoneError(err)
	}
	return nil
}

func (f Calendar) zoneError(err error) error {
	return fmt.Errorf("windowfns.Calendar: Zone = %q, want an IANA name such as \"Europe/Berlin\", or \"\" for UTC: %w", f.Zone, err)
}

// String describes the windows, as in "calendar(day, America/Los_Angeles)".
func (f Calendar) String() string {
	zone := f.Zone
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("calendar(%s, %s)", f.Unit, zone)
}

// period returns the bounds [lo, hi) of the period that contains the clock
// reading clockMs. Readings are milliseconds since 1970-01-01 00:00 on a clock
// that is never adjusted.
func (u CalendarUnit) period(clockMs int64) (lo, hi int64) {
	const monday = 4 * dayMs // 1970-01-05
	switch u {
	case Day:
		lo = gridFloor(clockMs, dayMs, 0)
		return lo, lo + dayMs
	case Week:
		lo = gridFloor(clockMs, 7*dayMs, monday)
		return lo, lo + 7*dayMs
	case Month:
		y, m, _ := time.UnixMilli(clockMs).UTC().Date()
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
			time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	}
	panic(Calendar{Unit: u}.Validate())
}
