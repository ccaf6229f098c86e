package files

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/halt"
)

// script is a pipe whose text is there as soon as it is said.
type script struct{ *Pipe }

// scripted opens a script.
func scripted(t *testing.T, id string) (script, []File) {
	t.Helper()
	p := &Pipe{chunks: make(chan []byte, pipeChunks), end: io.EOF}
	if _, taken := pipes.LoadOrStore(id, p); taken {
		t.Fatalf("pipe %s is open", id)
	}
	t.Cleanup(func() { ForgetPipe(id) })
	return script{p}, []File{{Pipe: id, Name: id}}
}

func (s script) say(lines ...string) { s.chunks <- []byte(strings.Join(lines, "\n") + "\n") }

func (s script) hangUp() { close(s.chunks) }

// linesOf writes a file of right events.
func linesOf(t *testing.T, times ...int64) []File {
	t.Helper()
	var b strings.Builder
	for _, ms := range times {
		b.WriteString(rightEvent(ms) + "\n")
	}
	return []File{fileOf(t, t.TempDir(), "in.ndjson", []byte(b.String()))}
}

// seenAs is a line in short: its side, time and mark.
type seenAs struct {
	Side   string
	TimeMs int64
	MarkMs int64
}

func short(all []paired) (out []seenAs) {
	for _, e := range all {
		out = append(out, seenAs{e.Side, e.TimeMs, e.MarkMs})
	}
	return out
}

const none = math.MinInt64 // the mark of a side without a record

// inSteps is what play calls: a step for each bundle.
func inSteps(steps ...func(sofar []paired)) func(int, []paired) {
	return func(n int, sofar []paired) {
		if n < len(steps) {
			steps[n](sofar)
		}
	}
}

// wantRead is a step that only checks how much there is.
func wantRead(t *testing.T, n int) func([]paired) {
	return func(sofar []paired) {
		t.Helper()
		if len(sofar) != n {
			t.Errorf("%d lines are read, want %d: %+v", len(sofar), n, short(sofar))
		}
	}
}

// then does what is behind a check.
func then(check func([]paired), do func()) func([]paired) {
	return func(sofar []paired) {
		check(sofar)
		do()
	}
}

