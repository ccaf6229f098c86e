package routing

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// flushBytes is how much a [Packer] holds before it says that it is full, so
// that a bundle as large as a file does not grow with it.
const flushBytes = 8 << 20

// Packer collects the elements of a bundle that have to pass a gate, one batch
// for each shard and window. It is not safe for concurrent use. The zero value
// is ready.
type Packer struct {
	batches map[batchKey]*[]byte
	nonce   uint64
	seq     uint64
	size    int
}

type batchKey struct {
	shard int64
	w     windowfns.Window
}

// Emit sends a batch on; the time is the output timestamp.
type Emit = func(beam.EventTime, int64, []byte)

// packerFor returns a Packer for elements that have their numbers already.
func packerFor(nonce uint64) Packer {
	return Packer{batches: map[batchKey]*[]byte{}, nonce: nonce}
}

// NextSeq returns a number for an element with several probes, unique for the
// nonce of the batches that it goes into.
func (p *Packer) NextSeq() uint64 {
	p.seq++
	return p.seq
}

// Add puts a copy of an element into the batch of shard and w, and reports
// whether it is time to [Packer.Flush]. Do not flush between the copies of one
// element.
func (p *Packer) Add(shard int64, w windowfns.Window, it *Item) (full bool) {
	if p.batches == nil {
		p.batches = map[batchKey]*[]byte{}
		var b [8]byte
		rand.Read(b[:]) // never fails, by its own contract
		p.nonce = binary.LittleEndian.Uint64(b[:])
	}
	k := batchKey{shard, w}
	b := p.batches[k]
	if b == nil {
		first := appendHeader(make([]byte, 0, 64+len(it.Body)+len(it.Raw)), w, p.nonce)
		b = &first
		p.batches[k] = b
	}
	was := len(*b)
	*b = appendItem(*b, it)
	p.size += len(*b) - was
	return p.size >= flushBytes
}

// Flush emits the batches, each stamped with the deadline that it has to meet:
// the maximum timestamp of its window, end - 1 ms, plus delayMs. In flight a
// batch holds the watermark below that deadline.
func (p *Packer) Flush(delayMs int64, emit Emit) {
	for k, b := range p.batches {
		emit(stampOf(k.w.EndMs, delayMs), k.shard, *b)
	}
	p.reset()
}

// FlushSuspects emits the batches to [Route], in the shape that cfg asks for.
func (p *Packer) FlushSuspects(cfg Config, emit Emit) {
	if !cfg.Layered {
		p.Flush(0, emit)
		return
	}
	days := parcels{}
	for k, b := range p.batches {
		days.add(cfg.layerOf(k.w.EndMs), k.shard, *b)
	}
	days.emit(emit)
	p.reset()
}

func (p *Packer) reset() { p.batches, p.size, p.seq = nil, 0, 0 }

// stampOf is the last millisecond before the deadline delayMs after the end of a
// window.
func stampOf(endMs, delayMs int64) beam.EventTime { return mtime.Time(endMs - 1 + delayMs) }
