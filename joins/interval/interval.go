// Package interval is the arithmetic of interval joins: which times match, which
// rows are late, and how long a row has to be held. Its functions are pure; all
// times are in whole milliseconds.
//
// A left row l and a right row r match when
//
//	l.time + lower <= r.time <= l.time + upper
//
// An [Interval] has both bounds inclusive: a bound that excludes its own value is
// a millisecond tighter. Seen from the right side the same interval is
// [Interval.Swap], so that what is said here of a left row and its partners holds
// for either side.
package interval

import (
	"fmt"
	"time"
)

// MaxBound is the largest absolute value of a bound: the accepted times, those of
// the years 1900 to 2185, span 286 years.
const (
	MaxBound   = 286 * 365 * 24 * time.Hour
	MaxBoundMs = int64(MaxBound / time.Millisecond)
)

// Interval is the distances in time at which rows match, from LowerMs to UpperMs,
// both inclusive.
type Interval struct {
	LowerMs int64
	UpperMs int64
}

// Of is the interval from lower to upper, each of which can be exclusive. The
// error says what was given and what is wanted.
func Of(lower, upper time.Duration, exclusiveLower, exclusiveUpper bool) (Interval, error) {
	for _, b := range []struct {
		name  string
		value time.Duration
	}{{"Lower", lower}, {"Upper", upper}} {
		if b.value%time.Millisecond != 0 || b.value < -MaxBound || b.value > MaxBound {
			return Interval{}, fmt.Errorf("%s = %v, want a whole number of milliseconds from %v to %v", b.name, b.value, -MaxBound, MaxBound)
		}
	}
	iv := Interval{LowerMs: lower.Milliseconds(), UpperMs: upper.Milliseconds()}
	open, shut := "[", "]"
	if exclusiveLower {
		iv.LowerMs++
		open = "("
	}
	if exclusiveUpper {
		iv.UpperMs--
		shut = ")"
	}
	if iv.LowerMs > iv.UpperMs {
		return Interval{}, fmt.Errorf("Lower = %v and Upper = %v: no whole millisecond is in %s%v, %v%s, want an interval that holds one", lower, upper, open, lower, upper, shut)
	}
	return iv, nil
}

// Swap is the interval as the right side sees it: its rows look back at the left
// ones from -UpperMs to -LowerMs.
func (iv Interval) Swap() Interval { return Interval{LowerMs: -iv.UpperMs, UpperMs: -iv.LowerMs} }

// Match reports whether a left row at lMs and a right row at rMs match.
func (iv Interval) Match(lMs, rMs int64) bool {
	d := rMs - lMs
	return iv.LowerMs <= d && d <= iv.UpperMs
}

// Partners are the times of the right rows that a left row at tMs matches, from
// fromMs to toMs, both inclusive.
func (iv Interval) Partners(tMs int64) (fromMs, toMs int64) {
	return tMs + iv.LowerMs, tMs + iv.UpperMs
}

// LateAt is the lowest watermark at which a row at tMs, of either side, is late:
// it is not while WM <= t + L.
func LateAt(tMs, latenessMs int64) int64 { return tMs + latenessMs + 1 }

// DoneAt is the lowest watermark at which a left row at tMs is done: every right
// row that it matches is late then. Of right rows it is that of the swapped
// interval. A row can be done when it comes, or before it is late: then its
// partners are all in the past.
func (iv Interval) DoneAt(tMs, latenessMs int64) int64 {
	return LateAt(tMs+iv.UpperMs, latenessMs)
}

// DoneBefore is the latest time of left rows that are done at the watermark wmMs.
func (iv Interval) DoneBefore(wmMs, latenessMs int64) int64 {
	return wmMs - 1 - latenessMs - iv.UpperMs
}
