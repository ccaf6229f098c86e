package aggregate

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// messages gathers the blocks of a bundle and sends them to their cells, one
// message for each.
type messages struct {
	layout layout

	blocks map[blockKey]*block
	last   []*block // by shard, to save the map
	spare  []*block // empty ones, to be used again
	size   int      // in bytes, roughly
}

// maxSpare bounds the blocks that are kept for use in the next bundle.
const maxSpare = 32

func (l layout) newMessages() messages { return messages{layout: l, blocks: map[blockKey]*block{}} }

// add merges an element into the block k.
func (m *messages) add(agg Aggregator, k blockKey, key, acc []byte) error {
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
	key   string
	first int64 // the first deadline
	body  []byte
}

// emit sends the blocks on, each cell's with the stamp of the first deadline that
// they have to meet. Corrections meet theirs delayMs later.
func (m *messages) emit(delayMs int64, to emitBlock) {
	type cellOf struct{ shard, startMs, lastMs int64 }
	all := map[cellOf]*message{}
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
			id := cellOf{k.shard, k.startMs, s.lastMs}
			msg := all[id]
			if msg == nil {
				msg = &message{key: s.key(k.shard), first: first + delay, body: make([]byte, 0, len(body)+32)}
				all[id] = msg
			}
			msg.first = min(msg.first, first+delay)
			msg.body = appendBlock(msg.body, header{k.kind, first, last, b.elements}, body)
			if last == k.lastMs {
				break
			}
			first = s.lastMs + s.stepMs
		}
		if len(m.spare) < maxSpare {
			m.spare = append(m.spare, b)
		}
	}
	for _, msg := range all {
		to(mtime.Time(msg.first-1), msg.key, msg.body)
	}
	clear(m.blocks)
	clear(m.last)
	m.size = 0
}