// TestPairAhead has a file that waits for a pipe.
func TestPairAhead(t *testing.T) {
	pipe, left := scripted(t, "left")
	r := newRig(t, 1<<20)
	r.fn.AheadMs = 15
	got := r.play(t, PairInput{left, linesOf(t, 0, 5, 16, 17, 40, 50, 60)}, inSteps(
		wantRead(t, 0),
		wantRead(t, 1), // the side has no watermark before its first record
		then(wantRead(t, 1), func() { pipe.say(event(10)) }),
		wantRead(t, 6), // 40 is the one that goes past the limit
		then(wantRead(t, 6), func() { pipe.chunks <- []byte(event(20)[:9]) }),
		then(wantRead(t, 6), func() { pipe.hangUp() }),
	))
	want := []seenAs{
		{"right", 0, none},
		{"left", 10, none},
		{"right", 5, -10},
		{"right", 16, -5},
		{"right", 17, 0},
		{"right", 40, 0},
		{"", 0, 0}, // the line that was cut off
		{"right", 50, 30},
		{"right", 60, 40},
	}
	if diff := cmp.Diff(want, short(got)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestPairNoAhead reads the whole file: nothing limits how far it is ahead.
func TestPairNoAhead(t *testing.T) {
	pipe, left := scripted(t, "left")
	r := newRig(t, 1<<20)
	got := r.play(t, PairInput{left, linesOf(t, 0, 1000, 2000)}, inSteps(
		wantRead(t, 0),
		then(wantRead(t, 3), func() { pipe.say(event(10)) }),
		then(wantRead(t, 4), func() { pipe.say(event(3000)) }),
		then(wantRead(t, 5), func() { pipe.say(event(2000)); pipe.hangUp() }),
	))
	// The right side has ended once the left one is ahead of it.
	want := []seenAs{{"right", 0, none}, {"right", 1000, none}, {"right", 2000, none}, {"left", 10, none}, {"left", 3000, 0}, {"left", 2000, 2990}}
	if diff := cmp.Diff(want, short(got)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestPairIdle has a pipe that is silent for too long, and speaks again.
func TestPairIdle(t *testing.T) {
	pipe, left := scripted(t, "left")
	other, right := scripted(t, "right")
	r := newRig(t, 1<<20)
	r.fn.IdleMs = 100
	pass := func(ms int64) func() { return func() { r.clockMs += ms } }
	at := func(ms int64) func([]paired) {
		return func([]paired) {
			t.Helper()
			if r.joint.Ms != ms {
				t.Errorf("the watermark is %d, want %d", r.joint.Ms, ms)
			}
		}
	}
	got := r.play(t, PairInput{left, right}, inSteps(
		then(at(none), func() { pipe.say(event(10)); other.say(rightEvent(50)) }),
		then(at(0), pass(99)), // the left side was found silent just now
		then(at(0), pass(1)),  // not for long enough
		at(40),                // idle: the right one counts alone
		then(at(40), func() { other.say(rightEvent(70)) }),  // and goes on
		then(at(60), func() { pipe.say(event(20), "x") }),   // late, and not idle any more
		then(at(60), func() { other.say(rightEvent(100)) }), // held, though not moved back
		then(at(60), func() { pipe.say(event(95)) }),
		then(at(85), pass(200)),
		at(90), // the left one is idle, and the right one silent since just now
		then(at(90), pass(1000)),
		then(at(90), func() { other.say(rightEvent(85)) }), // nothing moves it but a record
		then(at(90), func() { other.say(rightEvent(130)) }),
		then(at(120), func() { pipe.hangUp(); other.hangUp() }),
	))
	want := []seenAs{
		{"left", 10, none},
		{"right", 50, none},
		{"right", 70, 40},
		{"left", 20, 60},
		{"", 0, 0},
		{"right", 100, 60},
		{"left", 95, 60},
		{"right", 85, 90},
		{"right", 130, 90},
	}
	if diff := cmp.Diff(want, short(got)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestPairIdleFreesFile has a file that waits for a pipe until that is idle.
func TestPairIdleFreesFile(t *testing.T) {
	pipe, left := scripted(t, "left")
	r := newRig(t, 1<<20)
	r.fn.IdleMs, r.fn.AheadMs = 100, 1
	got := r.play(t, PairInput{left, linesOf(t, 0, 50, 60)}, inSteps(
		wantRead(t, 0),
		then(wantRead(t, 1), func() { r.clockMs += 99 }),
		then(wantRead(t, 1), func() { r.clockMs++ }),
		then(wantRead(t, 3), func() { pipe.say(event(55)); pipe.hangUp() }),
	))
	want := []seenAs{{"right", 0, none}, {"right", 50, -10}, {"right", 60, 40}, {"left", 55, 50}}
	if diff := cmp.Diff(want, short(got)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestPairWakes has a source that waits for as long as it takes, and is woken by
// either pipe, or by one that has become idle.
func TestPairWakes(t *testing.T) {
	for _, side := range []string{"left", "right", "neither"} {
		inL, outL := io.Pipe()
		inR, outR := io.Pipe()
		OpenPipe("wakes left", inL)
		OpenPipe("wakes right", inR)
		r := newRig(t, 1<<20)
		r.fn.now = time.Now
		r.fn.patience = time.Hour
		if side == "neither" {
			r.fn.IdleMs = 1
		}
		in := PairInput{[]File{{Pipe: "wakes left", Format: CSV}}, []File{{Pipe: "wakes right"}}}
		got := r.play(t, in, func(n int, _ []paired) {
			go func() {
				switch {
				case n == 1:
					_ = outL.Close()
					_ = outR.Close()
				case n == 0 && side == "left":
					_, _ = io.WriteString(outL, "k,t,m\na,1,1\n")
				case n == 0 && side == "right":
					_, _ = io.WriteString(outR, rightEvent(1)+"\n")
				}
			}()
		})
		want := []string{side}
		if side == "neither" {
			want = nil
		}
		var sides []string
		for _, e := range got {
			sides = append(sides, e.Side)
		}
		if diff := cmp.Diff(want, sides); diff != "" {
			t.Errorf("%s speaks: mismatch (-want +got):\n%s", side, diff)
		}
		ForgetPipe("wakes left")
		ForgetPipe("wakes right")
	}
}

// TestPairHalt asks for an end while both pipes are open: the watermark of the join
// is where it has stopped.
func TestPairHalt(t *testing.T) {
	defer halt.Start()
	for _, drain := range []bool{false, true} {
		stop := halt.Start()
		pipe, left := scripted(t, "left")
		other, right := scripted(t, "right")
		got := newRig(t, 1<<20).play(t, PairInput{left, right}, inSteps(
			func([]paired) { pipe.say(event(30)); other.say(rightEvent(50)) },
			then(wantRead(t, 2), func() { stop.Ask(drain); pipe.say(event(40)) }),
		))
		if len(got) != 2 || !stop.Shows(20) || stop.Shows(21) != drain {
			t.Errorf("drain %v: %+v; what is due at 20 is shown: %v, at 21: %v", drain, got, stop.Shows(20), stop.Shows(21))
		}
		ForgetPipe("left")
		ForgetPipe("right")
	}
}

// TestPairHaltBehindTheEnd ends a pipe first and asks then, as an interrupt from
// a terminal can: the side that has ended still holds the watermark.
func TestPairHaltBehindTheEnd(t *testing.T) {
	defer halt.Start()
	stop := halt.Start()
	pipe, left := scripted(t, "left")
	other, right := scripted(t, "right")
	r := newRig(t, 1<<20)
	r.fn.Grace = time.Hour
	r.play(t, PairInput{left, right}, inSteps(
		func([]paired) { pipe.say(event(30)); other.say(rightEvent(50)) },
		then(wantRead(t, 2), func() {
			pipe.hangUp()
			go stop.Ask(false)
		}),
	))
	if !stop.Shows(20) || stop.Shows(21) {
		t.Errorf("what is due at 20 is shown: %v, at 21: %v, want only the first", stop.Shows(20), stop.Shows(21))
	}
}
