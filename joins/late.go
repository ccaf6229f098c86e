package joins

import (
	"bytes"
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/routing"
	"tidemark/internal/tally"
)

type emitOther = func(beam.EventTime, beam.X, beam.Z)

func init() {
	register.DoFn5x1[context.Context, int64, []byte, emitKeyed, emitOther, error](&recordsFn{})
	register.Emitter3[beam.EventTime, beam.X, beam.Z]()
}

// elementTypes are the types of the elements of a join.
type elementTypes struct{ Key, Left, Right beam.EncodedType }

func (t elementTypes) sides() [2]reflect.Type {
	return [2]reflect.Type{left: t.Left.T, right: t.Right.T}
}

// recordsFn turns packed records of elements back into elements of both sides,
// each at its own time.
type recordsFn struct {
	Types elementTypes
	Late  bool // they are late, and are counted as such

	key   beam.ElementDecoder
	sides [2]beam.ElementDecoder
	tally *tally.Tally
}

// elements adds a recordsFn.
func elements(s beam.Scope, types elementTypes, late bool, packed beam.PCollection) (l, r beam.PCollection) {
	return beam.ParDo2(s, &recordsFn{Types: types, Late: late}, packed,
		beam.TypeDefinition{Var: beam.XType, T: types.Key.T},
		beam.TypeDefinition{Var: beam.YType, T: types.Left.T},
		beam.TypeDefinition{Var: beam.ZType, T: types.Right.T})
}

func (f *recordsFn) Setup() {
	f.key = beam.NewElementDecoder(f.Types.Key.T)
	for s, t := range f.Types.sides() {
		f.sides[s] = beam.NewElementDecoder(t)
	}
	f.tally = tally.Current()
}

func (f *recordsFn) ProcessElement(ctx context.Context, _ int64, packed []byte, l emitKeyed, r emitOther) error {
	var n [2]int64
	err := routing.ReadLate(packed, func(rec *routing.LateRecord) error {
		s := side(rec.Raw[0])
		entry := rec.Raw[1:]
		at, end, err := splitEntry(entry)
		if err != nil {
			return err
		}
		k, err := f.key.Decode(bytes.NewReader(entry[at:end]))
		if err != nil {
			return err
		}
		v, err := f.sides[s].Decode(bytes.NewReader(entry[end:]))
		if err != nil {
			return err
		}
		n[s]++
		if s == left {
			l(mtime.Time(rec.TimeMs), k, v)
		} else {
			r(mtime.Time(rec.TimeMs), k, v)
		}
		return nil
	})
	if f.Late {
		f.tally.Inc(ctx, tally.Late, n[left]+n[right])
		for s := range n {
			f.tally.Inc(ctx, tally.Sides[s].Late, n[s])
		}
	}
	return err
}
