package windowfns_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/windowfns"
)

// TestCalendarUTC covers months, leap years, weeks and times before 1970.
func TestCalendarUTC(t *testing.T) {
	cases := []struct {
		unit windowfns.CalendarUnit
		at   string
		want windowfns.Window
	}{
		{windowfns.Day, "2024-02-29T23:59:59Z", win("2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z")},
		{windowfns.Day, "1969-12-31T23:59:59Z", win("1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z")},
		{windowfns.Day, "1900-01-01T00:00:00Z", win("1900-01-01T00:00:00Z", "1900-01-02T00:00:00Z")},
		// 1970-01-01 was a Thursday.
		{windowfns.Week, "1970-01-01T00:00:00Z", win("1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z")},
		{windowfns.Week, "1970-01-05T00:00:00Z", win("1970-01-05T00:00:00Z", "1970-01-12T00:00:00Z")},
		{windowfns.Week, "1969-12-28T12:00:00Z", win("1969-12-22T00:00:00Z", "1969-12-29T00:00:00Z")},
		// 1900-01-01 was a Monday.
		{windowfns.Week, "1900-01-01T00:00:00Z", win("1900-01-01T00:00:00Z", "1900-01-08T00:00:00Z")},
		{windowfns.Month, "2024-02-10T00:00:00Z", win("2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z")}, // 29 days
		{windowfns.Month, "2023-02-10T00:00:00Z", win("2023-02-01T00:00:00Z", "2023-03-01T00:00:00Z")}, // 28 days
		{windowfns.Month, "1900-02-28T23:59:59Z", win("1900-02-01T00:00:00Z", "1900-03-01T00:00:00Z")}, // no leap year
		{windowfns.Month, "2000-02-29T00:00:00Z", win("2000-02-01T00:00:00Z", "2000-03-01T00:00:00Z")}, // leap year
		{windowfns.Month, "2023-12-31T23:59:59Z", win("2023-12-01T00:00:00Z", "2024-01-01T00:00:00Z")},
		{windowfns.Month, "1969-12-01T00:00:00Z", win("1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z")},
		{windowfns.Month, "2185-12-31T23:59:59Z", win("2185-12-01T00:00:00Z", "2186-01-01T00:00:00Z")},
	}
	for _, c := range cases {
		for _, zone := range []string{"", "UTC"} {
			fn := windowfns.Calendar{Unit: c.unit, Zone: zone}
			got := fn.AppendWindows(nil, at(c.at))
			if diff := cmp.Diff([]windowfns.Window{c.want}, got); diff != "" {
				t.Errorf("%v at %s: mismatch (-want +got):\n%s", fn, c.at, diff)
			}
		}
	}
}

