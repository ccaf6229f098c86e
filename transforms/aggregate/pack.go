package aggregate

import (
	"bytes"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

// emitBlock sends a block to the cell of its key.
type emitBlock = func(beam.EventTime, string, []byte)

func init() {
	register.DoFn5x1[beam.EventTime, beam.X, emitBlock, routing.Emit, emitCount, error](&packFn{})
	register.DoFn6x1[beam.EventTime, int64, beam.X, emitBlock, routing.Emit, emitCount, error](&packMarkedFn{})
	register.DoFn6x1[beam.EventTime, intake.Origin, beam.X, emitBlock, routing.Emit, emitCount, error](&packPlacedFn{})
	register.Emitter3[beam.EventTime, string, []byte]()
}

// pack returns blocks of what is surely in time, KV<string cell, []byte>,
// batches for the gate, and, where counted is set, counts of what was assigned.
func pack(s beam.Scope, plan intake.Plan, agg portable.Value, counted bool) (direct, suspects, assigned beam.PCollection) {
	p := packer{Intake: intake.NewReader(plan), Agg: agg, Counted: counted}
	switch plan.Form {
	case intake.Marked:
		return beam.ParDo3(s, &packMarkedFn{packer: p}, plan.Col)
	case intake.Placed:
		return beam.ParDo3(s, &packPlacedFn{packer: p}, plan.Col)
	default:
		return beam.ParDo3(s, &packFn{packer: p}, plan.Col)
	}
}

type packFn struct{ packer }

func (f *packFn) ProcessElement(et beam.EventTime, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	windows, err := f.Intake.Windows(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, intake.Unmarked, windows, direct, suspects, count)
}

type packMarkedFn struct{ packer }

func (f *packMarkedFn) ProcessElement(et beam.EventTime, mark int64, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	if err := intake.CheckMark(mark); err != nil {
		return err
	}
	windows, err := f.Intake.Windows(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, mark, windows, direct, suspects, count)
}

// packPlacedFn takes an element once for each of its windows, as Beam hands
// them out, and puts them together again.
type packPlacedFn struct {
	packer
	whole intake.Regrouper
}

func (f *packPlacedFn) ProcessElement(et beam.EventTime, o intake.Origin, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	done, err := f.whole.Add(&f.Intake, int64(et), o, v)
	if err != nil || done == nil {
		return err
	}
	return f.add(done.TimeMs, done.Elem, done.MarkMs, done.Windows, direct, suspects, count)
}

func (f *packPlacedFn) StartBundle(direct emitBlock, suspects routing.Emit, count emitCount) {
	f.whole = intake.Regrouper{}
	f.packer.StartBundle(direct, suspects, count)
}

func (f *packPlacedFn) FinishBundle(ctx context.Context, direct emitBlock, suspects routing.Emit, count emitCount) error {
	if e := f.whole.Flush(); e != nil {
		if err := f.add(e.TimeMs, e.Elem, e.MarkMs, e.Windows, direct, suspects, count); err != nil {
			return err
		}
	}
	f.packer.FinishBundle(ctx, direct, suspects, count)
	return nil
}

// packer aggregates and packs the elements of a bundle.
type packer struct {
	Intake  intake.Reader
	Agg     portable.Value
	Counted bool

	agg      Aggregator
	key, acc []byte
	body     []byte
	raw      bytes.Buffer
	gated    routing.Packer
	blocks   map[blockKey]*block
	last     []*block // by shard, to save the map
	spare    []*block // empty ones, to be used again
	size     int
	assigned int64
	counts   counter
}

// flushBytes is how much a packer aggregates before it flushes, so that a
// bundle as large as a file does not grow with it.
const flushBytes = 32 << 20

func (p *packer) Setup() (err error) {
	if p.agg, err = portable.As[Aggregator](p.Agg); err != nil {
		return err
	}
	return p.Intake.Setup()
}

func (p *packer) StartBundle(emitBlock, routing.Emit, emitCount) {
	if p.blocks == nil {
		p.blocks, p.last = map[blockKey]*block{}, make([]*block, p.Intake.Shards)
	}
	clear(p.blocks)
	clear(p.last)
	p.gated = routing.Packer{}
	p.size, p.assigned = 0, 0
	if p.Counted {
		p.counts = newCounter(p.agg)
	}
}

func (p *packer) FinishBundle(ctx context.Context, direct emitBlock, suspects routing.Emit, count emitCount) {
	p.flush(direct)
	p.Intake.FlushSuspects(&p.gated, suspects)
	p.counts.flush(count)
	p.Intake.Tally.Inc(ctx, tally.Assigned, p.assigned)
}

func (p *packer) add(tMs int64, v any, mark int64, windows []windowfns.Window, direct emitBlock, suspects routing.Emit, count emitCount) (err error) {
	if p.key, p.acc, err = p.agg.Lift(v, tMs, p.key[:0], p.acc[:0]); err != nil {
		return err
	}
	shard := int64(xxhash.Sum64(p.key) % uint64(p.Intake.Shards))
	p.assigned += int64(len(windows))
	if p.counts.on() {
		for _, w := range windows {
			if err := p.counts.add(KindAssigned, w, p.key, p.acc, 1); err != nil {
				return err
			}
		}
		p.counts.flushIfFull(count)
	}

	// Windows come by ascending end: the doubtful ones are the first few.
	doubtful := 0
	for _, w := range windows {
		switch {
		case mark < w.EndMs:
			err = p.aggregate(blockOnTime, shard, w)
		case mark < w.EndMs+p.Intake.Routing.LatenessMs:
			err = p.aggregate(blockCorrection, shard, w)
		default:
			doubtful++
		}
		if err != nil {
			return err
		}
	}
	if p.size >= flushBytes {
		p.flush(direct)
	}
	if doubtful == 0 {
		return nil
	}

	p.body = append(routing.AppendPrefixed(p.body[:0], p.key), p.acc...)
	p.raw.Reset()
	if err := p.Intake.Encode(v, &p.raw); err != nil {
		return err
	}
	if p.Intake.Gate(&p.gated, shard, windows[:doubtful], routing.Item{
		TimeMs: tMs, Windows: len(windows), Body: p.body, Raw: p.raw.Bytes(),
	}) {
		p.Intake.FlushSuspects(&p.gated, suspects)
	}
	return nil
}

func (p *packer) aggregate(kind byte, shard int64, w windowfns.Window) error {
	k := blockKey{kind, shard, w}
	b := p.last[shard]
	if b == nil || b.blockKey != k {
		if b = p.blocks[k]; b == nil {
			b = p.newBlock(k)
			p.blocks[k] = b
			p.size += 256
		}
		p.last[shard] = b
	}
	b.elements++
	grown, err := b.add(p.agg, p.key, p.acc)
	p.size += grown
	return err
}

// maxSpare bounds the blocks that are kept for use in the next bundle.
const maxSpare = 32

func (p *packer) newBlock(k blockKey) *block {
	n := len(p.spare) - 1
	if n < 0 {
		return &block{blockKey: k, counted: p.Counted, index: map[string]int{}}
	}
	b := p.spare[n]
	p.spare = p.spare[:n]
	clear(b.index)
	clear(b.keys)
	*b = block{blockKey: k, counted: p.Counted, index: b.index, keys: b.keys[:0], accs: b.accs[:0], perKey: b.perKey[:0]}
	return b
}

func (p *packer) flush(direct emitBlock) {
	for k, b := range p.blocks {
		stamp := k.w.EndMs - 1
		if k.kind == blockCorrection {
			stamp += p.Intake.Routing.LatenessMs
		}
		direct(mtime.Time(stamp), cellKey(k.shard, k.w), b.encode())
		if len(p.spare) < maxSpare {
			p.spare = append(p.spare, b)
		}
	}
	clear(p.blocks)
	clear(p.last)
	p.size = 0
}
