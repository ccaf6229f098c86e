package windowfns_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/windowfns"
)

func TestValidate(t *testing.T) {
	type (
		tu = windowfns.Tumbling
		sl = windowfns.Sliding
		cu = windowfns.Cumulative
		ca = windowfns.Calendar
		se = windowfns.Session
	)
	const minD = time.Duration(math.MinInt64)
	cases := []struct {
		fn   windowfns.Fn
		want string // "" if valid
	}{
		{tu{Size: time.Millisecond}, ""},
		{tu{Size: 876600 * hour, Offset: -876599 * hour}, ""},
		{tu{}, "windowfns.Tumbling: Size = 0s, want a positive whole number of milliseconds"},
		{tu{Size: -minute}, "windowfns.Tumbling: Size = -1m0s, want a positive whole number of milliseconds"},
		{tu{Size: 1500 * time.Microsecond}, "windowfns.Tumbling: Size = 1.5ms, want a positive whole number of milliseconds"},
		{tu{Size: 876601 * hour}, "windowfns.Tumbling: Size = 876601h0m0s, want at most 876600h0m0s (100 years)"},
		{tu{Size: minute, Offset: 1}, "windowfns.Tumbling: Offset = 1ns, want a whole number of milliseconds"},
		{tu{Size: minute, Offset: minute}, "windowfns.Tumbling: Offset = 1m0s, want more than -1m0s and less than 1m0s (Size = 1m0s)"},
		{tu{Size: minute, Offset: -minute}, "windowfns.Tumbling: Offset = -1m0s, want more than -1m0s and less than 1m0s (Size = 1m0s)"},
		{tu{Size: minute, Offset: minD / 1e6 * 1e6}, "windowfns.Tumbling: Offset = -2562047h47m16.854s, want more than -1m0s and less than 1m0s (Size = 1m0s)"},

		{sl{Size: minute, Period: minute}, ""},
		{sl{Size: 25 * time.Second, Period: 10 * time.Second, Offset: -9999 * time.Millisecond}, ""},
		{sl{Size: 100 * time.Second, Period: time.Millisecond}, ""},
		{sl{Period: minute}, "windowfns.Sliding: Size = 0s, want a positive whole number of milliseconds"},
		{sl{Size: minute}, "windowfns.Sliding: Period = 0s, want a positive whole number of milliseconds"},
		{sl{Size: minute, Period: -1}, "windowfns.Sliding: Period = -1ns, want a positive whole number of milliseconds"},
		{sl{Size: minute, Period: hour}, "windowfns.Sliding: Period = 1h0m0s, want at most Size = 1m0s"},
		{sl{Size: hour, Period: minute, Offset: 1500}, "windowfns.Sliding: Offset = 1.5µs, want a whole number of milliseconds"},
		{sl{Size: hour, Period: minute, Offset: minute}, "windowfns.Sliding: Offset = 1m0s, want more than -1m0s and less than 1m0s (Period = 1m0s)"},
		{sl{Size: 100001 * time.Millisecond, Period: time.Millisecond}, "windowfns.Sliding: Size = 1m40.001s and Period = 1ms give an element up to 100001 windows, want at most 100000"},
		{sl{Size: 200001 * time.Millisecond, Period: 2 * time.Millisecond}, "windowfns.Sliding: Size = 3m20.001s and Period = 2ms give an element up to 100001 windows, want at most 100000"},

		{cu{Step: minute, Size: hour, Offset: 59 * minute}, ""},
		{cu{Step: time.Millisecond, Size: 100 * time.Second}, ""},
		{cu{Size: hour}, "windowfns.Cumulative: Step = 0s, want a positive whole number of milliseconds"},
		{cu{Step: hour}, "windowfns.Cumulative: Size = 0s, want a positive whole number of milliseconds"},
		{cu{Step: 7 * minute, Size: hour}, "windowfns.Cumulative: Step = 7m0s, want a divisor of Size = 1h0m0s"},
		{cu{Step: 2 * hour, Size: hour}, "windowfns.Cumulative: Step = 2h0m0s, want a divisor of Size = 1h0m0s"},
		{cu{Step: minute, Size: hour, Offset: -hour}, "windowfns.Cumulative: Offset = -1h0m0s, want more than -1h0m0s and less than 1h0m0s (Size = 1h0m0s)"},
		{cu{Step: time.Millisecond, Size: hour}, "windowfns.Cumulative: Size = 1h0m0s and Step = 1ms give an element up to 3600000 windows, want at most 100000"},

		{se{Gap: time.Millisecond}, ""},
		{se{Gap: 876600 * hour}, ""},
		{se{}, "windowfns.Session: Gap = 0s, want a positive whole number of milliseconds"},
		{se{Gap: -minute}, "windowfns.Session: Gap = -1m0s, want a positive whole number of milliseconds"},
		{se{Gap: 1500 * time.Microsecond}, "windowfns.Session: Gap = 1.5ms, want a positive whole number of milliseconds"},
		{se{Gap: 876601 * hour}, "windowfns.Session: Gap = 876601h0m0s, want at most 876600h0m0s (100 years)"},

		{ca{Unit: windowfns.Day}, ""},
		{ca{Unit: windowfns.Week, Zone: "UTC"}, ""},
		{ca{Unit: windowfns.Month, Zone: "America/Argentina/Buenos_Aires"}, ""},
		{ca{}, `windowfns.Calendar: Unit = "", want "day", "week" or "month"`},
		{ca{Unit: "year"}, `windowfns.Calendar: Unit = "year", want "day", "week" or "month"`},
		{ca{Unit: windowfns.Day, Zone: "Mars/Olympus"}, `windowfns.Calendar: Zone = "Mars/Olympus", want an IANA name such as "Europe/Berlin", or "" for UTC: unknown time zone Mars/Olympus`},
		{ca{Unit: windowfns.Day, Zone: "Local"}, `windowfns.Calendar: Zone = "Local", want an IANA name such as "Europe/Berlin", or "" for UTC: differs between machines`},
		{ca{Unit: windowfns.Day, Zone: "localtime"}, `windowfns.Calendar: Zone = "localtime", want an IANA name such as "Europe/Berlin", or "" for UTC: differs between machines`},
		{ca{Unit: windowfns.Day, Zone: "right/UTC"}, `windowfns.Calendar: Zone = "right/UTC", want an IANA name such as "Europe/Berlin", or "" for UTC: counts leap seconds`},
	}
	for _, c := range cases {
		got := ""
		if err := c.fn.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%#v.Validate()\n got %q\nwant %q", c.fn, got, c.want)
		}
	}
}

