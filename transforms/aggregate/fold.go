package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/tally"
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

// foldFn keeps cells in the global window, whose state no runner clears, and
// emits their rows.
//
// Messages on time are appended unread. Others are looked at when they come: a
// correction may have to be shown at once, or wait for the timer of its window,
// because it came another way than the elements on time. The timer of a cell that
// does not exist yet is due at once where the end has passed.
//
// All timers say the same: the watermark has reached the time in their tag. What
// is due by then is up to the cell, so that a timer can come twice.
type foldFn struct {
	// Tail holds the messages since the log was read last, and Log what the
	// cell is without them. Version names what Log holds; see memory.
	Tail    state.Bag[[]byte]
	Log     state.Bag[[]byte]
	Version state.Value[int64]
	Timer   timers.EventTime

	Agg        portable.Value
	Windows    portable.Value
	LatenessMs int64
	EarlyCount int64
	Early      bool
	Final      bool
	Counted    bool

	rules  rules
	layout layout
	store  store
	render Renderer // nil where rows are of type Row
	tally  *tally.Tally
	counts counter
	ahead  []int64
}

// timersAhead is how many timers of a cell are set ahead. One that is set by
// another one costs a bundle.
const timersAhead = 128

func newFoldFn(agg portable.Value, plan intake.Plan, cfg Config, counted bool) *foldFn {
	return &foldFn{
		Tail:       state.MakeBagState[[]byte]("tail"),
		Log:        state.MakeBagState[[]byte]("log"),
		Version:    state.MakeValueState[int64]("version"),
		Timer:      timers.InEventTime("deadline"),
		Agg:        agg,
		Windows:    plan.Windows,
		LatenessMs: plan.Routing.LatenessMs,
		EarlyCount: int64(cfg.EarlyCount),
		Early:      cfg.EarlyCount > 0 || cfg.EarlyDelay > 0,
		Final:      cfg.FinalRows,
		Counted:    counted,
	}
}

// Setup readies f on a worker.
func (f *foldFn) Setup() (err error) {
	f.tally = tally.Current()
	f.rules = rules{latenessMs: f.LatenessMs, early: f.Early, earlyCount: f.EarlyCount, final: f.Final}
	if f.rules.agg, err = portable.As[Aggregator](f.Agg); err != nil {
		return err
	}
	f.render, _ = f.rules.agg.(Renderer)
	if f.layout, err = shippedLayout(f.Windows); err != nil {
		return err
	}
	f.store = newStore(f)
	return nil
}

// StartBundle begins the counts of a bundle.
func (f *foldFn) StartBundle(emitRow, emitUnshown, emitCount) {
	f.store.begin()
	if f.Counted {
		f.counts = newCounter(f.rules.agg, f.layout)
	}
}

// FinishBundle emits the counts of a bundle.
func (f *foldFn) FinishBundle(_ emitRow, _ emitUnshown, count emitCount) error {
	f.store.end()
	return f.counts.flush(count)
}

func (f *foldFn) ProcessElement(ctx context.Context, sp state.Provider, tp timers.Provider, key string, msg []byte, row emitRow, unshown emitUnshown, count emitCount) error {
	if len(msg) == 0 {
		return nil // it has held the watermark
	}
	s, err := f.layout.parse(key)
	if err != nil {
		return err
	}
	blind, first, err := f.scan(ctx, s, msg, count)
	if err != nil {
		return err
	}
	if s.gapMs > 0 {
		// What a session swallows is withdrawn at once, if it is known what it is. If
		// not, the next timer does it.
		blind = false
		if f.leaps() {
			warm, err := f.store.warm(sp, key)
			if err != nil {
				return err
			}
			blind = !warm
		}
	}
	if blind {
		h, err := f.store.append(sp, key, s, msg)
		if err != nil {
			return err
		}
		f.setTimer(tp, first)
		if h == nil {
			return nil
		}
		// There is nothing to show, unless something on time came for windows that
		// have fired.
		keep := h.keep
		if err := f.settle(sp, tp, h, noWatermark, row, unshown); err != nil {
			return err
		}
		h.keep = keep
		f.store.grown[key] = growth{compact: h.size}
		return nil
	}
	h, err := f.store.open(sp, key, s, noWatermark)
	if err != nil {
		return err
	}
	if err := h.take(bytes.Clone(msg), true); err != nil {
		return err
	}
	return f.settle(sp, tp, h, noWatermark, row, unshown)
}

