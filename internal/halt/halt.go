// Package halt ends live pipelines from outside. A runner has no way to stop
// a pipeline in good order: the sources of this process ask here whether they
// are to go on, and what shows rows asks which windows were left open.
package halt

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Switch ends the pipelines of one run. It is safe for concurrent use.
type Switch struct {
	once  sync.Once
	asked chan struct{} // closed once sources are asked
	drain atomic.Bool
	leave atomic.Int64 // the watermark at which reading stopped
}

var current atomic.Pointer[Switch]

func init() { Start() }

// Start begins a run that nobody has asked to end.
func Start() *Switch {
	s := &Switch{asked: make(chan struct{})}
	s.leave.Store(math.MaxInt64)
	current.Store(s)
	return s
}

// Current is the switch of the run that was started last. A DoFn asks for it in
// Setup and keeps it.
func Current() *Switch { return current.Load() }

// Ask asks sources to stop reading. With drain, windows that are open then are
// shown all the same.
func (s *Switch) Ask(drain bool) {
	if drain {
		s.drain.Store(true)
	}
	s.once.Do(func() { close(s.asked) })
}

// Asked reports whether sources are to stop.
func (s *Switch) Asked() bool { return s.AskedWithin(0) }

// AskedWithin is Asked, but waits for so long.
func (s *Switch) AskedWithin(d time.Duration) bool {
	select {
	case <-s.asked:
		return true
	default:
	}
	if d <= 0 {
		return false
	}
	select {
	case <-s.asked:
		return true
	case <-time.After(d):
		return false
	}
}

// Stopped says that a source has stopped at a watermark, in ms. It has to be
// called before the source lets go of its watermark: of several sources, the
// lowest counts.
func (s *Switch) Stopped(watermarkMs int64) {
	for {
		was := s.leave.Load()
		if watermarkMs >= was || s.leave.CompareAndSwap(was, watermarkMs) {
			return
		}
	}
}

// Shows reports whether what is due when the watermark reaches dueMs is to be
// shown: everything, unless sources have stopped before that and the windows
// that were open are to be left alone.
func (s *Switch) Shows(dueMs int64) bool {
	return s.drain.Load() || dueMs <= s.leave.Load()
}
