package aggregate

import (
	"math/rand/v2"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// messages gathers the blocks of a bundle and sends them to their cells, one
// message for each.
type messages struct {
	layout   layout
	identify bool // blocks get an id

	blocks map[blockKey]*block
	last   []*block // by shard, to save the map
	spare  []*block // empty ones, to be used again
	size   int      // in bytes, roughly

	sessions *sessionMessages // all that there is, where windows merge
}

// maxSpare bounds the blocks that are kept for use in the next bundle.
const maxSpare = 32

func (l layout) newMessages(identify bool) messages {
	m := messages{layout: l, identify: identify, blocks: map[blockKey]*block{}}
	if l.gapMs > 0 {
		m.sessions = newSessionMessages(l.gapMs, identify)
	}
	return m
}

// add merges an element into the block k.
func (m *messages) add(agg Aggregator, k blockKey, key, acc []byte) error {
	if m.sessions != nil {
		grown, err := m.sessions.add(agg, k.kind, k.shard, k.startMs, key, acc)
		m.size += grown
		return err
	}
	for int64(len(m.last)) <= k.shard {
		m.last = append(m.last, nil)
	}
	if m.layout.grid != nil {
		k.startMs = 0
	}
	b := m.last[k.shard]
	if b == nil || b.blockKey != k {
		if b = m.blocks[k]; b == nil {
			b = m.newBlock(k)
			m.blocks[k] = b
			m.size += 256
		}
		m.last[k.shard] = b
	}
	grown, err := b.add(agg, key, acc)
	m.size += grown
	return err
}

func (m *messages) newBlock(k blockKey) *block {
	n := len(m.spare) - 1
	if n < 0 {
		return &block{blockKey: k, index: map[string]int{}}
	}
	b := m.spare[n]
	m.spare = m.spare[:n]
	clear(b.index)
	clear(b.keys)
	*b = block{blockKey: k, index: b.index, keys: b.keys[:0], accs: b.accs[:0], perKey: b.perKey[:0]}
	return b
}

// message is what goes to one cell.
type message struct {
	span  span
	shard int64
	first int64 // the first deadline that it has to meet
	body  []byte
}

// gather makes a message for each cell out of the blocks. Corrections have to meet
// their deadlines delayMs later.
func (m *messages) gather(delayMs int64) map[cellID]*message {
	all := map[cellID]*message{}
	id := uint64(0)
	if m.identify {
		id = newID()
	}
	var body []byte
	for k, b := range m.blocks {
		body = b.entries(body[:0])
		delay := int64(0)
		if k.kind == blockCorrection {
			delay = delayMs
		}
		for first := k.firstMs; ; {
			s := single(windowfns.Window{StartMs: k.startMs, EndMs: first})
			if m.layout.grid != nil {
				s = m.layout.spanOf(first)
			}
			last := min(k.lastMs, s.lastMs)
			to := cellID{k.shard, k.startMs, s.lastMs}
			msg := all[to]
			if msg == nil {
				msg = &message{span: s, shard: k.shard, first: first + delay, body: make([]byte, 0, len(body)+32)}
				all[to] = msg
			}
			msg.first = min(msg.first, first+delay)
			msg.body = appendBlock(msg.body, header{k.kind, first, last, b.elements, id}, body)
			if last == k.lastMs {
				break
			}
			first = s.lastMs + s.stepMs
		}
		if len(m.spare) < maxSpare {
			m.spare = append(m.spare, b)
		}
	}
	m.reset()
	return all
}

func (m *messages) reset() {
	clear(m.blocks)
	clear(m.last)
	m.size = 0
}

type cellID struct{ shard, startMs, lastMs int64 }

// In flight, a message holds the watermark below its stamp, so that the stamp has
// to lie below the first deadline that the message has to meet. But Prism hands a
// stateful DoFn nothing that is stamped behind a timer of the same key that is
// not due, which in a cell of several windows can be a long time. So stamps there
// are as low as they can be.

// emitMarked sends messages of elements that are in time by their marks, of which
// markMs is the lowest. The watermark is not above it, and neither is a timer that
// will not be due soon below it.
func (m *messages) emitMarked(markMs, delayMs int64, to emitBlock) {
	if m.sessions != nil {
		m.sessions.emit(delayMs, to)
		m.size = 0
		return
	}
	for _, msg := range m.gather(delayMs) {
		at := msg.first
		if msg.span.size() > 1 {
			at = max(msg.span.firstMs, m.layout.next(markMs, delayMs))
		}
		to(mtime.Time(at-1), msg.span.key(msg.shard), msg.body)
	}
}

// emitGated sends messages of elements that are in time by the runner's word. How
// high the watermark is below their deadline is unknown, so that two are sent: the
// message, which no timer holds up and which holds nothing, and behind it an empty
// one, which holds the watermark until it has come after the message.
func (m *messages) emitGated(delayMs int64, to emitBlock) {
	if m.sessions != nil {
		m.sessions.emit(delayMs, to)
		m.size = 0
		return
	}
	for _, msg := range m.gather(delayMs) {
		key := msg.span.key(msg.shard)
		if low := msg.span.firstMs; msg.span.size() > 1 && low < msg.first {
			sendAhead(to, key, low, msg.first, msg.body)
			continue
		}
		to(mtime.Time(msg.first-1), key, msg.body)
	}
}

// sendAhead sends a message below lowMs, and behind it an empty one, which holds
// the watermark below firstMs until it has come after the message.
func sendAhead(to emitBlock, key string, lowMs, firstMs int64, body []byte) {
	to(mtime.Time(lowMs-1), key, body)
	to(mtime.Time(firstMs-1), key, nil)
}

// newID is an odd number that is drawn afresh.
func newID() uint64 { return rand.Uint64() | 1 }
