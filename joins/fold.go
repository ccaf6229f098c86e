package joins

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/flow"
	"tidemark/internal/remember"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/joins/interval"
)

type (
	emitJoined = func(beam.EventTime, beam.X)
	emitCount  = func(beam.EventTime, Count)
)

func init() {
	register.DoFn8x1[context.Context, state.Provider, timers.Provider, int64, []byte, emitJoined, routing.Emit, emitCount, error](&joinFn{})
	register.Emitter2[beam.EventTime, beam.X]()
	register.Emitter2[beam.EventTime, Count]()
	beam.RegisterType(reflect.TypeFor[Count]())
}

// joinFn joins the rows of a shard: it moves them between messages, cells and
// Beam's state and timers.
type joinFn struct {
	Types      elementTypes
	Fn         beam.EncodedFunc
	Type       Type
	Interval   interval.Interval
	LatenessMs int64
	MaxRows    int

	// Log0 to Log3 are the slots of the log of a cell, and Version names what they
	// hold; see store. State is in the global window and freed by the timers.
	Version state.Value[int64]
	Log0    state.Bag[[]byte]
	Log1    state.Bag[[]byte]
	Log2    state.Bag[[]byte]
	Log3    state.Bag[[]byte]
	Timer   timers.EventTime

	rules rules
	store store
	out   output
	ended [2]Count // of the bundle
	tally *tally.Tally
	flow  *flow.Meter
}

// Count is how many rows of a side a bundle has decided: those that have matched, and
// those that have not and can not any more. Counts are deltas: add up those of a side.
type Count struct {
	Right             bool // the side: right, or left
	Joined, Unmatched int64
}

func newJoinFn(types elementTypes, fn beam.EncodedFunc, cfg Config, iv interval.Interval) *joinFn {
	return &joinFn{
		Types: types, Fn: fn, Type: cfg.Type, Interval: iv, LatenessMs: cfg.AllowedLateness.Milliseconds(), MaxRows: cfg.MaxRowsPerKey,
		Version: state.MakeValueState[int64]("version"),
		Log0:    state.MakeBagState[[]byte]("log0"),
		Log1:    state.MakeBagState[[]byte]("log1"),
		Log2:    state.MakeBagState[[]byte]("log2"),
		Log3:    state.MakeBagState[[]byte]("log3"),
		Timer:   timers.InEventTime("done"),
	}
}

// Setup readies f on a worker.
func (f *joinFn) Setup() error {
	t, err := f.Type.traits()
	if err != nil {
		return err
	}
	f.rules = rules{traits: t, iv: [2]interval.Interval{left: f.Interval, right: f.Interval.Swap()}, latenessMs: f.LatenessMs, maxRows: f.MaxRows}
	f.store = store{f: f}
	f.tally, f.flow = tally.Current(), flow.Current()
	f.out = newOutput(f.Types, f.Fn)
	f.out.tally, f.out.limit = f.tally, f.MaxRows
	return nil
}

// StartBundle begins a bundle.
func (f *joinFn) StartBundle(emitJoined, routing.Emit, emitCount) {
	f.store.begin()
	f.ended = [2]Count{right: {Right: true}}
}

// FinishBundle ends one.
func (f *joinFn) FinishBundle(_ emitJoined, _ routing.Emit, count emitCount) {
	f.store.end()
	for _, c := range f.ended {
		if c.Joined+c.Unmatched > 0 {
			count(mtime.ZeroTimestamp, c)
		}
	}
}

func (f *joinFn) ProcessElement(ctx context.Context, sp state.Provider, tp timers.Provider, shard int64, msg []byte, emit emitJoined, over routing.Emit, _ emitCount) error {
	if len(msg) == 0 {
		return nil // it has held the watermark
	}
	f.flow.Taken(len(msg))
	h, err := f.store.open(sp, shard)
	if err != nil {
		return err
	}
	f.out.begin(emit)
	if err := h.take(msg, &f.out); err != nil {
		return err
	}
	for _, g := range h.agenda.takeChanged(f.store.number) {
		f.Timer.Set(tp, time.UnixMilli(g.ms), timers.WithTag(g.tag()), timers.WithOutputTimestamp(time.UnixMilli(g.holdMs)))
	}
	f.out.flushOver(shard, over)
	f.count(ctx, h)
	return h.save(inState{f, sp}, remember.NewVersion)
}

// OnTimer lets go of the rows that are done at the time that its tag says.
func (f *joinFn) OnTimer(ctx context.Context, _ beam.EventTime, sp state.Provider, _ timers.Provider, shard int64, t timers.Context, emit emitJoined, _ routing.Emit, _ emitCount) error {
	at, err := parseTag(t.Tag)
	if err != nil {
		return err
	}
	h, err := f.store.open(sp, shard)
	if err != nil {
		return err
	}
	f.out.begin(emit)
	if err := h.fire(at, f.store.number, &f.out); err != nil {
		return err
	}
	f.count(ctx, h)
	return h.save(inState{f, sp}, remember.NewVersion)
}

