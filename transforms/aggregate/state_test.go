package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	memory.mu.Lock()
	defer memory.mu.Unlock()
	memory.found, memory.order, memory.size = nil, nil, 0
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

// world is what a runner restores when a bundle fails.
type world struct {
	states map[string]*fakeState
	timers map[string]fakeTimers
	lines  int
}

func (f *fold) save() world {
	w := world{map[string]*fakeState{}, map[string]fakeTimers{}, len(f.all)}
	for k, s := range f.states {
		w.states[k], w.timers[k] = s.clone(), maps.Clone(f.timers[k])
	}
	return w
}

func (f *fold) rollBack(w world) {
	f.states, f.timers, f.all = w.states, w.timers, f.all[:w.lines]
}

// sentMessage is a message to a cell.
type sentMessage struct {
	key string
	msg []byte
}

// bundleFor draws what comes in a bundle while the watermark of the gate is at
// gateMs: messages, and their blocks for the model.
func bundleFor(t *rapid.T, fn windowfns.Fn, l layout, latenessMs, gateMs int64) (msgs []sentMessage, blocks []blk) {
	m := l.newMessages(false)
	for range rapid.IntRange(1, 4).Draw(t, "elements") {
		key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
		number := rapid.IntRange(0, 3).Draw(t, "number")
		windows := fn.AppendWindows(nil, gateMs+rapid.Int64Range(-60, 60).Draw(t, "time"))
		add := func(kind byte, windows []windowfns.Window) {
			if len(windows) == 0 {
				return
			}
			first, last := windows[0].EndMs, windows[len(windows)-1].EndMs
			if err := m.add(tally64{}, blockKey{kind, int64(key[0] % 2), windows[0].StartMs, first, last}, []byte(key), totalOf(number)); err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, blk{kind, first, last, []delta{deltaOf(key, number)}})
		}
		open, closing := 0, 0
		for open < len(windows) && windows[open].EndMs <= gateMs {
			open++
		}
		for closing < open && windows[closing].EndMs+latenessMs <= gateMs {
			closing++
		}
		add(blockOnTime, windows[open:])
		add(blockCorrection, windows[closing:open])
	}
	m.emitGated(latenessMs, func(_ beam.EventTime, key string, msg []byte) {
		if len(msg) > 0 {
			msgs = append(msgs, sentMessage{key, msg})
		}
	})
	slices.SortFunc(msgs, func(a, b sentMessage) int { return strings.Compare(a.key, b.key) })
	return msgs, blocks
}

// byWindow are lines by key and window: only there is an order.
func byWindow(all []string) map[string][]string {
	m := map[string][]string{}
	for _, line := range all {
		var k string
		_, _ = fmt.Sscan(line, &k)
		m[k] = append(m[k], line)
	}
	return m
}

// TestFoldLaws drives two instances of the fold, which take turns, through random
// histories. Workers restart, bundles fail and come again, what is in memory is lost
// now and then, watermarks leap, and timers fire twice. The rows are those of the
// plain model, and past the last deadline there is nothing left.
func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := rapid.SampledFrom([]windowfns.Fn{
			windowfns.Tumbling{Size: millis(20)},
			windowfns.Sliding{Size: millis(35), Period: millis(10)},
			windowfns.Cumulative{Size: millis(60), Step: millis(10)},
			windowfns.Calendar{Unit: windowfns.Day},
		}).Draw(t, "windows")
		l := layoutOf(fn)
		latenessMs := rapid.SampledFrom([]int64{0, 1, 25, 100}).Draw(t, "lateness")
		cfg := Config{EarlyCount: rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "early"), FinalRows: rapid.Bool().Draw(t, "final")}
		want := newModel(rules{agg: tally64{}, latenessMs: latenessMs, early: cfg.EarlyCount > 0, earlyCount: int64(cfg.EarlyCount), final: cfg.FinalRows})
		forgetAll()
		f := newFold(t, fn, latenessMs, cfg)
		f.finish()
		other := newFold(t, fn, latenessMs, cfg).fn
		watermark := rapid.SampledFrom([]int64{-200, 0, 86_400_000 - 100}).Draw(t, "watermark")
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "turn") {
				f.fn, other = other, f.fn
			}
			switch rapid.IntRange(0, 5).Draw(t, "loss") {
			case 0:
				forgetAll()
			case 1:
				f.restart()
			}
			var msgs []sentMessage
			next := watermark
			if rapid.Bool().Draw(t, "go on") {
				next += rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, 300)).Draw(t, "by")
			} else {
				var blocks []blk
				gateMs := watermark + rapid.Int64Range(0, 20).Draw(t, "ahead")
				msgs, blocks = bundleFor(t, fn, l, latenessMs, gateMs)
				step := max(l.stepMs, 1)
				for _, b := range blocks {
					want.take(b, step)
				}
				want.settle(noWatermark)
			}
			watermark = next
			want.settle(watermark)

			run := func() {
				f.begin()
				for _, m := range msgs {
					f.message(m.key, m.msg)
				}
				// In the same bundle, or in the next one.
				if rapid.Bool().Draw(t, "apart") {
					f.finish()
					f.begin()
				}
				twice := f.save()
				f.fireDue(watermark)
				if rapid.Bool().Draw(t, "twice") {
					n := len(f.all)
					for k, tp := range twice.timers {
						for tag, at := range tp {
							if at <= watermark {
								f.fire(k, tag)
							}
						}
					}
					if len(f.all) != n {
						t.Fatalf("timers that fire twice have shown %q", f.all[n:])
					}
				}
			}
			before := f.save()
			if rapid.IntRange(0, 3).Draw(t, "fail") == 0 {
				run()
				if rapid.Bool().Draw(t, "late") {
					f.finish()
				}
				f.rollBack(before)
			}
			run()
			f.finish()
			if diff := cmp.Diff(byWindow(want.all), byWindow(f.all)); diff != "" {
				t.Fatalf("at %d: mismatch (-want +got):\n%s", watermark, diff)
			}
		}
		f.begin()
		end := int64(mtime.MaxTimestamp)
		want.settle(end)
		f.fireDue(end)
		f.finish()
		if diff := cmp.Diff(byWindow(want.all), byWindow(f.all)); diff != "" {
			t.Fatalf("at the end: mismatch (-want +got):\n%s", diff)
		}
		if left := f.left(); len(left) > 0 {
			t.Fatal(left)
		}
		f.unchanged(t)
	})
}
