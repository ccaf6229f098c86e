package windowfns_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// testZones has zones with each peculiarity of clocks: changes by 30 minutes
// and by days, at midnight and around it, odd seconds, offsets of up to 14 h.
var testZones = []string{
	"", "UTC", "Etc/GMT+12", "Pacific/Kiritimati",
	"America/Los_Angeles", "America/New_York", "Europe/Berlin", "Europe/London", "Europe/Dublin",
	"Australia/Lord_Howe", "Australia/Sydney", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Tehran",
	"America/Sao_Paulo", "America/Havana", "America/Asuncion", "Asia/Beirut", "Asia/Gaza", "Africa/Cairo",
	"Pacific/Apia", "Pacific/Kwajalein", "Pacific/Fakaofo", "Asia/Manila",
	"America/St_Johns", "America/Goose_Bay", "America/Toronto", "Antarctica/Casey", "Antarctica/Troll",
	"Africa/Monrovia", "Europe/Amsterdam", "Europe/Moscow", "Africa/Casablanca", "America/Nuuk",
}

// A date is a day of the calendar, as the time 00:00 UTC of that day.
type date = time.Time

// dateAt returns the date that a clock in loc shows.
func dateAt(t time.Time, loc *time.Location) date {
	y, m, d := t.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// firstDate returns the first date of the period of d.
func firstDate(unit windowfns.CalendarUnit, d date) date {
	switch unit {
	case windowfns.Week:
		for d.Weekday() != time.Monday {
			d = d.AddDate(0, 0, -1)
		}
	case windowfns.Month:
		for d.Day() != 1 {
			d = d.AddDate(0, 0, -1)
		}
	default: // a day is its own period
	}
	return d
}

// nextDate returns the first date of the period after that of d.
func nextDate(unit windowfns.CalendarUnit, d date) date {
	first := firstDate(unit, d)
	for d.Equal(first) || firstDate(unit, d).Equal(first) {
		d = d.AddDate(0, 0, 1)
	}
	return d
}

// firstInstant returns the first instant at which a clock in loc shows d or a
// later date. It looks at the clock every minute from 40 hours before 00:00
// UTC of d, and every second where that can make a difference.
func firstInstant(d date, loc *time.Location) time.Time {
	reached := func(t time.Time) bool { return !dateAt(t, loc).Before(d) }
	offset := func(t time.Time) int { _, o := t.In(loc).Zone(); return o }
	for t := d.Add(-40 * time.Hour); ; t = t.Add(time.Minute) {
		next := t.Add(time.Minute)
		if !reached(next) && offset(t) == offset(next) {
			continue
		}
		for s := t; s.Before(next); s = s.Add(time.Second) {
			if reached(s) {
				return s
			}
		}
	}
}

// oracle returns the window of tMs by local dates: that of the last period
// whose first instant is at or before tMs.
func oracle(f windowfns.Calendar, loc *time.Location, tMs int64) windowfns.Window {
	t := time.UnixMilli(tMs)
	first := firstDate(f.Unit, dateAt(t, loc))
	start := firstInstant(first, loc)
	for {
		first = nextDate(f.Unit, first)
		end := firstInstant(first, loc)
		if end.After(t) {
			return windowfns.Window{StartMs: start.UnixMilli(), EndMs: end.UnixMilli()}
		}
		start = end
	}
}

func checkOracle(t interface{ Errorf(string, ...any) }, f windowfns.Calendar, loc *time.Location, tMs int64) {
	if got, want := f.AppendWindows(nil, tMs)[0], oracle(f, loc, tMs); got != want {
		t.Errorf("%v at %s (%s): got %s, want %s", f, time.UnixMilli(tMs).UTC().Format(time.RFC3339),
			time.UnixMilli(tMs).In(loc), show(got), show(want))
	}
}

// TestCalendarOracle compares windows with their definition by local dates, at
// random times and around random changes of the clock.
func TestCalendarOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawCalendar(t)
		loc, err := time.LoadLocation(f.Zone)
		if err != nil {
			t.Fatal(err)
		}
		tMs := drawTime(t)
		checkOracle(t, f, loc, tMs)
		if _, change := time.UnixMilli(tMs).In(loc).ZoneBounds(); !change.IsZero() {
			near := rapid.Int64Range(-48*60*60*1000, 48*60*60*1000).Draw(t, "near")
			checkOracle(t, f, loc, change.UnixMilli()+near)
			checkOracle(t, f, loc, change.UnixMilli())
			checkOracle(t, f, loc, change.UnixMilli()-1)
		}
	})
}
