package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// fakeState is the state of one key, and counts what is done to it.
type fakeState struct {
	state.Provider // what the fold does not need is not there
	bags           map[string][][]byte
	value          *int64
	calls          calls
	logReads       int
}

type calls struct{ reads, writes, clears int }

func newFakeState() *fakeState { return &fakeState{bags: map[string][][]byte{}} }

func (s *fakeState) ReadBagState(id string) ([]any, []state.Transaction, error) {
	s.calls.reads++
	if id == "log" {
		s.logReads++
	}
	var all []any
	for _, b := range s.bags[id] {
		all = append(all, bytes.Clone(b))
	}
	return all, nil, nil
}

func (s *fakeState) WriteBagState(t state.Transaction) error {
	s.calls.writes++
	s.bags[t.Key] = append(s.bags[t.Key], bytes.Clone(t.Val.([]byte)))
	return nil
}

func (s *fakeState) ClearBagState(t state.Transaction) error {
	s.calls.clears++
	delete(s.bags, t.Key)
	return nil
}

func (s *fakeState) ReadValueState(string) (any, []state.Transaction, error) {
	s.calls.reads++
	if s.value == nil {
		return nil, nil, nil
	}
	return *s.value, nil, nil
}

func (s *fakeState) WriteValueState(t state.Transaction) error {
	s.calls.writes++
	v := t.Val.(int64)
	s.value = &v
	return nil
}

func (s *fakeState) ClearValueState(state.Transaction) error {
	s.calls.clears++
	s.value = nil
	return nil
}

func (s *fakeState) empty() bool { return len(s.bags) == 0 && s.value == nil }

func (s *fakeState) bytes() (n int) {
	for _, bag := range s.bags {
		for _, b := range bag {
			n += len(b)
		}
	}
	return n
}

func (s *fakeState) clone() *fakeState {
	c := *s
	c.bags = map[string][][]byte{}
	for id, bag := range s.bags {
		c.bags[id] = slices.Clone(bag)
	}
	return &c
}

// fakeTimers keeps the timers of a key that are set, by tag.
type fakeTimers map[string]int64

func (f fakeTimers) Set(t timers.TimerMap) {
	if t.HoldTimestamp != t.FireTimestamp-1 {
		panic(fmt.Sprintf("a timer at %d holds %d", t.FireTimestamp, t.HoldTimestamp))
	}
	f[t.Tag] = int64(t.FireTimestamp)
}

type fatal interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// fold drives a foldFn as a runner would.
type fold struct {
	t      fatal
	fn     *foldFn
	states map[string]*fakeState
	timers map[string]fakeTimers
	lines
}

func newFold(t fatal, fn windowfns.Fn, latenessMs int64, cfg Config) *fold {
	f := &fold{t: t, states: map[string]*fakeState{}, timers: map[string]fakeTimers{}}
	agg, err := portable.Of(tally64{})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := portable.Of(fn)
	if err != nil {
		t.Fatal(err)
	}
	f.fn = newFoldFn(agg, intake.Plan{Windows: windows, Routing: routing.Config{LatenessMs: latenessMs}}, cfg, false)
	f.restart()
	f.begin()
	return f
}

// restart is what a new worker makes of the DoFn.
func (f *fold) restart() {
	if err := f.fn.Setup(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fold) begin() { f.fn.StartBundle(f.emitRow, f.emitUnshown, noCount) }

func (f *fold) finish() {
	if err := f.fn.FinishBundle(f.emitRow, f.emitUnshown, noCount); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fold) emitRow(at beam.EventTime, v beam.Y) {
	r := v.(Row)
	if int64(at) != r.EndMs-1 {
		f.t.Fatal("row at", at, "of", r.StartMs, r.EndMs)
	}
	_ = f.row(&r)
}

func (f *fold) emitUnshown(at beam.EventTime, u Unshown) {
	if int64(at) != u.EndMs-1 || u.Reason != errOdd.Error() {
		f.t.Fatal("unshown", u, "at", at)
	}
	f.unshown(&u)
}

func (f *fold) at(key string) (*fakeState, fakeTimers) {
	if f.states[key] == nil {
		f.states[key], f.timers[key] = newFakeState(), fakeTimers{}
	}
	f.states[key].calls = calls{}
	return f.states[key], f.timers[key]
}

// message brings a message and returns what was done to the state for it.
func (f *fold) message(key string, msg []byte) calls {
	s, tp := f.at(key)
	was := bytes.Clone(msg)
	if err := f.fn.ProcessElement(context.Background(), s, tp, key, msg, f.emitRow, f.emitUnshown, noCount); err != nil {
		f.t.Fatal(err)
	}
	if !bytes.Equal(was, msg) {
		f.t.Fatal("the message has changed")
	}
	return s.calls
}

// fire lets a timer fire.
func (f *fold) fire(key, tag string) calls {
	s, tp := f.at(key)
	delete(tp, tag)
	err := f.fn.OnTimer(context.Background(), 0, s, tp, key, timers.Context{Family: "deadline", Tag: tag}, f.emitRow, f.emitUnshown, noCount)
	if err != nil {
		f.t.Fatal(err)
	}
	return s.calls
}

// fireDue lets the timers fire that are due at ms, in the order of their times.
func (f *fold) fireDue(ms int64) {
	for n := 0; ; n++ {
		due, key, tag := ms+1, "", ""
		for _, k := range slices.Sorted(maps.Keys(f.timers)) {
			for name, at := range f.timers[k] {
				if at < due {
					due, key, tag = at, k, name
				}
			}
		}
		if tag == "" {
			return
		}
		if n > 10_000 {
			f.t.Fatal("timers without end")
		}
		f.fire(key, tag)
	}
}

// left is what is in state and timers.
func (f *fold) left() (all []string) {
	for key, s := range f.states {
		if !s.empty() {
			all = append(all, fmt.Sprintf("%s has %d bytes and the version %v", key, s.bytes(), s.value))
		}
		if len(f.timers[key]) > 0 {
			all = append(all, fmt.Sprintf("%s has timers %v", key, f.timers[key]))
		}
	}
	return all
}

func (f *fold) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.all); diff != "" && len(want)+len(f.all) > 0 {
		t.Errorf("%s: mismatch (-want +got):\n%s", what, diff)
	}
	f.all = nil
}

// forgetAll is what a new process remembers.
func forgetAll() {
	memory.Clear()
}

func tagOf(ms int64) string { return strconv.FormatInt(ms, 36) }

func noCount(beam.EventTime, Count) {}

// One window of no grid, which is in a cell alone.
var (
	foldWindow = windowfns.Window{StartMs: -7200_000, EndMs: 79_200_000}
	foldDays   = windowfns.Calendar{Unit: windowfns.Day}
	foldEnd    = foldWindow.EndMs
	foldKey    = single(foldWindow).key(3)
)