// TestRefusedCalendarPanics checks that Calendar does not fall back on another
// zone or unit.
func TestRefusedCalendarPanics(t *testing.T) {
	for _, f := range []windowfns.Calendar{{Unit: windowfns.Day, Zone: "Mars/Olympus"}, {Unit: "year"}} {
		func() {
			defer func() {
				err, _ := recover().(error)
				if err == nil || err.Error() != f.Validate().Error() {
					t.Errorf("%#v: AppendWindows panics with %v, want %v", f, err, f.Validate())
				}
			}()
			f.AppendWindows(nil, 0)
		}()
	}
}

func TestString(t *testing.T) {
	cases := []struct {
		fn   windowfns.Fn
		want string
	}{
		{windowfns.Tumbling{Size: minute}, "tumbling(1m0s)"},
		{windowfns.Tumbling{Size: 24 * hour, Offset: -6 * hour}, "tumbling(24h0m0s, offset -6h0m0s)"},
		{windowfns.Sliding{Size: hour, Period: minute}, "sliding(1h0m0s every 1m0s)"},
		{windowfns.Sliding{Size: hour, Period: minute, Offset: time.Second}, "sliding(1h0m0s every 1m0s, offset 1s)"},
		{windowfns.Cumulative{Step: hour, Size: 24 * hour}, "cumulative(24h0m0s by 1h0m0s)"},
		{windowfns.Cumulative{Step: hour, Size: 24 * hour, Offset: hour}, "cumulative(24h0m0s by 1h0m0s, offset 1h0m0s)"},
		{windowfns.Session{Gap: 10 * minute}, "session(10m0s)"},
		{windowfns.Calendar{Unit: windowfns.Day}, "calendar(day, UTC)"},
		{windowfns.Calendar{Unit: windowfns.Month, Zone: "Asia/Tokyo"}, "calendar(month, Asia/Tokyo)"},
	}
	for _, c := range cases {
		if got := c.fn.String(); got != c.want {
			t.Errorf("String() = %q, want %q", got, c.want)
		}
	}
}

// TestJSON checks that a pipeline can ship each function to its workers.
func TestJSON(t *testing.T) {
	for _, fn := range []windowfns.Fn{
		windowfns.Tumbling{Size: minute, Offset: -time.Second},
		windowfns.Sliding{Size: hour, Period: minute, Offset: time.Second},
		windowfns.Cumulative{Step: hour, Size: 24 * hour, Offset: minute},
		windowfns.Calendar{Unit: windowfns.Week, Zone: "Europe/Berlin"},
		windowfns.Session{Gap: 10 * minute},
	} {
		data, err := json.Marshal(fn)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(fn))
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(back.Interface()); err != nil {
			t.Fatal(err)
		}
		if got := back.Elem().Interface(); got != fn {
			t.Errorf("%s: got %#v, want %#v", data, got, fn)
		}
	}
}
