package aggregate

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// sessionMessages gathers the sessions of a bundle, as far as they are in it, and
// sends them to their cells, one message a shard.
type sessionMessages struct {
	gapMs    int64
	identify bool // blocks get an id

	blocks map[sessionBlockKey]*sessionBlock
}

type sessionBlockKey struct {
	kind  byte
	shard int64
}

// sessionBlock gathers the stretches of each key.
type sessionBlock struct {
	header
	index map[string]int
	keys  []keyStretches
}

type keyStretches struct {
	key  string
	list []stretch // by start, and by end; those of one day do not overlap
}

func newSessionMessages(gapMs int64, identify bool) *sessionMessages {
	return &sessionMessages{gapMs: gapMs, identify: identify, blocks: map[sessionBlockKey]*sessionBlock{}}
}

// add merges an element with the own window that starts at startMs, and returns by
// how many bytes m grew, roughly.
func (m *sessionMessages) add(agg Aggregator, kind byte, shard, startMs int64, key, acc []byte) (int, error) {
	to := sessionBlockKey{kind, shard}
	b := m.blocks[to]
	if b == nil {
		b = &sessionBlock{header: header{kind: kind, firstMs: math.MaxInt64, lastMs: math.MinInt64}, index: map[string]int{}}
		m.blocks[to] = b
	}
	grown := 0
	i, ok := b.index[string(key)]
	if !ok {
		i = len(b.keys)
		b.keys = append(b.keys, keyStretches{key: string(key)})
		b.index[b.keys[i].key] = i
		grown = 2*len(key) + 64
	}
	end := startMs + m.gapMs
	b.firstMs, b.lastMs = min(b.firstMs, end), max(b.lastMs, end)
	b.elements++
	more, err := b.keys[i].add(agg, stretch{startMs, end, 1, acc}, kind == blockOnTime)
	return grown + more, err
}

// add adds the own window of an element. It is merged with those that it overlaps
// where merging is set, and with its equal in any case.
func (k *keyStretches) add(agg Aggregator, own stretch, merging bool) (grown int, err error) {
	joins := func(a, b *stretch) bool {
		if !merging {
			return a.startMs == b.startMs
		}
		return a.startMs < b.endMs && b.startMs < a.endMs && dayOf(a.startMs) == dayOf(b.startMs)
	}
	join := func(s *stretch, acc []byte) error {
		was := len(s.acc)
		if s.acc, err = agg.Merge(s.acc, acc); err != nil {
			return fmt.Errorf("aggregate: merging: %w", err)
		}
		grown += len(s.acc) - was
		return nil
	}
	// Each stretch is as long as own at least, so that own overlaps one on each
	// side at most.
	i := sort.Search(len(k.list), func(i int) bool { return k.list[i].startMs > own.startMs })
	switch {
	case i > 0 && joins(&k.list[i-1], &own):
		s := &k.list[i-1]
		s.endMs = max(s.endMs, own.endMs)
		s.elements += own.elements
		if err := join(s, own.acc); err != nil {
			return 0, err
		}
		if i < len(k.list) && joins(s, &k.list[i]) {
			next := k.list[i]
			s.endMs = max(s.endMs, next.endMs)
			s.elements += next.elements
			if err := join(s, next.acc); err != nil {
				return 0, err
			}
			k.list = slices.Delete(k.list, i, i+1)
		}
	case i < len(k.list) && joins(&own, &k.list[i]):
		s := &k.list[i]
		s.startMs = own.startMs
		s.elements += own.elements
		return grown, join(s, own.acc)
	default:
		own.acc = slices.Clone(own.acc)
		k.list = slices.Insert(k.list, i, own)
		return len(own.acc) + 64, nil
	}
	return grown, nil
}

// sessionMessage is what goes to one cell.
type sessionMessage struct {
	first int64 // the first deadline that it has to meet
	body  []byte
}

// emit sends all that was gathered. The messages of a shard share a cell that
// always has timers, so that two are sent, as in messages.emitGated: the message
// itself, below all timers that there can be, and behind it an empty one, which
// holds the watermark below the first deadline. Corrections have to meet theirs
// delayMs later.
func (m *sessionMessages) emit(delayMs int64, to emitBlock) {
	all := map[int64]*sessionMessage{}
	id := uint64(0)
	if m.identify {
		id = newID()
	}
	var entries []byte
	for k, b := range m.blocks {
		entries = entries[:0]
		for _, key := range b.keys {
			for _, s := range key.list {
				entries = appendStretch(entries, key.key, s)
			}
		}
		first := b.firstMs
		if k.kind == blockCorrection {
			first += delayMs
		}
		msg := all[k.shard]
		if msg == nil {
			msg = &sessionMessage{first: first, body: make([]byte, 0, len(entries)+32)}
			all[k.shard] = msg
		}
		msg.first = min(msg.first, first)
		b.id = id
		msg.body = appendBlock(msg.body, b.header, entries)
	}
	clear(m.blocks)
	cell := sessionSpan(m.gapMs)
	for shard, msg := range all {
		sendAhead(to, cell.key(shard), cell.firstMs, msg.first, msg.body)
	}
}
