// Package tally counts what the conservation law is about.
//
// Every count is a Beam counter, and a number in this process besides: Prism
// loses counts when the first bundles of a stage end at the same time (a report
// with counters that it does not know yet takes the place of the one before
// it), so that a local run must not rely on its metrics.
package tally

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Kind is what is counted.
type Kind int

// The counts. Assigned, added, corrected and late are (element, window) pairs,
// and assigned = added + late holds at the end of every run.
const (
	Read       Kind = iota // records, good and bad
	Bad                    // records that were not understood
	Assigned               // counted where windows are assigned, in front of the gate
	Added                  // counted where elements enter a total
	Corrected              // the part of added that came after the window's end
	Late                   // counted where late records are written
	Overflowed             // sums that were reported instead of emitted
	OverLimit              // elements that a join reported instead of holding them

	// Of each side of a join, elements: assigned = joined + unmatched + late + over
	// the limit holds at the end. Of the unmatched ones, those are open that a run
	// which was interrupted has left undecided.
	LeftAssigned
	LeftJoined
	LeftUnmatched
	LeftLate
	LeftOverLimit
	LeftOpen
	RightAssigned
	RightJoined
	RightUnmatched
	RightLate
	RightOverLimit
	RightOpen
	kinds
)

// Side is the counts of a side of a join.
type Side struct {
	Name                                               string
	Assigned, Joined, Unmatched, Late, OverLimit, Open Kind
}

// Sides are those of the left side and of the right one.
var Sides = [2]Side{
	{"left", LeftAssigned, LeftJoined, LeftUnmatched, LeftLate, LeftOverLimit, LeftOpen},
	{"right", RightAssigned, RightJoined, RightUnmatched, RightLate, RightOverLimit, RightOpen},
}

// Namespace is that of the Beam counters.
const Namespace = "tidemark"

// Names are the names of the Beam counters, by kind.
var Names = [kinds]string{
	"read", "bad", "assigned", "added", "corrected", "late", "overflowed", "over_limit",
	"left_assigned", "left_joined", "left_unmatched", "left_late", "left_over_limit", "left_open",
	"right_assigned", "right_joined", "right_unmatched", "right_late", "right_over_limit", "right_open",
}

var counters = func() (c [kinds]beam.Counter) {
	for k, name := range Names {
		c[k] = beam.NewCounter(Namespace, name)
	}
	return c
}()

// Tally holds the counts of one run in this process.
type Tally struct {
	n         [kinds]atomic.Int64
	example   atomic.Pointer[string]
	watermark atomic.Int64 // of the last source that reported one
}

var current atomic.Pointer[Tally]

func init() { current.Store(&Tally{}) }

// Start begins the counts of a run. DoFns that were set up before go on
// counting for the run before.
func Start() *Tally {
	t := &Tally{}
	current.Store(t)
	return t
}

// Set sets all counts by name, but for those of open elements: only the process that
// asks a run to end knows of these.
func (t *Tally) Set(counts map[string]int64) {
	for k, name := range Names {
		if k := Kind(k); k != LeftOpen && k != RightOpen {
			t.n[k].Store(counts[name])
		}
	}
}

// Current is the tally of the run that was started last. A DoFn asks for it in
// Setup and keeps it.
func Current() *Tally { return current.Load() }

// Inc adds n to a count.
func (t *Tally) Inc(ctx context.Context, k Kind, n int64) {
	if n == 0 {
		return
	}
	counters[k].Inc(ctx, n)
	t.n[k].Add(n)
}

// Blame notes what was wrong with something that is counted as bad or
// overflowed, with its position, in the form of fmt.Sprintf. The first note is
// kept.
func (t *Tally) Blame(format string, args ...any) {
	if t.example.Load() == nil {
		what := fmt.Sprintf(format, args...)
		t.example.CompareAndSwap(nil, &what)
	}
}

// Example is the note that was kept, or empty.
func (t *Tally) Example() string {
	if p := t.example.Load(); p != nil {
		return *p
	}
	return ""
}

// Reached notes the watermark of a source, in ms.
func (t *Tally) Reached(watermarkMs int64) { t.watermark.Store(watermarkMs) }

// Watermark is what was noted last, or 0.
func (t *Tally) Watermark() int64 { return t.watermark.Load() }

// Get is a count of this process.
func (t *Tally) Get(k Kind) int64 { return t.n[k].Load() }