// TestCalendarZones follows the clocks through their changes. The windows of a
// case are neighbours: each boundary is also tested 1 ms to either side.
func TestCalendarZones(t *testing.T) {
	const d, w, m = windowfns.Day, windowfns.Week, windowfns.Month
	cases := []struct {
		why        string
		unit       windowfns.CalendarUnit
		zone       string
		boundaries []string
	}{
		{
			"23 h: PST (-8) at midnight on 2024-03-10, PDT (-7) at the next",
			d, "America/Los_Angeles",
			[]string{"2024-03-09T08:00:00Z", "2024-03-10T08:00:00Z", "2024-03-11T07:00:00Z", "2024-03-12T07:00:00Z"},
		},
		{
			"25 h: PDT at midnight on 2024-11-03, PST at the next",
			d, "America/Los_Angeles",
			[]string{"2024-11-02T07:00:00Z", "2024-11-03T07:00:00Z", "2024-11-04T08:00:00Z", "2024-11-05T08:00:00Z"},
		},
		{
			"the rules go on: 2185-03-13 is the second Sunday of March",
			d, "America/Los_Angeles",
			[]string{"2185-03-12T08:00:00Z", "2185-03-13T08:00:00Z", "2185-03-14T07:00:00Z"},
		},
		{
			"the rules go on: 2185-11-06 is the first Sunday of November",
			d, "America/Los_Angeles",
			[]string{"2185-11-05T07:00:00Z", "2185-11-06T07:00:00Z", "2185-11-07T08:00:00Z"},
		},
		{
			"167 h: Monday 2024-03-25 CET (+1) to Monday 2024-04-01 CEST (+2)",
			w, "Europe/Berlin",
			[]string{"2024-03-17T23:00:00Z", "2024-03-24T23:00:00Z", "2024-03-31T22:00:00Z", "2024-04-07T22:00:00Z"},
		},
		{
			"169 h: Monday 2024-10-21 CEST to Monday 2024-10-28 CET",
			w, "Europe/Berlin",
			[]string{"2024-10-20T22:00:00Z", "2024-10-27T23:00:00Z", "2024-11-03T23:00:00Z"},
		},
		{
			"March 2024 is 1 h shorter than 31 days, October 1 h longer",
			m, "Europe/Berlin",
			[]string{"2024-01-31T23:00:00Z", "2024-02-29T23:00:00Z", "2024-03-31T22:00:00Z", "2024-04-30T22:00:00Z"},
		},
		{
			"2011-12-29 24:00 at -10 is 2011-12-31 00:00 at +14; 2011-12-30 never was",
			d, "Pacific/Apia",
			[]string{"2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		},
		{
			"Monday 2011-12-26 at -10 to Monday 2012-01-02 at +14: 6 days",
			w, "Pacific/Apia",
			[]string{"2011-12-26T10:00:00Z", "2012-01-01T10:00:00Z"},
		},
		{
			"30 days in December 2011",
			m, "Pacific/Apia",
			[]string{"2011-12-01T10:00:00Z", "2011-12-31T10:00:00Z"},
		},
		{
			"1969-10-01 00:00 at +11 became 1969-09-30 01:00 at -12: 47 h on 30 September",
			d, "Pacific/Kwajalein",
			[]string{"1969-09-28T13:00:00Z", "1969-09-29T13:00:00Z", "1969-10-01T12:00:00Z", "1969-10-02T12:00:00Z"},
		},
		{
			"no midnight: 2018-11-04 00:00 at -3 is 01:00 at -2",
			d, "America/Sao_Paulo",
			[]string{"2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		},
		{
			"falls back at midnight: 2018-02-18 00:00 at -2 is 2018-02-17 23:00 at -3",
			d, "America/Sao_Paulo",
			[]string{"2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z", "2018-02-19T03:00:00Z"},
		},
		{
			"no midnight: 2022-03-27 00:00 at +2 is 01:00 at +3",
			d, "Asia/Beirut",
			[]string{"2022-03-25T22:00:00Z", "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"},
		},
		{
			"no midnight: 2023-03-12 00:00 at -5 is 01:00 at -4",
			d, "America/Havana",
			[]string{"2023-03-11T05:00:00Z", "2023-03-12T05:00:00Z", "2023-03-13T04:00:00Z"},
		},
		{
			"two midnights, one date: 2023-11-05 01:00 at -4 is 00:00 at -5; the day starts at the first",
			d, "America/Havana",
			[]string{"2023-11-04T04:00:00Z", "2023-11-05T04:00:00Z", "2023-11-06T05:00:00Z"},
		},
		{
			"two midnights, two dates: 2006-10-29 00:01 at -2:30 is 2006-10-28 23:01 at -3:30; " +
				"midnights at 02:30Z and 03:30Z, the day starts at the first",
			d, "America/St_Johns",
			[]string{"2006-10-28T02:30:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		},
		{
			"24.5 h: +11 to +10:30",
			d, "Australia/Lord_Howe",
			[]string{"2024-04-05T13:00:00Z", "2024-04-06T13:00:00Z", "2024-04-07T13:30:00Z"},
		},
		{
			"23.5 h: +10:30 to +11",
			d, "Australia/Lord_Howe",
			[]string{"2024-10-04T13:30:00Z", "2024-10-05T13:30:00Z", "2024-10-06T13:00:00Z"},
		},
		{
			"odd seconds: Madras time, +5:21:10, until 1906",
			d, "Asia/Kolkata",
			[]string{"1899-12-31T18:38:50Z", "1900-01-01T18:38:50Z", "1900-01-02T18:38:50Z"},
		},
		{
			"odd seconds: 1972-01-07 00:00 at -0:44:30 is 00:44:30 UTC",
			d, "Africa/Monrovia",
			[]string{"1972-01-06T00:44:30Z", "1972-01-07T00:44:30Z", "1972-01-08T00:00:00Z"},
		},
	}
	for _, c := range cases {
		fn := windowfns.Calendar{Unit: c.unit, Zone: c.zone}
		t.Run(fn.String()+" "+c.boundaries[1], func(t *testing.T) {
			for i := 1; i < len(c.boundaries); i++ {
				want := win(c.boundaries[i-1], c.boundaries[i])
				for _, tMs := range []int64{want.StartMs, want.StartMs + 1, (want.StartMs + want.EndMs) / 2, want.EndMs - 1} {
					got := fn.AppendWindows(nil, tMs)
					if len(got) != 1 || got[0] != want {
						t.Errorf("%s: at %d: got %s, want %s", c.why, tMs, show(got[0]), show(want))
					}
				}
			}
		})
	}
}

// TestCalendarRepeatedHour pins the rule for a day with two midnights: the
// hour that shows the day before again is counted for the new day.
func TestCalendarRepeatedHour(t *testing.T) {
	fn := windowfns.Calendar{Unit: windowfns.Day, Zone: "America/St_Johns"}
	oct28 := win("2006-10-28T02:30:00Z", "2006-10-29T02:30:00Z")
	oct29 := win("2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z")
	cases := []struct {
		at, clock string
		want      windowfns.Window
	}{
		{"2006-10-29T02:29:59Z", "2006-10-28 23:59:59, first time", oct28},
		{"2006-10-29T02:30:30Z", "2006-10-29 00:00:30, first time", oct29},
		{"2006-10-29T02:31:00Z", "2006-10-28 23:01:00, second time", oct29},
		{"2006-10-29T03:29:59Z", "2006-10-28 23:59:59, second time", oct29},
		{"2006-10-29T03:30:00Z", "2006-10-29 00:00:00, second time", oct29},
	}
	for _, c := range cases {
		if got := fn.AppendWindows(nil, at(c.at)); got[0] != c.want {
			t.Errorf("%s (%s): got %s, want %s", c.at, c.clock, show(got[0]), show(c.want))
		}
	}
}
