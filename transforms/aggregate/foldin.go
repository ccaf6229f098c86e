package aggregate

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
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
	Kind    byte
	DelayMs int64 // how far after the window's end the deadline of the block is
	Counted bool

	agg Aggregator
}

func (f *foldInFn) Setup() (err error) {
	f.agg, err = portable.As[Aggregator](f.Agg)
	return err
}

func (f *foldInFn) ProcessElement(shard int64, packed []byte, emit emitBlock) error {
	batch, err := routing.ReadBatch(packed)
	if err != nil {
		return err
	}
	b := block{blockKey: blockKey{kind: f.Kind}, counted: f.Counted, index: map[string]int{}}
	var it routing.Item
	for batch.Next(&it) {
		r := routing.NewReader(it.Body)
		key := r.Prefixed()
		if r.Err() != nil {
			return r.Err()
		}
		b.elements++
		if _, err := b.add(f.agg, key, r.Bytes(r.Len())); err != nil {
			return err
		}
	}
	emit(mtime.Time(batch.Window.EndMs-1+f.DelayMs), cellKey(shard, batch.Window), b.encode())
	return batch.Err()
}