// scan reads the headers of a message, counts its elements, and tells whether it
// can be appended unread, and the first end that it is for.
func (f *foldFn) scan(ctx context.Context, s span, msg []byte, count emitCount) (blind bool, firstMs int64, err error) {
	blind, firstMs = f.EarlyCount == 0, math.MaxInt64
	var added, corrected int64
	err = eachBlock(msg, func(h header, entries []byte) error {
		firstMs = min(firstMs, h.firstMs)
		pairs := h.elements
		if s.gapMs == 0 {
			pairs *= (h.lastMs-h.firstMs)/s.stepMs + 1
		}
		added += pairs
		kinds := []Kind{KindAdded}
		if h.kind != blockOnTime {
			blind = false
		}
		if h.kind == blockCorrection {
			corrected += pairs
			kinds = []Kind{KindAdded, KindCorrected}
		}
		if !f.Counted || h.kind == blockShow {
			return nil
		}
		add := func(r run, key, acc []byte, elements int64) error {
			for _, kind := range kinds {
				if err := f.counts.add(kind, r, key, acc, elements); err != nil {
					return err
				}
			}
			return nil
		}
		if s.gapMs > 0 {
			return eachStretch(entries, func(key []byte, st stretch) error {
				return add(run{startMs: st.startMs}, key, st.acc, st.elements)
			})
		}
		return eachEntry(entries, func(key []byte, elements int64, acc []byte) error {
			return add(s.run(h.firstMs, h.lastMs), key, acc, elements)
		})
	})
	f.tally.Inc(ctx, tally.Added, added)
	if corrected > 0 {
		f.tally.Inc(ctx, tally.Corrected, corrected)
	}
	if err == nil {
		err = f.counts.flushIfFull(count)
	}
	return blind, firstMs, err
}

// OnTimer emits what is due at the time that its tag says.
func (f *foldFn) OnTimer(_ context.Context, _ beam.EventTime, sp state.Provider, tp timers.Provider, key string, t timers.Context, row emitRow, unshown emitUnshown, _ emitCount) error {
	at, err := strconv.ParseInt(t.Tag, 36, 64)
	if err != nil {
		return fmt.Errorf("aggregate: timer with unknown tag %q", t.Tag)
	}
	s, err := f.layout.parse(key)
	if err != nil {
		return err
	}
	h, err := f.store.open(sp, key, s, at)
	if err != nil {
		return err
	}
	return f.settle(sp, tp, h, at, row, unshown)
}

// settle emits what is due in a cell, keeps what is left of it, and sets its next
// timers.
func (f *foldFn) settle(sp state.Provider, tp timers.Provider, h *held, ms int64, row emitRow, unshown emitUnshown) error {
	if ms <= h.reached() && !h.news && h.drained {
		return nil // another timer has done it
	}
	h.keep = true
	if err := h.cell.settle(ms, &rowsOut{f.render, row, unshown}); err != nil {
		return err
	}
	f.ahead = h.deadlines(f.ahead[:0], timersAhead)
	for _, at := range f.ahead {
		if _, ok := slices.BinarySearch(h.timers, at); !ok {
			f.setTimer(tp, at)
		}
	}
	h.timers = append(h.timers[:0], f.ahead...)

	if f.leaps() && h.version != 0 && !h.news && h.drained && ms <= h.set && !h.empty() {
		return nil
	}
	h.set = noWatermark
	if n := len(f.ahead); n > 0 {
		h.set = f.ahead[n-1]
	}
	return f.store.save(sp, h)
}

// leaps reports whether the log need not follow the watermark from timer to timer
// of a bundle where nothing else is new: the next timer tells how far it has come,
// see store.load. That is not so where a cell can be opened without a timer.
func (f *foldFn) leaps() bool { return f.LatenessMs == 0 && !f.Early }

func (f *foldFn) setTimer(tp timers.Provider, atMs int64) {
	f.Timer.Set(tp, time.UnixMilli(atMs), timers.WithTag(strconv.FormatInt(atMs, 36)), timers.WithOutputTimestamp(time.UnixMilli(atMs-1)))
}

// rowsOut emits what a cell shows.
type rowsOut struct {
	render  Renderer
	emit    emitRow
	refused emitUnshown
}

func (o *rowsOut) row(r *Row) error {
	at := mtime.Time(r.EndMs - 1)
	if o.render == nil {
		o.emit(at, *r)
		return nil
	}
	v, err := o.render.Render(r)
	if err != nil {
		return err
	}
	o.emit(at, v)
	return nil
}

func (o *rowsOut) unshown(u *Unshown) { o.refused(mtime.Time(u.EndMs-1), *u) }

// newCell makes a cell without anything in it.
func (f *foldFn) newCell(s span) cell {
	if s.gapMs > 0 {
		return newSessionCell(f.rules, s.gapMs)
	}
	return newWindowCell(f.rules, s)
}
