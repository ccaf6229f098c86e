package intake

import (
	"bytes"
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

func init() {
	register.DoFn4x1[context.Context, int64, []byte, func(beam.EventTime, Missed, beam.X), error](&lateFn{})
	register.Emitter3[beam.EventTime, Missed, beam.X]()
	beam.RegisterType(reflect.TypeFor[Missed]())
}

// Missed says which windows an element was too late for.
type Missed struct {
	TimeMs  int64              // the element's timestamp
	Windows []windowfns.Window // by ascending end, at least one
	All     bool               // it missed every window that it has
}

// Late turns packed late records back into elements of type t:
// PCollection<KV<Missed, T>>, each at the timestamp of its element.
func Late(s beam.Scope, t reflect.Type, packed beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &lateFn{Type: beam.EncodedType{T: t}}, packed, beam.TypeDefinition{Var: beam.XType, T: t})
}

// LateRecords gathers the records of elements that are late by their marks, in a
// bundle of a packing DoFn.
type LateRecords struct {
	packed   []byte
	oldestMs int64
}

// lateFlushBytes is how much is packed before it is sent on.
const lateFlushBytes = 4 << 20

// Add adds a copy of rec, and reports whether it is time to [LateRecords.Flush].
func (l *LateRecords) Add(rec *routing.LateRecord) (full bool) {
	if len(l.packed) == 0 || rec.TimeMs < l.oldestMs {
		l.oldestMs = rec.TimeMs
	}
	l.packed = routing.AppendLate(l.packed, rec)
	return len(l.packed) >= lateFlushBytes
}

// Flush sends what there is, in the form that [Late] takes.
func (l *LateRecords) Flush(emit routing.Emit) {
	if len(l.packed) > 0 {
		emit(mtime.Time(l.oldestMs), 0, l.packed)
		l.packed = nil
	}
}

type lateFn struct {
	Type beam.EncodedType

	dec   beam.ElementDecoder
	tally *tally.Tally
}

func (f *lateFn) Setup() {
	f.dec = beam.NewElementDecoder(f.Type.T)
	f.tally = tally.Current()
}

func (f *lateFn) ProcessElement(ctx context.Context, _ int64, packed []byte, emit func(beam.EventTime, Missed, beam.X)) error {
	var pairs int64
	err := routing.ReadLate(packed, func(rec *routing.LateRecord) error {
		v, err := f.dec.Decode(bytes.NewReader(rec.Raw))
		if err != nil {
			return err
		}
		pairs += int64(len(rec.Missed))
		emit(mtime.Time(rec.TimeMs), Missed{TimeMs: rec.TimeMs, Windows: slices.Clone(rec.Missed), All: rec.All}, v)
		return nil
	})
	f.tally.Inc(ctx, tally.Late, pairs)
	return err
}
