package interval_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/joins/interval"
)

func TestOf(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		lower, upper     time.Duration
		openLow, openUpp bool
		want             interval.Interval
	}{
		{-time.Second, time.Minute, false, false, interval.Interval{LowerMs: -1000, UpperMs: 60000}},
		{0, 0, false, false, interval.Interval{}},
		{-time.Second, time.Minute, true, false, interval.Interval{LowerMs: -999, UpperMs: 60000}},
		{-time.Second, time.Minute, false, true, interval.Interval{LowerMs: -1000, UpperMs: 59999}},
		{0, 2 * ms, true, true, interval.Interval{LowerMs: 1, UpperMs: 1}},
		{-2 * ms, -ms, false, false, interval.Interval{LowerMs: -2, UpperMs: -1}},
	} {
		got, err := interval.Of(tt.lower, tt.upper, tt.openLow, tt.openUpp)
		if err != nil || got != tt.want {
			t.Errorf("Of(%v, %v, %v, %v) = %v, %v; want %v", tt.lower, tt.upper, tt.openLow, tt.openUpp, got, err, tt.want)
		}
	}
}

func TestOfRefuses(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		lower, upper     time.Duration
		openLow, openUpp bool
		want             string
	}{
		{ms, 0, false, false, "Lower = 1ms and Upper = 0s: no whole millisecond is in [1ms, 0s], want"},
		{0, 0, true, false, "no whole millisecond is in (0s, 0s], want"},
		{0, ms, true, true, "no whole millisecond is in (0s, 1ms), want"},
		{time.Microsecond, ms, false, false, "Lower = 1µs, want a whole number of milliseconds"},
		{0, ms + 1, false, false, "Upper = 1.000001ms, want"},
		{-interval.MaxBound - ms, 0, false, false, "Lower = -"},
		{0, interval.MaxBound + ms, false, false, "Upper = "},
	} {
		if got, err := interval.Of(tt.lower, tt.upper, tt.openLow, tt.openUpp); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Of(%v, %v, %v, %v) = %v, %v; want an error with %q", tt.lower, tt.upper, tt.openLow, tt.openUpp, got, err, tt.want)
		}
	}
}

// What the definition says, over the times around an interval.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.Int64Range(-50, 50).Draw(t, "lower")
		iv := interval.Interval{LowerMs: lower, UpperMs: lower + rapid.Int64Range(0, 60).Draw(t, "width")}
		base := rapid.SampledFrom([]int64{0, -2208988800000, 6816355199999}).Draw(t, "base")
		l := base + rapid.Int64Range(-100, 100).Draw(t, "l")
		r := base + rapid.Int64Range(-100, 100).Draw(t, "r")
		lateness := rapid.Int64Range(0, 40).Draw(t, "lateness")
		wm := base + rapid.Int64Range(-200, 200).Draw(t, "wm")

		match := l+iv.LowerMs <= r && r <= l+iv.UpperMs
		if got := iv.Match(l, r); got != match {
			t.Fatalf("%v: Match(%d, %d) = %v", iv, l, r, got)
		}
		if got := iv.Swap().Match(r, l); got != match {
			t.Fatalf("%v: swapped, Match(%d, %d) = %v", iv, r, l, got)
		}
		if iv.Swap().Swap() != iv {
			t.Fatalf("%v: swapped twice is %v", iv, iv.Swap().Swap())
		}
		if from, to := iv.Partners(l); (from <= r && r <= to) != match {
			t.Fatalf("%v: Partners(%d) = %d, %d; and %d matches: %v", iv, l, from, to, r, match)
		}
		if got := wm >= interval.LateAt(r, lateness); got != (wm > r+lateness) {
			t.Fatalf("LateAt(%d, %d) = %d", r, lateness, interval.LateAt(r, lateness))
		}
		// A row that is done has no partner that is not late, and one that is not done
		// has one.
		last := l + iv.UpperMs
		if done := wm >= iv.DoneAt(l, lateness); done != (wm >= interval.LateAt(last, lateness)) {
			t.Fatalf("%v: DoneAt(%d, %d) = %d at %d, and the last partner is late at %d", iv, l, lateness, iv.DoneAt(l, lateness), wm, interval.LateAt(last, lateness))
		}
		if done := l <= iv.DoneBefore(wm, lateness); done != (wm >= iv.DoneAt(l, lateness)) {
			t.Fatalf("%v: DoneBefore(%d, %d) = %d, DoneAt(%d) = %d", iv, wm, lateness, iv.DoneBefore(wm, lateness), l, iv.DoneAt(l, lateness))
		}
	})
}
