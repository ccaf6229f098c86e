package aggregate

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

// fakeState is the bag of one key, and counts what is done to it.
type fakeState struct {
	state.Provider // what a bag does not need is not there
	log            [][]byte
	calls          calls
}

type calls struct{ reads, adds, clears int }

func (s *fakeState) ReadBagState(string) ([]any, []state.Transaction, error) {
	s.calls.reads++
	var all []any
	for _, b := range s.log {
		all = append(all, bytes.Clone(b))
	}
	return all, nil, nil
}

func (s *fakeState) WriteBagState(t state.Transaction) error {
	s.calls.adds++
	s.log = append(s.log, bytes.Clone(t.Val.([]byte)))
	return nil
}

func (s *fakeState) ClearBagState(state.Transaction) error {
	s.calls.clears++
	s.log = nil
	return nil
}

func (s *fakeState) bytes() (n int) {
	for _, b := range s.log {
		n += len(b)
	}
	return n
}

// fakeTimers keeps the timers that are set, by tag.
type fakeTimers map[string][2]int64 // firing and hold

func (f fakeTimers) Set(t timers.TimerMap) {
	f[t.Tag] = [2]int64{int64(t.FireTimestamp), int64(t.HoldTimestamp)}
}

// fold drives a foldFn as a runner would, for one cell.
type fold struct {
	t      interface{ Fatal(...any) }
	fn     *foldFn
	state  fakeState
	timers fakeTimers
	lines  []string
}

var foldWindow = windowfns.Window{StartMs: -20, EndMs: 100}

func newFold(t interface{ Fatal(...any) }, latenessMs int64) *fold {
	f := &fold{t: t, timers: fakeTimers{}}
	agg, err := portable.Of(tally64{})
	if err != nil {
		t.Fatal(err)
	}
	f.fn = newFoldFn(agg, latenessMs, false)
	f.restart()
	return f
}

// restart is what a new worker, or a new bundle of it, makes of the DoFn.
func (f *fold) restart() {
	if err := f.fn.Setup(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fold) row(at beam.EventTime, v beam.Y) {
	r := v.(Row)
	if int64(at) != foldWindow.EndMs-1 || r.StartMs != foldWindow.StartMs || r.EndMs != foldWindow.EndMs {
		f.t.Fatal("row at", at, "of", r.StartMs, r.EndMs)
	}
	f.lines = append(f.lines, shown(r.Pane, r.Key, r.Revision, r.Total, r.Previous))
}

func (f *fold) unshown(at beam.EventTime, u Unshown) {
	if int64(at) != foldWindow.EndMs-1 || u.StartMs != foldWindow.StartMs || u.EndMs != foldWindow.EndMs || u.Reason != errOdd.Error() {
		f.t.Fatal("unshown", u, "at", at)
	}
	f.lines = append(f.lines, refusal(u.Pane, u.Key, u.Total))
}

// block brings a block and returns what was done to the state for it.
func (f *fold) block(kind byte, deltas ...delta) calls {
	f.state.calls = calls{}
	err := f.fn.ProcessElement(context.Background(), &f.state, f.timers, cellKey(3, foldWindow), packBlock(kind, deltas...), f.row, f.unshown, noCount)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.state.calls
}

// fire lets a timer fire.
func (f *fold) fire(tag string) calls {
	f.state.calls = calls{}
	delete(f.timers, tag)
	err := f.fn.OnTimer(context.Background(), 0, &f.state, f.timers, cellKey(3, foldWindow), timers.Context{Family: "deadline", Tag: tag}, f.row, f.unshown, noCount)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.state.calls
}

func (f *fold) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.lines); diff != "" && len(want)+len(f.lines) > 0 {
		t.Errorf("%s: mismatch (-want +got):\n%s", what, diff)
	}
	f.lines = nil
}

func k(n ...int) delta { return delta{"k", totalOf(n...)} }

// TestStateOfAWindow follows the state of a window without allowed lateness: one
// blind write for each block, one read at the end, and then nothing is left.
func TestStateOfAWindow(t *testing.T) {
	f := newFold(t, 0)
	for i := range 3 {
		if got, want := f.block(blockOnTime, k(i+1)), (calls{adds: 1}); got != want {
			t.Errorf("block %d: %+v, want %+v", i, got, want)
		}
	}
	if diff := cmp.Diff(fakeTimers{"end": {100, 99}}, f.timers); diff != "" {
		t.Errorf("timers: mismatch (-want +got):\n%s", diff)
	}
	f.expect(t, "before the end")
	if got, want := f.fire("end"), (calls{reads: 1, clears: 1}); got != want {
		t.Errorf("end: %+v, want %+v", got, want)
	}
	f.expect(t, "end", "k ON_TIME #0 (1 2 3) was -")
	if len(f.state.log) != 0 || len(f.timers) != 0 {
		t.Errorf("%d blocks and timers %v are left", len(f.state.log), f.timers)
	}
	f.fire("end")
	f.expect(t, "the timer fires twice")
}

