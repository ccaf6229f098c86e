package streamtest

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"
)

// Timeline is the script of a stream: elements, and how far the watermark gets
// in between. The zero value is an empty one, and the methods that add a step
// return the Timeline, so that calls can be chained. A Timeline can be played
// any number of times.
//
// Times are event time in milliseconds since the Unix epoch. Elements are all
// of one type that Beam can encode, such as a struct registered with
// beam.RegisterType, but not a KV.
//
// The first step that cannot be played is kept as an error, which Err, Create
// and Live report.
type Timeline struct {
	steps []step
	elem  reflect.Type
	wm    int64 // meaningful once started
	began bool
	err   error
}

// step is one step of a Timeline. Exactly one field group is set.
type step struct {
	elems []any
	ms    int64 // the timestamp of elems, or the watermark

	advance time.Duration // processing time, if positive
}

// At adds elements with the timestamp ms. Those of one call arrive together, in
// one bundle and in no certain order; those of several calls one after the
// other.
func (t *Timeline) At(ms int64, elems ...any) *Timeline {
	switch {
	case len(elems) == 0:
		return t.fail("no elements at %d ms, want at least one", ms)
	case t.wm == int64(mtime.MaxTimestamp):
		return t.fail("an element at %d ms after a watermark at infinity", ms)
	case mtime.Time(ms) != mtime.Normalize(mtime.Time(ms)):
		return t.fail("an element at %d ms, want a time from %d to %d", ms, mtime.MinTimestamp, mtime.MaxTimestamp)
	}
	for _, e := range elems {
		switch et := reflect.TypeOf(e); {
		case et == nil:
			return t.fail("a nil element at %d ms", ms)
		case t.elem == nil:
			t.elem = et
		case t.elem != et:
			return t.fail("an element of type %v at %d ms, want %v as before", et, ms, t.elem)
		}
	}
	t.steps = append(t.steps, step{ms: ms, elems: elems})
	return t
}

// Watermark advances the watermark to ms: the script says that no more elements
// are expected before it. If it is there already, nothing happens.
func (t *Timeline) Watermark(ms int64) *Timeline {
	ms = int64(mtime.Normalize(mtime.Time(ms)))
	if t.began && ms <= t.wm || ms == int64(mtime.MinTimestamp) {
		return t
	}
	t.began, t.wm = true, ms
	t.steps = append(t.steps, step{ms: ms})
	return t
}

// WatermarkToInfinity advances the watermark past every time: no element can
// follow. Every Timeline ends like this, whether it says so or not.
func (t *Timeline) WatermarkToInfinity() *Timeline {
	return t.Watermark(int64(mtime.MaxTimestamp))
}

// ProcessingTime advances the clock of processing-time timers by d, a positive
// whole number of milliseconds.
func (t *Timeline) ProcessingTime(d time.Duration) *Timeline {
	if d <= 0 || d%time.Millisecond != 0 {
		return t.fail("processing time advances by %v, want a positive whole number of milliseconds", d)
	}
	t.steps = append(t.steps, step{advance: d})
	return t
}

// Err is the error of the first step that cannot be played, or nil.
func (t *Timeline) Err() error { return t.err }

func (t *Timeline) fail(format string, args ...any) *Timeline {
	if t.err == nil {
		t.err = fmt.Errorf("streamtest.Timeline: step %d: %w", len(t.steps)+1, fmt.Errorf(format, args...))
	}
	return t
}

// Create plays the script through Beam's TestStream. Every step has run its
// course through the whole pipeline before the next one begins, so that the
// outcome is exact to the millisecond. It panics where [Timeline.TryCreate]
// returns an error.
//
// Output: PCollection<T>, T being the type of the elements, in the global
// window, unbounded. TestStream must be the first transform of a pipeline, and
// there can be one only.
func (t *Timeline) Create(s beam.Scope) beam.PCollection {
	col, err := t.TryCreate(s)
	if err != nil {
		panic(err)
	}
	return col
}

// TryCreate is [Timeline.Create] with the error returned.
func (t *Timeline) TryCreate(s beam.Scope) (beam.PCollection, error) {
	if err := t.check(); err != nil {
		return beam.PCollection{}, err
	}
	cfg := teststream.NewConfig()
	for i, st := range t.steps {
		var err error
		switch {
		case st.elems != nil:
			err = cfg.AddElements(st.ms, st.elems...)
		case st.advance > 0:
			cfg.AdvanceProcessingTime(st.advance.Milliseconds())
		default:
			err = cfg.AdvanceWatermark(st.ms)
		}
		if err != nil {
			return beam.PCollection{}, fmt.Errorf("streamtest.Timeline: step %d: %w", i+1, err)
		}
	}
	// Prism takes the machine's clock for the processing time where a script never
	// moves it, and once it has come to the end, so that all timers that wait for a
	// processing time fire. So the clock moves once more, when nothing waits.
	if !t.began || t.wm < int64(mtime.MaxTimestamp) {
		if err := cfg.AdvanceWatermarkToInfinity(); err != nil {
			return beam.PCollection{}, fmt.Errorf("streamtest.Timeline: %w", err)
		}
	}
	cfg.AdvanceProcessingTime(1)
	col := teststream.Create(s, cfg)
	settle(s)
	return col, nil
}

// check says why the script cannot be played at all.
func (t *Timeline) check() error {
	if t.err != nil {
		return t.err
	}
	if t.elem == nil {
		return errors.New("streamtest.Timeline: no elements, want at least one, for their type")
	}
	return nil
}

// checkClock refuses steps of processing time.
func (t *Timeline) checkClock(how string) error {
	for _, st := range t.steps {
		if st.advance > 0 {
			return fmt.Errorf("streamtest.Timeline: processing time cannot be played %s", how)
		}
	}
	return nil
}
