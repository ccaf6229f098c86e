package flow

import "testing"

func TestFull(t *testing.T) {
	m := Start(100)
	m.Sent(100)
	if m.Full() {
		t.Error("full at the limit")
	}
	m.Sent(1)
	if !m.Full() {
		t.Error("not full above the limit")
	}
	m.Taken(1)
	if m.Full() {
		t.Error("full after bytes have arrived")
	}
}

// Workers of a run that has failed do not fill the next one.
func TestRunsAreApart(t *testing.T) {
	was := Start(100)
	now := Start(100)
	was.Sent(1000)
	if now.Full() || Current() != now {
		t.Error("a run is full of what another has sent")
	}
}

func TestNoLimit(t *testing.T) {
	m := Start(0)
	m.Sent(1 << 40)
	if m.Full() {
		t.Error("full without a limit")
	}
}
