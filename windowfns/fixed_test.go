package windowfns_test

import (
	"testing"
	"time"

	"tidemark/windowfns"
)

const (
	minute = time.Minute
	hour   = time.Hour
	sec    = int64(1000) // milliseconds
)

func TestTumbling(t *testing.T) {
	f := func(size, offset time.Duration) windowfns.Fn {
		return windowfns.Tumbling{Size: size, Offset: offset}
	}
	one := func(start, end int64) []windowfns.Window {
		return []windowfns.Window{{StartMs: start, EndMs: end}}
	}
	runAssign(t, []assignCase{
		{"epoch", f(minute, 0), 0, one(0, 60*sec)},
		{"last instant", f(minute, 0), 59_999, one(0, 60*sec)},
		{"end is open", f(minute, 0), 60_000, one(60*sec, 120*sec)},
		{"just before 1970", f(minute, 0), -1, one(-60*sec, 0)},
		{"boundary before 1970", f(minute, 0), -60_000, one(-60*sec, 0)},
		{"90 s before 1970", f(minute, 0), -90_000, one(-120*sec, -60*sec)},
		{"offset, before the boundary", f(minute, 15*time.Second), 14_999, one(-45*sec, 15*sec)},
		{"offset, at the boundary", f(minute, 15*time.Second), 15_000, one(15*sec, 75*sec)},
		{"negative offset", f(minute, -15*time.Second), 44_999, one(-15*sec, 45*sec)},
		{"negative offset, at the boundary", f(minute, -15*time.Second), 45_000, one(45*sec, 105*sec)},
		{"largest offset", f(minute, minute-time.Millisecond), 59_998, one(-1, 59_999)},
		{"smallest size", f(time.Millisecond, 0), -7, one(-7, -6)},
		{
			"days that start at 06:00 UTC",
			f(24*hour, 6*hour), at("2024-02-29T05:59:59Z"),
			[]windowfns.Window{win("2024-02-28T06:00:00Z", "2024-02-29T06:00:00Z")},
		},
		{
			// The epoch was a Thursday: windows of 7 days start on Thursdays,
			// and on Mondays with an offset of 4 days.
			"weeks from Monday",
			f(7*24*hour, 4*24*hour), at("2024-03-03T23:59:59Z"),
			[]windowfns.Window{win("2024-02-26T00:00:00Z", "2024-03-04T00:00:00Z")},
		},
		{
			"first accepted hour",
			f(hour, 0), at("1900-01-01T00:00:00Z"),
			[]windowfns.Window{win("1900-01-01T00:00:00Z", "1900-01-01T01:00:00Z")},
		},
		{
			"last accepted hour",
			f(hour, 0), at("2185-12-31T23:59:59Z"),
			[]windowfns.Window{win("2185-12-31T23:00:00Z", "2186-01-01T00:00:00Z")},
		},
	})
}

func TestSliding(t *testing.T) {
	f := func(size, period, offset time.Duration) windowfns.Fn {
		return windowfns.Sliding{Size: size, Period: period, Offset: offset}
	}
	s := time.Second
	runAssign(t, []assignCase{
		{"three windows", f(30*s, 10*s, 0), 25_000, []windowfns.Window{
			{StartMs: 0, EndMs: 30 * sec}, {StartMs: 10 * sec, EndMs: 40 * sec}, {StartMs: 20 * sec, EndMs: 50 * sec},
		}},
		{"start is closed, end is open", f(30*s, 10*s, 0), 30_000, []windowfns.Window{
			{StartMs: 10 * sec, EndMs: 40 * sec}, {StartMs: 20 * sec, EndMs: 50 * sec}, {StartMs: 30 * sec, EndMs: 60 * sec},
		}},
		{"before 1970", f(30*s, 10*s, 0), -1, []windowfns.Window{
			{StartMs: -30 * sec, EndMs: 0}, {StartMs: -20 * sec, EndMs: 10 * sec}, {StartMs: -10 * sec, EndMs: 20 * sec},
		}},
		{"offset", f(20*s, 10*s, 3*s), 12_999, []windowfns.Window{
			{StartMs: -7 * sec, EndMs: 13 * sec}, {StartMs: 3 * sec, EndMs: 23 * sec},
		}},
		{"negative offset", f(20*s, 10*s, -3*s), 7_000, []windowfns.Window{
			{StartMs: -3 * sec, EndMs: 17 * sec}, {StartMs: 7 * sec, EndMs: 27 * sec},
		}},
		// Size 25 s, period 10 s: starts after t - 25 s and at most t.
		{"period does not divide, 3 windows", f(25*s, 10*s, 0), 24_999, []windowfns.Window{
			{StartMs: 0, EndMs: 25 * sec}, {StartMs: 10 * sec, EndMs: 35 * sec}, {StartMs: 20 * sec, EndMs: 45 * sec},
		}},
		{"period does not divide, 2 windows", f(25*s, 10*s, 0), 25_000, []windowfns.Window{
			{StartMs: 10 * sec, EndMs: 35 * sec}, {StartMs: 20 * sec, EndMs: 45 * sec},
		}},
		{"period equals size", f(minute, minute, 0), -90_000, []windowfns.Window{
			{StartMs: -120 * sec, EndMs: -60 * sec},
		}},
	})
}

