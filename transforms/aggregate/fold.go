package aggregate

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/portable"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

type (
	emitRow     = func(beam.EventTime, beam.Y)
	emitUnshown = func(beam.EventTime, Unshown)
)

func init() {
	register.DoFn8x1[context.Context, state.Provider, timers.Provider, string, []byte, emitRow, emitUnshown, emitCount, error](&foldFn{})
	register.Emitter2[beam.EventTime, beam.Y]()
	register.Emitter2[beam.EventTime, Unshown]()
}

// The tags of the fold's timers.
const (
	timerEnd   = "end"   // the watermark has passed the end of the window
	timerClose = "close" // and the allowed lateness
)

// foldFn keeps the cell of each shard and window in the global window, whose
// state no runner clears, and emits its rows: ON_TIME ones when the watermark
// passes the end, LATE ones as corrections come.
//
// Blocks on time are appended unread. A correction may arrive before the timer
// of the window's end has fired, because it came another way than the elements
// on time; it then waits in the cell, and the timer emits both. The timer of a
// cell that does not exist yet is due at once where the end has passed.
type foldFn struct {
	Log   state.Bag[[]byte]
	Timer timers.EventTime

	Agg        portable.Value
	LatenessMs int64
	Counted    bool

	agg    Aggregator
	render Renderer // nil where rows are of type Row
	tally  *tally.Tally
	counts counter
	perKey []int64

	// grown is a hint on how far logs have grown since they were compacted, by
	// cell. It is forgotten freely: results do not depend on it.
	grown map[string]growth
}

type growth struct{ compact, appended int }

// compactBytes is how much a log grows before it is compacted, at the least. It
// also has to double, so that the work stays proportional to what is appended.
const compactBytes = 64 << 10

// maxGrown bounds the number of hints.
const maxGrown = 1 << 16

func newFoldFn(agg portable.Value, latenessMs int64, counted bool) *foldFn {
	return &foldFn{
		Log:        state.MakeBagState[[]byte]("log"),
		Timer:      timers.InEventTime("deadline"),
		Agg:        agg,
		LatenessMs: latenessMs,
		Counted:    counted,
	}
}

func (f *foldFn) Setup() (err error) {
	f.grown = map[string]growth{}
	f.tally = tally.Current()
	f.agg, err = portable.As[Aggregator](f.Agg)
	f.render, _ = f.agg.(Renderer)
	return err
}

func (f *foldFn) ProcessElement(ctx context.Context, sp state.Provider, tp timers.Provider, key string, b []byte, row emitRow, unshown emitUnshown, count emitCount) error {
	w, err := cellWindow(key)
	if err != nil {
		return err
	}
	if f.Counted {
		if b, err = f.count(w, b, count); err != nil {
			return err
		}
	}
	kind, elements, err := blockCount(b)
	if err != nil {
		return err
	}
	f.tally.Inc(ctx, tally.Added, elements)
	if kind == blockCorrection {
		f.tally.Inc(ctx, tally.Corrected, elements)
		fired, err := f.correct(sp, w, b, row, unshown)
		if fired || err != nil {
			return err
		}
	} else if err := f.append(sp, key, b); err != nil {
		return err
	}
	f.Timer.Set(tp, time.UnixMilli(w.EndMs), timers.WithTag(timerEnd), timers.WithOutputTimestamp(time.UnixMilli(w.EndMs-1)))
	return nil
}

// StartBundle begins the counts of a bundle.
func (f *foldFn) StartBundle(emitRow, emitUnshown, emitCount) {
	if f.Counted {
		f.counts = newCounter(f.agg)
	}
}

// FinishBundle emits the counts of a bundle.
func (f *foldFn) FinishBundle(_ emitRow, _ emitUnshown, count emitCount) { f.counts.flush(count) }

// count counts the elements of a block, and returns it without their numbers.
func (f *foldFn) count(w windowfns.Window, b []byte, count emitCount) (_ []byte, err error) {
	if f.perKey, b, err = cutPerKey(b, f.perKey[:0]); err != nil {
		return nil, err
	}
	kind, _, err := blockCount(b)
	if err != nil {
		return nil, err
	}
	err = eachDelta(b, func(i int, key, acc []byte) error {
		if i >= len(f.perKey) {
			return fmt.Errorf("aggregate: block of more entries than the %d that are counted", len(f.perKey))
		}
		if kind == blockCorrection {
			if err := f.counts.add(KindCorrected, w, key, acc, f.perKey[i]); err != nil {
				return err
			}
		}
		return f.counts.add(KindAdded, w, key, acc, f.perKey[i])
	})
	f.counts.flushIfFull(count)
	return b, err
}

