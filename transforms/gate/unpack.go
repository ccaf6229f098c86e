package gate

import (
	"bytes"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
)

func init() {
	register.DoFn4x1[context.Context, int64, []byte, func(beam.EventTime, Passed, beam.X), error](&unpackFn{})
	register.Emitter3[beam.EventTime, Passed, beam.X]()
}

// unpack turns batches back into elements.
func unpack(s beam.Scope, plan intake.Plan, late bool, batches beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &unpackFn{Type: beam.EncodedType{T: plan.Type}, Late: late}, batches,
		beam.TypeDefinition{Var: beam.XType, T: plan.Type})
}

type unpackFn struct {
	Type beam.EncodedType
	Late bool

	dec   beam.ElementDecoder
	tally *tally.Tally
}

func (f *unpackFn) Setup() {
	f.dec = beam.NewElementDecoder(f.Type.T)
	f.tally = tally.Current()
}

func (f *unpackFn) ProcessElement(ctx context.Context, _ int64, packed []byte, emit func(beam.EventTime, Passed, beam.X)) error {
	batch, err := routing.ReadBatch(packed)
	if err != nil {
		return err
	}
	w := batch.Window
	n := int64(0)
	var it routing.Item
	for batch.Next(&it) {
		v, err := f.dec.Decode(bytes.NewReader(it.Body))
		if err != nil {
			return err
		}
		n++
		emit(mtime.Time(w.EndMs-1), Passed{StartMs: w.StartMs, EndMs: w.EndMs, TimeMs: it.TimeMs, Late: f.Late}, v)
	}
	f.tally.Inc(ctx, tally.Added, n)
	if f.Late {
		f.tally.Inc(ctx, tally.Corrected, n)
	}
	return batch.Err()
}