func TestCumulative(t *testing.T) {
	f := func(step, size, offset time.Duration) windowfns.Fn {
		return windowfns.Cumulative{Step: step, Size: size, Offset: offset}
	}
	s := time.Second
	runAssign(t, []assignCase{
		{"first step has all", f(10*s, 30*s, 0), 0, []windowfns.Window{
			{StartMs: 0, EndMs: 10 * sec}, {StartMs: 0, EndMs: 20 * sec}, {StartMs: 0, EndMs: 30 * sec},
		}},
		{"end is open", f(10*s, 30*s, 0), 10_000, []windowfns.Window{
			{StartMs: 0, EndMs: 20 * sec}, {StartMs: 0, EndMs: 30 * sec},
		}},
		{"last step has one", f(10*s, 30*s, 0), 29_999, []windowfns.Window{{StartMs: 0, EndMs: 30 * sec}}},
		{"next start", f(10*s, 20*s, 0), 20_000, []windowfns.Window{
			{StartMs: 20 * sec, EndMs: 30 * sec}, {StartMs: 20 * sec, EndMs: 40 * sec},
		}},
		{"before 1970", f(10*s, 30*s, 0), -11_000, []windowfns.Window{
			{StartMs: -30 * sec, EndMs: -10 * sec}, {StartMs: -30 * sec, EndMs: 0},
		}},
		{"offset", f(10*s, 30*s, 5*s), 4_999, []windowfns.Window{{StartMs: -25 * sec, EndMs: 5 * sec}}},
		{"negative offset", f(10*s, 30*s, -5*s), 6_000, []windowfns.Window{
			{StartMs: -5 * sec, EndMs: 15 * sec}, {StartMs: -5 * sec, EndMs: 25 * sec},
		}},
		{"step equals size", f(minute, minute, 0), 61_000, []windowfns.Window{{StartMs: 60 * sec, EndMs: 120 * sec}}},
	})
}

// TestAppend checks that the windows are appended, not written over dst.
func TestAppend(t *testing.T) {
	first := windowfns.Window{StartMs: 1, EndMs: 2}
	for _, fn := range benchFns {
		got := fn.AppendWindows([]windowfns.Window{first}, 0)
		if want := fn.AppendWindows(nil, 0); len(got) != len(want)+1 || got[0] != first || got[1] != want[0] {
			t.Errorf("%v.AppendWindows([%v], 0) = %v, want %v and then %v", fn, first, got, first, want)
		}
	}
}

func TestWindowCompare(t *testing.T) {
	w := func(start, end int64) windowfns.Window { return windowfns.Window{StartMs: start, EndMs: end} }
	ascending := []windowfns.Window{w(-9, -5), w(-9, 0), w(-5, 0), w(-9, 5), w(0, 5)}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestSession(t *testing.T) {
	f := func(gap time.Duration) windowfns.Fn { return windowfns.Session{Gap: gap} }
	one := func(start, end int64) []windowfns.Window {
		return []windowfns.Window{{StartMs: start, EndMs: end}}
	}
	runAssign(t, []assignCase{
		{"epoch", f(minute), 0, one(0, 60*sec)},
		{"no grid", f(minute), 59_999, one(59_999, 119_999)},
		{"just before 1970", f(minute), -1, one(-1, 59_999)},
		{"before 1970", f(minute), -90_000, one(-90*sec, -30*sec)},
		{"smallest gap", f(time.Millisecond), -7, one(-7, -6)},
		{
			"first accepted instant", f(hour), at("1900-01-01T00:00:00Z"),
			[]windowfns.Window{win("1900-01-01T00:00:00Z", "1900-01-01T01:00:00Z")},
		},
		{
			"the last day, the longest gap", f(876600 * hour), at("2185-12-31T00:00:00Z"),
			[]windowfns.Window{{StartMs: at("2185-12-31T00:00:00Z"), EndMs: at("2185-12-31T00:00:00Z") + maxSizeMs}},
		},
	})
}