// append adds a block to a log that is not read for it, and compacts the log
// from time to time.
func (f *foldFn) append(sp state.Provider, key string, b []byte) error {
	g := f.grown[key]
	g.appended += len(b)
	if g.appended < max(compactBytes, g.compact) {
		if len(f.grown) >= maxGrown {
			clear(f.grown)
		}
		f.grown[key] = g
		return f.Log.Add(sp, b)
	}
	c, err := f.read(sp)
	if err != nil {
		return err
	}
	if c.fired {
		// Not compacted: a snapshot could not tell what is not shown yet.
		return f.Log.Add(sp, b)
	}
	if err := c.apply(b); err != nil {
		return err
	}
	whole := c.snapshot(false)
	f.grown[key] = growth{compact: len(whole)}
	return f.rewrite(sp, whole)
}

// correct shows the corrections in b at once if the cell has fired, and leaves
// them in its log for the timer if it has not.
func (f *foldFn) correct(sp state.Provider, w windowfns.Window, b []byte, row emitRow, unshown emitUnshown) (fired bool, err error) {
	log, _, err := f.Log.Read(sp)
	if err != nil {
		return false, err
	}
	c, err := readCell(f.agg, log)
	if err != nil {
		return false, err
	}
	if !c.fired {
		return false, f.Log.Add(sp, b)
	}
	if err := c.apply(b); err != nil {
		return true, err
	}
	if err := f.fire(c, w, row, unshown); err != nil {
		return true, err
	}
	// Rewrite the log where its snapshots of single keys outweigh the first.
	size := 0
	for _, l := range log {
		size += len(l)
	}
	if size > 2*len(log[0])+compactBytes {
		return true, f.rewrite(sp, c.snapshot(false))
	}
	return true, f.Log.Add(sp, c.snapshot(true))
}

// OnTimer emits what a window has to show once its end has passed, and frees
// its state once the allowed lateness has passed too. It trusts the cell, not
// the timer: a timer can come twice.
func (f *foldFn) OnTimer(_ context.Context, _ beam.EventTime, sp state.Provider, tp timers.Provider, key string, t timers.Context, row emitRow, unshown emitUnshown, _ emitCount) error {
	delete(f.grown, key)
	switch t.Tag {
	case timerClose:
		return f.Log.Clear(sp)
	case timerEnd:
	default:
		return fmt.Errorf("aggregate: timer with unknown tag %q", t.Tag)
	}
	w, err := cellWindow(key)
	if err != nil {
		return err
	}
	c, err := f.read(sp)
	if err != nil || len(c.entries) == 0 {
		return err
	}
	if err := f.fire(c, w, row, unshown); err != nil {
		return err
	}
	if f.LatenessMs == 0 {
		return f.Log.Clear(sp)
	}
	end := w.EndMs + f.LatenessMs
	f.Timer.Set(tp, time.UnixMilli(end), timers.WithTag(timerClose), timers.WithOutputTimestamp(time.UnixMilli(end-1)))
	return f.rewrite(sp, c.snapshot(false))
}

func (f *foldFn) read(sp state.Provider) (*cell, error) {
	log, _, err := f.Log.Read(sp)
	if err != nil {
		return nil, err
	}
	return readCell(f.agg, log)
}

func (f *foldFn) rewrite(sp state.Provider, whole []byte) error {
	if err := f.Log.Clear(sp); err != nil {
		return err
	}
	return f.Log.Add(sp, whole)
}

func (f *foldFn) fire(c *cell, w windowfns.Window, row emitRow, unshown emitUnshown) error {
	at := mtime.Time(w.EndMs - 1)
	return c.fire(
		func(pane Pane, e *entry) error {
			r := Row{Key: e.key, StartMs: w.StartMs, EndMs: w.EndMs, Pane: pane, Revision: e.rows, Total: e.acc, Previous: e.shown}
			if f.render == nil {
				row(at, r)
				return nil
			}
			v, err := f.render.Render(&r)
			if err != nil {
				return err
			}
			row(at, v)
			return nil
		},
		func(pane Pane, e *entry, reason error) {
			unshown(at, Unshown{Key: e.key, StartMs: w.StartMs, EndMs: w.EndMs, Pane: pane, Total: e.acc, Reason: reason.Error()})
		})
}
