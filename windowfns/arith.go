package windowfns

import "time"

const dayMs = 24 * 60 * 60 * 1000

// floorDiv returns a/b rounded towards negative infinity. REQUIRES: b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// gridFloor returns the greatest k*stepMs + offsetMs, for integer k, that is
// at most tMs. REQUIRES: stepMs > 0.
func gridFloor(tMs, stepMs, offsetMs int64) int64 {
	return floorDiv(tMs-offsetMs, stepMs)*stepMs + offsetMs
}

// wholeMs reports whether d is a whole number of milliseconds.
func wholeMs(d time.Duration) bool { return d%time.Millisecond == 0 }