// TestStateUntilTheClose follows a window with an allowed lateness of 30 ms: it
// is kept until then, corrections are shown at once, and then nothing is left.
func TestStateUntilTheClose(t *testing.T) {
	f := newFold(t, 30)
	f.block(blockOnTime, k(1))
	f.fire("end")
	f.expect(t, "end", "k ON_TIME #0 (1) was -")
	if diff := cmp.Diff(fakeTimers{"close": {130, 129}}, f.timers); diff != "" {
		t.Errorf("timers: mismatch (-want +got):\n%s", diff)
	}
	f.fire("end")
	f.expect(t, "the timer fires twice")

	if got, want := f.block(blockCorrection, k(2), delta{"l", totalOf(9)}), (calls{reads: 1, adds: 1}); got != want {
		t.Errorf("correction: %+v, want %+v", got, want)
	}
	f.expect(t, "correction", "k LATE #1 (1 2) was (1)", "l LATE #0 (9) was -")
	f.block(blockCorrection, k(0))
	f.expect(t, "a total that is not let through", "k LATE refused (0 1 2)")
	f.block(blockCorrection, k(0))
	f.expect(t, "one that is again", "k LATE #2 (0 0 1 2) was (1 2)")

	f.fire("close")
	if len(f.state.log) != 0 || len(f.timers) != 0 {
		t.Errorf("%d blocks and timers %v are left", len(f.state.log), f.timers)
	}
	f.fire("close")
	f.fire("end")
	f.expect(t, "timers fire after the close")
}

// TestCorrectionsWait: a correction that arrives before the timer of the end has
// fired waits for it, for elements on time may still be on their way. Where
// there is no state yet, the timer decides.
func TestCorrectionsWait(t *testing.T) {
	f := newFold(t, 30)
	f.block(blockCorrection, k(5))
	if _, ok := f.timers["end"]; !ok {
		t.Error("no timer is set")
	}
	f.block(blockOnTime, k(1))
	f.block(blockCorrection, k(6))
	f.expect(t, "before the end")
	f.fire("end")
	f.expect(t, "end", "k ON_TIME #0 (1) was -", "k LATE #1 (1 5 6) was (1)")

	f = newFold(t, 30)
	f.block(blockCorrection, k(5))
	f.fire("end")
	f.expect(t, "no element was on time", "k LATE #0 (5) was -")
	f.block(blockCorrection, k(6))
	f.expect(t, "after that", "k LATE #1 (5 6) was (5)")
}

// TestFoldErrors: what cannot be is an error.
func TestFoldErrors(t *testing.T) {
	f := newFold(t, 0)
	ctx := context.Background()
	if err := f.fn.ProcessElement(ctx, &f.state, f.timers, "x", packBlock(blockOnTime), f.row, f.unshown, noCount); err == nil {
		t.Error("no error for a malformed key")
	}
	if err := f.fn.ProcessElement(ctx, &f.state, f.timers, cellKey(0, foldWindow), nil, f.row, f.unshown, noCount); err == nil {
		t.Error("no error for a malformed block")
	}
	if err := f.fn.OnTimer(ctx, 0, &f.state, f.timers, cellKey(0, foldWindow), timers.Context{Tag: "?"}, f.row, f.unshown, noCount); err == nil {
		t.Error("no error for an unknown timer")
	}
	if err := f.fn.OnTimer(ctx, 0, &f.state, f.timers, "x", timers.Context{Tag: "end"}, f.row, f.unshown, noCount); err == nil {
		t.Error("no error for a malformed key of a timer")
	}
}

// TestFoldLaws drives the fold through random histories, restarting it now and
// then, and compares with the plain model.
func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want model
		f := newFold(t, 30)
		for _, o := range history().Draw(t, "history") {
			if rapid.Bool().Draw(t, "restart") {
				f.restart()
			}
			switch {
			case o.deltas != nil:
				want.add(o.kind, o.deltas...)
				f.block(o.kind, o.deltas...)
				if want.fired && o.kind == blockCorrection {
					want.fire() // shown at once
				}
			case len(f.state.log) > 0:
				want.fire()
				f.fire("end")
			}
		}
		if diff := cmp.Diff(want.lines, f.lines); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

func noCount(beam.EventTime, Count) {}
