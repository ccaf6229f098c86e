package gate

import (
	"bytes"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

func init() {
	register.DoFn4x1[context.Context, int64, []byte, func(beam.EventTime, Passed, beam.X), error](&unpackFn{})
	register.Emitter3[beam.EventTime, Passed, beam.X]()
}

// unpack turns batches back into elements.
func unpack(s beam.Scope, plan intake.Plan, late bool, batches beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &unpackFn{Type: beam.EncodedType{T: plan.Type}, Windows: plan.Routing.Windows, Late: late}, batches,
		beam.TypeDefinition{Var: beam.XType, T: plan.Type})
}

type unpackFn struct {
	Type    beam.EncodedType
	Windows portable.Value // the grid, where items can stand for several windows
	Late    bool

	dec   beam.ElementDecoder
	grid  windowfns.Grid
	tally *tally.Tally
}

func (f *unpackFn) Setup() (err error) {
	f.dec = beam.NewElementDecoder(f.Type.T)
	f.tally = tally.Current()
	if f.Windows.Type.T != nil {
		f.grid, err = portable.As[windowfns.Grid](f.Windows)
	}
	return err
}

func (f *unpackFn) ProcessElement(ctx context.Context, _ int64, packed []byte, emit func(beam.EventTime, Passed, beam.X)) error {
	batch, err := routing.ReadBatch(packed)
	if err != nil {
		return err
	}
	n := int64(0)
	pass := func(w windowfns.Window, tMs int64, v any) {
		n++
		emit(mtime.Time(w.EndMs-1), Passed{StartMs: w.StartMs, EndMs: w.EndMs, TimeMs: tMs, Late: f.Late}, v)
	}
	var it routing.Item
	for batch.Next(&it) {
		v, err := f.dec.Decode(bytes.NewReader(it.Body))
		if err != nil {
			return err
		}
		if !it.Run {
			pass(batch.Window, it.TimeMs, v)
			continue
		}
		for end := batch.Window.EndMs; end <= it.OtherMs; end += f.grid.StepMs() {
			pass(f.grid.EndingAt(end), it.TimeMs, v)
		}
	}
	f.tally.Inc(ctx, tally.Added, n)
	if f.Late {
		f.tally.Inc(ctx, tally.Corrected, n)
	}
	return batch.Err()
}
