package aggregate

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/google/go-cmp/cmp"
)

func on(kind byte, deltas ...delta) []byte { return packMessage(blk{kind, foldEnd, foldEnd, deltas}) }

// lineAt is a line of the key k.
func lineAt(row string) string { return fmt.Sprintf("k@%d %s", foldEnd, row) }

// TestStateOfAWindow follows the state of a window without allowed lateness: one
// blind write for each message, a read at the end, and then nothing is left.
func TestStateOfAWindow(t *testing.T) {
	f := newFold(t, foldDays, 0, Config{})
	for i := range 3 {
		if got, want := f.message(foldKey, on(blockOnTime, deltaOf("k", i+1))), (calls{writes: 1}); got != want {
			t.Errorf("message %d: %+v, want %+v", i, got, want)
		}
	}
	if diff := cmp.Diff(fakeTimers{tagOf(foldEnd): foldEnd}, f.timers[foldKey]); diff != "" {
		t.Errorf("timers: mismatch (-want +got):\n%s", diff)
	}
	f.expect(t, "before the end")
	if got := f.fire(foldKey, tagOf(foldEnd)); got.writes > 0 {
		t.Errorf("end: %+v, want nothing written", got)
	}
	f.expect(t, "end", lineAt("ON_TIME #0 (1 2 3) was -"))
	if left := f.left(); len(left) > 0 {
		t.Error(left)
	}
	f.fire(foldKey, tagOf(foldEnd))
	f.expect(t, "the timer fires twice")
	f.finish()
	f.begin()
	f.fire(foldKey, tagOf(foldEnd))
	f.expect(t, "the timer fires in another bundle")
	if left := f.left(); len(left) > 0 {
		t.Error(left)
	}
}

// TestStateUntilTheClose follows a window with an allowed lateness of 30 ms: it is
// kept until then, corrections are shown at once, and then nothing is left.
func TestStateUntilTheClose(t *testing.T) {
	f := newFold(t, foldDays, 30, Config{})
	end, last := tagOf(foldEnd), tagOf(foldEnd+30)
	f.message(foldKey, on(blockOnTime, deltaOf("k", 1)))
	f.fire(foldKey, end)
	f.expect(t, "end", lineAt("ON_TIME #0 (1) was -"))
	if diff := cmp.Diff(fakeTimers{last: foldEnd + 30}, f.timers[foldKey]); diff != "" {
		t.Errorf("timers: mismatch (-want +got):\n%s", diff)
	}
	f.fire(foldKey, end)
	f.expect(t, "the timer fires twice")

	f.message(foldKey, on(blockCorrection, deltaOf("k", 2), deltaOf("l", 9)))
	f.expect(t, "correction", lineAt("LATE #1 (1 2) was (1)"), fmt.Sprintf("l@%d LATE #0 (9) was -", foldEnd))
	f.message(foldKey, on(blockCorrection, deltaOf("k", 0)))
	f.expect(t, "a total that is not let through", lineAt("LATE refused (0 1 2)"))
	f.message(foldKey, on(blockCorrection, deltaOf("k", 0)))
	f.expect(t, "one that is again", lineAt("LATE #2 (0 0 1 2) was (1 2)"))

	f.fire(foldKey, last)
	if left := f.left(); len(left) > 0 {
		t.Error(left)
	}
	f.fire(foldKey, last)
	f.fire(foldKey, end)
	f.expect(t, "timers fire after the close")
}

// TestCorrectionsWait: a correction that arrives before the timer of the end has
// fired waits for it, for elements on time may still be on their way. Where there
// is no state yet, the timer decides.
func TestCorrectionsWait(t *testing.T) {
	f := newFold(t, foldDays, 30, Config{})
	f.message(foldKey, on(blockCorrection, deltaOf("k", 5)))
	if _, ok := f.timers[foldKey][tagOf(foldEnd)]; !ok {
		t.Error("no timer is set")
	}
	f.message(foldKey, on(blockOnTime, deltaOf("k", 1)))
	f.message(foldKey, on(blockCorrection, deltaOf("k", 6)))
	f.expect(t, "before the end")
	f.fire(foldKey, tagOf(foldEnd))
	f.expect(t, "end", lineAt("ON_TIME #0 (1) was -"), lineAt("LATE #1 (1 5 6) was (1)"))

	f = newFold(t, foldDays, 30, Config{})
	f.message(foldKey, on(blockCorrection, deltaOf("k", 5)))
	f.fire(foldKey, tagOf(foldEnd))
	f.expect(t, "no element was on time", lineAt("LATE #0 (5) was -"))
	f.message(foldKey, on(blockCorrection, deltaOf("k", 6)))
	f.expect(t, "after that", lineAt("LATE #1 (5 6) was (5)"))
}

// TestLateOnTime: a block on time that comes for a window that has fired is shown
// once its timer comes, which is at once, even where it makes the log compact.
func TestLateOnTime(t *testing.T) {
	for _, huge := range []int{0, compactBytes} {
		f := newFold(t, foldDays, 30, Config{})
		f.message(foldKey, on(blockOnTime, deltaOf("k", 1)))
		f.fire(foldKey, tagOf(foldEnd))
		f.all = nil
		f.message(foldKey, on(blockOnTime, deltaOf("k", 2), delta{string(make([]byte, huge)), 1, totalOf(3)}))
		f.finish()
		forgetAll()
		f.begin()
		f.fire(foldKey, tagOf(foldEnd))
		if want := lineAt("LATE #1 (1 2) was (1)"); len(f.all) != 2 || f.all[1] != want {
			t.Errorf("with a key of %d bytes: %.300q, want %s last", huge, f.all, want)
		}
	}
}

// TestFoldErrors: what cannot be is an error.
func TestFoldErrors(t *testing.T) {
	f := newFold(t, foldDays, 0, Config{})
	ctx := context.Background()
	s, tp := f.at(foldKey)
	good := on(blockOnTime, deltaOf("k", 1))
	process := func(key string, msg []byte) error {
		return f.fn.ProcessElement(ctx, s, tp, key, msg, f.emitRow, f.emitUnshown, noCount)
	}
	timer := func(key, tag string) error {
		return f.fn.OnTimer(ctx, 0, s, tp, key, timers.Context{Tag: tag}, f.emitRow, f.emitUnshown, noCount)
	}
	if err := process("x", good); err == nil {
		t.Error("no error for a malformed key")
	}
	for cut := 1; cut < len(good); cut++ {
		if err := process(foldKey, good[:cut]); err == nil {
			t.Errorf("no error for a message cut at %d", cut)
		}
	}
	for _, tag := range []string{"", "?", "end", "zzzzzzzzzzzzzzzzzzz"} {
		if err := timer(foldKey, tag); err == nil && tag != "end" {
			t.Errorf("no error for the timer %q", tag)
		}
	}
	if err := timer("x", tagOf(foldEnd)); err == nil {
		t.Error("no error for a malformed key of a timer")
	}
	for _, bag := range []string{"tail", "log"} {
		s.bags, s.value = map[string][][]byte{bag: {{'?'}}}, new(int64)
		f.finish()
		f.begin()
		if err := timer(foldKey, tagOf(foldEnd)); err == nil {
			t.Errorf("no error for a malformed %s", bag)
		}
	}
}
