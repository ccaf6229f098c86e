// Package lateness measures how late the records of a stream are for their
// windows, so that an allowed lateness can be chosen from data.
package lateness

import (
	"math"
	"slices"

	"tidemark/windowfns"
)

// Report counts (record, window) pairs of a stream by the allowed lateness that
// they need. For a window [start, end) and the watermark w that the source has
// when it reads the record, a record is on time where w < end, and needs an
// allowed lateness of more than w - end otherwise: of w - end + 1 ms at least.
type Report struct {
	windows  windowfns.Fn
	boundMs  int64
	latestMs int64
	started  bool

	pairs  int64
	onTime int64
	needs  map[int64]int64 // by rounded need
	buf    []windowfns.Window
}

// New returns an empty report for a watermark that is boundMs behind the latest
// time so far.
func New(windows windowfns.Fn, boundMs int64) *Report {
	return &Report{windows: windows, boundMs: boundMs, needs: map[int64]int64{}}
}

// Add takes in the next record of the stream.
func (r *Report) Add(tMs int64) {
	r.buf = r.windows.AppendWindows(r.buf[:0], tMs)
	for _, w := range r.buf {
		r.pairs++
		if at := r.latestMs - r.boundMs; r.started && at >= w.EndMs {
			r.needs[roundUp(at-w.EndMs+1)]++
		} else {
			r.onTime++
		}
	}
	if !r.started || tMs > r.latestMs {
		r.started, r.latestMs = true, tMs
	}
}

// roundUp rounds up to three significant digits, so that there are few values,
// and each allows what it stands for.
func roundUp(ms int64) int64 {
	scale := int64(1)
	for ms/scale >= 1000 {
		scale *= 10
	}
	return (ms + scale - 1) / scale * scale
}

// Pairs is how many (record, window) pairs there were.
func (r *Report) Pairs() int64 { return r.pairs }

// Step says what an allowed lateness does.
type Step struct {
	LatenessMs int64
	Late       int64 // pairs that are late all the same
}

// Steps are the allowed latenesses worth looking at, ascending: none, the least
// ones with which at most 10 %, 5 %, 1 %, 0.1 % and so on of what is late without
// one is late, and the least one with which nothing is. Each is exact to three
// digits, rounded up.
func (r *Report) Steps() []Step {
	needs := make([]int64, 0, len(r.needs))
	late := int64(0)
	for need, n := range r.needs {
		needs = append(needs, need)
		late += n
	}
	slices.Sort(needs)
	steps := []Step{{0, late}}
	total, next := late, 0
	for _, need := range needs {
		late -= r.needs[need]
		reached := false
		for ; next < len(shares) && late <= int64(math.Floor(float64(total)*shares[next])); next++ {
			reached = true
		}
		if reached || late == 0 {
			steps = append(steps, Step{need, late})
		}
	}
	return steps
}

// shares are of what is late without an allowed lateness.
var shares = []float64{0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0001}
