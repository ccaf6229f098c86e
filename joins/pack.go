package joins

import (
	"bytes"
	"context"
	"math/rand/v2"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"tidemark/internal/flow"
	"tidemark/internal/intake"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/joins/interval"
)

type emitKeyed = func(beam.EventTime, beam.X, beam.Y)

func init() {
	register.DoFn7x1[context.Context, beam.EventTime, beam.X, beam.Y, routing.Emit, routing.Emit, emitKeyed, error](&packFn{})
	register.DoFn3x1[int64, []byte, routing.Emit, error](&unpackFn{})
	register.Emitter3[beam.EventTime, beam.X, beam.Y]()
}

// flushBytes is how much is packed before it is sent on, so that a bundle as large
// as a file does not grow with it.
const flushBytes = 4 << 20

// packFn packs the elements of a side for the cells: what is in time by its mark
// for the cells, what is not for the gate, or out as late.
type packFn struct {
	Side        byte
	Types       elementTypes
	Shards      int
	Routing     routing.Config
	Marked      bool // elements have marks
	MarksDecide bool // and what is late by them is late

	key, value beam.ElementEncoder
	raw        bytes.Buffer
	entry      []byte
	out        messages
	gated      routing.Bulk
	assigned   int64
	late       int64
	tally      *tally.Tally
}

// Setup readies f on a worker.
func (f *packFn) Setup() {
	f.key, f.value = beam.NewElementEncoder(f.Types.Key.T), beam.NewElementEncoder(f.Types.sides()[f.Side])
	f.tally, f.out.flow = tally.Current(), flow.Current()
}

func (f *packFn) StartBundle(routing.Emit, routing.Emit, emitKeyed) {
	f.out.reset()
	f.gated = routing.Bulk{}
	f.assigned, f.late = 0, 0
}

func (f *packFn) FinishBundle(ctx context.Context, to, suspects routing.Emit, _ emitKeyed) {
	f.flush(to, suspects)
	f.tally.Inc(ctx, tally.Assigned, f.assigned)
	f.tally.Inc(ctx, tally.Late, f.late)
	side := &tally.Sides[f.Side]
	f.tally.Inc(ctx, side.Assigned, f.assigned)
	f.tally.Inc(ctx, side.Late, f.late)
}

func (f *packFn) flush(to, suspects routing.Emit) {
	f.out.emitMarked(to)
	f.gated.Flush(f.Routing, suspects)
}

func (f *packFn) ProcessElement(_ context.Context, et beam.EventTime, k beam.X, v beam.Y, to, suspects routing.Emit, late emitKeyed) error {
	tMs := int64(et)
	if err := intake.CheckTime(tMs); err != nil {
		return err
	}
	mark := int64(intake.Unmarked)
	if f.Marked {
		mark = v.(Marked).WatermarkMs()
		if err := intake.CheckMark(mark); err != nil {
			return err
		}
	}
	f.assigned++
	isLate := mark >= interval.LateAt(tMs, f.Routing.LatenessMs)
	if isLate && f.MarksDecide {
		f.late++
		late(et, k, v)
		return nil
	}

	f.raw.Reset()
	if err := f.key.Encode(k, &f.raw); err != nil {
		return err
	}
	n := f.raw.Len()
	if err := f.value.Encode(v, &f.raw); err != nil {
		return err
	}
	key, value := f.raw.Bytes()[:n], f.raw.Bytes()[n:]
	shard := int64(xxhash.Sum64(key) % uint64(f.Shards))
	full := false
	if isLate {
		f.entry = appendEntry(append(f.entry[:0], f.Side), key, value)
		full = f.gated.Add(f.Routing, shard, tMs, f.entry)
	} else {
		f.entry = appendEntry(f.entry[:0], key, value)
		full = f.out.add(side(f.Side), shard, tMs, max(mark, lowMs), f.entry)
	}
	if full {
		f.flush(to, suspects)
	}
	return nil
}

// messages collects rows for the cells.
type messages struct {
	all   map[messageKey]*message
	sizes map[messageKey]int // of the messages before
	size  int
	flow  *flow.Meter
}

type messageKey struct {
	shard int64
	side  side
}

// add adds a row, and reports whether it is time to emit.
func (m *messages) add(s side, shard, tMs, stampMs int64, entry []byte) (full bool) {
	k := messageKey{shard, s}
	msg := m.all[k]
	if msg == nil {
		if m.all == nil {
			m.all = map[messageKey]*message{}
		}
		// About as much comes as the last time.
		msg = &message{b: make([]byte, 0, m.sizes[k]+m.sizes[k]/8)}
		m.all[k] = msg
	}
	m.size += len(entry) + 8
	msg.add(tMs, stampMs, entry)
	return m.size >= flushBytes
}

// In flight a message holds the watermark at its stamp, and the rows in it are in
// time where that is not past them. But Prism hands a stateful DoFn nothing that is
// stamped behind a timer of the same key that is not due: stamped with the times of
// its rows, a message would wait until all rows before them are done. And what is
// stamped far behind the watermark keeps it from moving, so that behind a fast source
// nothing is ever done.

// emitMarked sends on messages whose rows were added with their marks. The watermark
// is not above the least of them, and will get there whatever becomes of the message.
func (m *messages) emitMarked(to routing.Emit) {
	for k, msg := range m.all {
		to(mtime.Time(msg.firstMs), k.shard, m.seal(k, msg))
	}
	m.reset()
}

// lowMs is below every timer of the join.
const lowMs = intake.MinTimeMs - interval.MaxBoundMs - 1

// emitGated sends on messages whose rows were added with the last watermark that they
// are in time for. How far the watermark is below that is unknown, so that two are
// sent: the message, which no timer holds up, and behind it an empty one, which holds
// the watermark until it has come after the message.
func (m *messages) emitGated(to routing.Emit) {
	for k, msg := range m.all {
		to(mtime.Time(lowMs), k.shard, m.seal(k, msg))
		to(mtime.Time(msg.firstMs), k.shard, nil)
	}
	m.reset()
}

func (m *messages) seal(k messageKey, msg *message) []byte {
	if m.sizes == nil || len(m.sizes) > maxSizes {
		m.sizes = map[messageKey]int{}
	}
	b := msg.seal(k.side, rand.Uint64())
	m.sizes[k] = len(b)
	m.flow.Sent(len(b))
	return b
}

func (m *messages) reset() { m.all, m.size = nil, 0 }

// maxSizes bounds the messages whose sizes are known.
const maxSizes = 1 << 12

// unpackFn stands behind the gate and packs what is in time for the cells.
type unpackFn struct {
	DelayMs int64 // how far behind its time a row may come: 0, or the allowed lateness

	out messages
}

// Setup readies f on a worker.
func (f *unpackFn) Setup() { f.out.flow = flow.Current() }

func (f *unpackFn) StartBundle(routing.Emit) { f.out.reset() }

func (f *unpackFn) FinishBundle(to routing.Emit) { f.out.emitGated(to) }

func (f *unpackFn) ProcessElement(shard int64, packed []byte, to routing.Emit) error {
	batch, err := routing.ReadBatch(packed)
	if err != nil {
		return err
	}
	full := false
	var it routing.Item
	for batch.Next(&it) {
		full = f.out.add(side(it.Body[0]), shard, it.TimeMs, it.TimeMs+f.DelayMs, it.Body[1:]) || full
	}
	if full {
		f.out.emitGated(to)
	}
	return batch.Err()
}
