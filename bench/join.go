package main

import (
	"context"
	"encoding/binary"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
)

// joinRow is an element of either side of a join.
type joinRow struct {
	Mark int64
	ID   int64
}

// WatermarkMs is the watermark of the source.
func (t joinRow) WatermarkMs() int64 { return t.Mark }

// bareRow is one without its mark.
type bareRow struct{ ID int64 }

type emitJoinRow = func(beam.EventTime, string, joinRow)

func init() {
	register.DoFn5x1[*watermark, *sdf.LockRTracker, []byte, emitJoinRow, emitJoinRow, sdf.ProcessContinuation](&joinRowsFn{})
	register.Emitter3[beam.EventTime, string, joinRow]()
	register.DoFn5x1[beam.EventTime, state.Provider, string, sided, func(int64), error](&plainJoinFn{})
	register.Emitter1[int64]()
	register.Function2x2(onLeft)
	register.Function2x2(onRight)
	register.Function2x2(bare)
	register.Function3x1(idsOf)
	register.Function3x1(idsOfBare)
	for _, t := range []reflect.Type{reflect.TypeFor[joinRow](), reflect.TypeFor[bareRow](), reflect.TypeFor[sided]()} {
		beam.RegisterType(t)
	}
}

// joinRowsFn generates both sides of a join in memory: rows Step apart, each left row
// with a match Offset rows later. With Every, only one right row of so many is there
// in time, and the others a millisecond later. It checkpoints itself every Chunk rows
// of a side.
type joinRowsFn struct {
	rangeFn
	Rows   int64
	Keys   int64
	Step   time.Duration
	Offset int64
	Every  int64
	Chunk  int64

	orders ordersFn
}

func (f *joinRowsFn) Setup() {
	f.orders.Companies = f.Keys
	f.orders.Setup()
}

func (f *joinRowsFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: f.Rows}
}

func (f *joinRowsFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return startMs - 1
}

// keyOf is the key of left row i, and of right row i + Offset: all keys in turn,
// scattered by a multiplier that is prime to their number.
func (f *joinRowsFn) keyOf(i int64) string {
	return f.orders.names[((i*7919)%f.Keys+f.Keys)%f.Keys]
}

func (f *joinRowsFn) ProcessElement(wm *watermark, rt *sdf.LockRTracker, _ []byte, l, r emitJoinRow) sdf.ProcessContinuation {
	i := rt.GetRestriction().(offsetrange.Restriction).Start
	for range f.Chunk {
		if !rt.TryClaim(i) {
			return sdf.StopProcessing()
		}
		t := startMs + i*f.Step.Milliseconds()
		l(mtime.Time(t), f.keyOf(i), joinRow{wm.ms, i})
		at := t
		if !f.meets(i) {
			at++
		}
		r(mtime.Time(at), f.keyOf(i-f.Offset), joinRow{wm.ms, i})
		wm.ms = t
		i++
	}
	return sdf.ResumeProcessingIn(0)
}

// read adds the source: both sides, PCollection<KV<string, joinRow>>.
func (f joinRowsFn) read(s beam.Scope) (l, r beam.PCollection) {
	return beam.ParDo2(s, &f, beam.Impulse(s))
}

// meets reports whether right row i is there in time.
func (f joinRowsFn) meets(i int64) bool { return f.Every == 0 || i%f.Every == 0 }

// want is the sum of the ids of all matches.
func (f joinRowsFn) want() (sum int64) {
	for i := range f.Rows - f.Offset {
		if f.meets(i + f.Offset) {
			sum += 2*i + f.Offset
		}
	}
	return sum
}

func idsOf(_ string, l, r *joinRow) (sum int64) {
	if l != nil {
		sum += l.ID
	}
	if r != nil {
		sum += r.ID
	}
	return sum
}

func idsOfBare(_ string, l, r *bareRow) int64 { return l.ID + r.ID }

func bare(k string, t joinRow) (string, bareRow) { return k, bareRow{t.ID} }

// sided is a row of a plain join.
type sided struct {
	Right bool
	ID    int64
}

func onLeft(k string, t joinRow) (string, sided) { return k, sided{false, t.ID} }

func onRight(k string, t joinRow) (string, sided) { return k, sided{true, t.ID} }

// plainJoinFn is what a Beam Go user would write: rows of each side in a bag, and
// every row looks through the other one.
type plainJoinFn struct {
	Left, Right      state.Bag[[]byte]
	LowerMs, UpperMs int64
}

func (f *plainJoinFn) ProcessElement(et beam.EventTime, sp state.Provider, _ string, v sided, emit func(int64)) error {
	mine, others := f.Left, f.Right
	if v.Right {
		mine, others = others, mine
	}
	rows, _, err := others.Read(sp)
	if err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(et))
	if err := mine.Add(sp, binary.BigEndian.AppendUint64(b, uint64(v.ID))); err != nil {
		return err
	}
	for _, b := range rows {
		d := int64(binary.BigEndian.Uint64(b)) - int64(et)
		if v.Right {
			d = -d
		}
		if f.LowerMs <= d && d <= f.UpperMs {
			emit(v.ID + int64(binary.BigEndian.Uint64(b[8:])))
		}
	}
	return nil
}

// joinInMemory compares an interval join of about one match a row with a plain one.
// The plain one has fewer rows, and of each key as many in the interval.
func joinInMemory(ctx context.Context, o options) error {
	src := joinRowsFn{Rows: o.events, Keys: o.keys, Step: o.span / time.Duration(o.events), Chunk: o.chunk}
	src.Offset = int64(o.window/src.Step) / 2
	few := src
	few.Rows = min(o.plainRows, src.Rows)
	cfg := joins.Config{Upper: o.window, Shards: o.shards, Type: joins.Type(o.joinType)}

	enter := func(name string, src joinRowsFn, build func(s beam.Scope, l, r beam.PCollection) beam.PCollection) entrant {
		return entrant{name: name, events: 2 * src.Rows, want: src.want(), run: func() (outcome, error) {
			return play(ctx, func(s beam.Scope) {
				l, r := src.read(s)
				discard(s, build(s, l, r))
			})
		}}
	}
	_, err := contest(o,
		enter("plain", few, func(s beam.Scope, l, r beam.PCollection) beam.PCollection {
			fn := &plainJoinFn{Left: state.MakeBagState[[]byte]("left"), Right: state.MakeBagState[[]byte]("right"), UpperMs: o.window.Milliseconds()}
			return beam.ParDo(s, fn, beam.Flatten(s, beam.ParDo(s, onLeft, l), beam.ParDo(s, onRight, r)))
		}),
		enter("tidemark", src, func(s beam.Scope, l, r beam.PCollection) beam.PCollection {
			cfg := cfg
			cfg.Watermarked = true
			return joins.Interval(s, cfg, idsOf, l, r).Rows
		}),
		enter("tidemark-unmarked", src, func(s beam.Scope, l, r beam.PCollection) beam.PCollection {
			return joins.Interval(s, cfg, idsOfBare, beam.ParDo(s, bare, l), beam.ParDo(s, bare, r)).Rows
		}),
	)
	return err
}
