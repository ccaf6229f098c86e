package aggregate

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/portable"
	"tidemark/internal/routing"
)

func init() {
	register.DoFn3x1[int64, []byte, emitBlock, error](&foldInFn{})
}

// foldInFn aggregates a batch that passed the gate into a block.
type foldInFn struct {
	Agg     portable.Value
	Windows portable.Value
	Kind    byte
	Delayed bool  // EARLY rows are asked for by delay
	DelayMs int64 // how far after the window's end the deadline of the block is

	agg    Aggregator
	layout layout
}

func (f *foldInFn) Setup() (err error) {
	if f.agg, err = portable.As[Aggregator](f.Agg); err != nil {
		return err
	}
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *foldInFn) ProcessElement(shard int64, packed []byte, emit emitBlock) error {
	batch, err := routing.ReadBatch(packed)
	if err != nil {
		return err
	}
	blocks := f.layout.newMessages(f.Delayed)
	var it routing.Item
	for batch.Next(&it) {
		r := routing.NewReader(it.Body)
		key := r.Prefixed()
		if r.Err() != nil {
			return r.Err()
		}
		k := blockKey{kind: f.Kind, shard: shard, startMs: batch.Window.StartMs, firstMs: batch.Window.EndMs, lastMs: it.OtherMs}
		if err := blocks.add(f.agg, k, key, r.Bytes(r.Len())); err != nil {
			return err
		}
	}
	if err := batch.Err(); err != nil {
		return err
	}
	blocks.emitGated(f.DelayMs, emit)
	return nil
}