// count tells what a cell has counted.
func (f *joinFn) count(ctx context.Context, h *held) {
	for s, n := range h.counts {
		f.tally.Inc(ctx, tally.Added, n.taken)
		f.tally.Inc(ctx, tally.OverLimit, n.overLimit)
		side := &tally.Sides[s]
		f.tally.Inc(ctx, side.Joined, n.joined)
		f.tally.Inc(ctx, side.Unmatched, n.unmatched)
		f.tally.Inc(ctx, side.OverLimit, n.overLimit)
		f.ended[s].Joined += n.joined
		f.ended[s].Unmatched += n.unmatched
	}
	h.counts = [2]sideCounts{}
}

// output makes elements of what a cell has to say.
type output struct {
	fn   reflectx.Func3x1
	key  beam.ElementDecoder
	side [2]beam.ElementDecoder
	none [2]any // the nil pointer that stands for no row
	typ  [2]reflect.Type

	tally  *tally.Tally
	limit  int
	emit   emitJoined
	in     bytes.Reader
	keyRaw []byte
	keyVal any
	last   [2]struct {
		row   *row
		value any
	}

	over        []byte // packed records of what the cell has not taken
	overFirstMs int64  // the least time among them
	overRecord  []byte
}

func newOutput(types elementTypes, fn beam.EncodedFunc) output {
	o := output{fn: reflectx.ToFunc3x1(fn.Fn), key: beam.NewElementDecoder(types.Key.T)}
	for s, t := range types.sides() {
		o.side[s] = beam.NewElementDecoder(t)
		o.typ[s] = t
		o.none[s] = reflect.Zero(reflect.PointerTo(t)).Interface()
	}
	return o
}

func (o *output) begin(emit emitJoined) {
	o.emit, o.keyRaw = emit, nil
	o.last[left].row, o.last[right].row = nil, nil
	o.over, o.overFirstMs = nil, math.MaxInt64
}

func (o *output) pair(l, r *row, timeMs int64) error {
	lv, err := o.value(l)
	if err != nil {
		return err
	}
	rv := o.none[right]
	if r != nil {
		if rv, err = o.value(r); err != nil {
			return err
		}
	}
	return o.call(l.key(), lv, rv, timeMs)
}

func (o *output) unmatched(r *row) error {
	v, err := o.value(r)
	if err != nil {
		return err
	}
	if r.side == left {
		return o.call(r.key(), v, o.none[right], r.timeMs)
	}
	return o.call(r.key(), o.none[left], v, r.timeMs)
}

func (o *output) call(key []byte, l, r any, timeMs int64) error {
	if o.keyRaw == nil || !bytes.Equal(o.keyRaw, key) {
		o.in.Reset(key)
		v, err := o.key.Decode(&o.in)
		if err != nil {
			return err
		}
		o.keyRaw, o.keyVal = key, v
	}
	o.emit(mtime.Time(timeMs), o.fn.Call3x1(o.keyVal, l, r))
	return nil
}

// value is the pointer to the value of a row. The one that came last on a side is
// kept: a row that matches many is asked for again and again.
func (o *output) value(r *row) (any, error) {
	last := &o.last[r.side]
	if last.row == r {
		return last.value, nil
	}
	o.in.Reset(r.value())
	v, err := o.side[r.side].Decode(&o.in)
	if err != nil {
		return nil, err
	}
	p := reflect.New(o.typ[r.side])
	p.Elem().Set(reflect.ValueOf(v))
	last.row, last.value = r, p.Interface()
	return last.value, nil
}

func (o *output) overLimit(r *row) {
	o.blame(r)
	o.overRecord = append(append(o.overRecord[:0], byte(r.side)), r.entry...)
	o.over = routing.AppendLate(o.over, &routing.LateRecord{TimeMs: r.timeMs, All: true, Raw: o.overRecord})
	o.overFirstMs = min(o.overFirstMs, r.timeMs)
}

// blame tells people of a row that the cell has not taken. It is a courtesy: what
// cannot be decoded fails where it is needed.
func (o *output) blame(r *row) {
	o.in.Reset(r.key())
	if k, err := o.key.Decode(&o.in); err == nil {
		o.tally.Blame("key %q holds %d rows, the limit on a key: a %v one of the time %d ms is not joined", fmt.Sprint(k), o.limit, r.side, r.timeMs)
	}
}

// flushOver sends on what the cell has not taken.
func (o *output) flushOver(shard int64, to routing.Emit) {
	if len(o.over) > 0 {
		to(mtime.Time(o.overFirstMs), shard, o.over)
	}
}
