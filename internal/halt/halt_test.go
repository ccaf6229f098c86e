package halt

import (
	"testing"
	"time"
)

func TestSwitch(t *testing.T) {
	for _, c := range []struct {
		name    string
		ask     bool
		drain   bool
		stopped []int64
		due     int64
		want    bool
	}{
		{name: "a run to its end", due: 1 << 60, want: true},
		{name: "asked, and nothing has stopped yet", ask: true, due: 1 << 60, want: true},
		{name: "due before the stop", ask: true, stopped: []int64{100}, due: 99, want: true},
		{name: "due at the stop", ask: true, stopped: []int64{100}, due: 100, want: true},
		{name: "due after it", ask: true, stopped: []int64{100}, due: 101, want: false},
		{name: "the lowest of several counts", ask: true, stopped: []int64{300, 100, 200}, due: 101, want: false},
		{name: "drained", ask: true, drain: true, stopped: []int64{100}, due: 1 << 60, want: true},
	} {
		s := Start()
		if Current() != s || s.Asked() {
			t.Fatalf("%s: a run does not start afresh", c.name)
		}
		if c.ask {
			s.Ask(c.drain)
		}
		for _, ms := range c.stopped {
			s.Stopped(ms)
		}
		if got := s.Shows(c.due); got != c.want || s.Asked() != c.ask {
			t.Errorf("%s: shows %v, asked %v, want %v and %v", c.name, got, s.Asked(), c.want, c.ask)
		}
	}
}

// TestAskedWithin asks while somebody waits.
func TestAskedWithin(t *testing.T) {
	s := Start()
	if s.AskedWithin(time.Millisecond) {
		t.Error("asked by nobody")
	}
	go s.Ask(true)
	if !s.AskedWithin(time.Hour) || !s.Asked() {
		t.Error("not asked")
	}
	s.Ask(true) // again
}
