package joins

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tidemark/internal/routing"
)

// What travels to a cell is a message, rows of one side. It is a record of the
// cell's log as it is (see log.go):
//
//	'M' | grain, id 8 bytes each | side byte | count 4 bytes | row*
//
// Numbers are in little endian. Grain is the distance of the timers of its rows, in
// ms, and id is drawn afresh. A row is
//
//	time varint | entry prefixed
//
// An entry is an element without its time: its encoded key and value,
//
//	key prefixed | value

const headBytes = 1 + 8 + 8 + 1 + 4

// appendEntry appends the entry of an encoded key and value.
func appendEntry(dst, key, value []byte) []byte {
	return append(routing.AppendPrefixed(dst, key), value...)
}

// splitEntry says where the key of an entry is; the value is behind it.
func splitEntry(entry []byte) (keyAt, keyEnd uint32, err error) {
	n, width := binary.Uvarint(entry)
	if width <= 0 || n > uint64(len(entry)-width) {
		return 0, 0, fmt.Errorf("joins: malformed entry")
	}
	return uint32(width), uint32(width) + uint32(n), nil
}

// message collects rows on their way to a cell.
type message struct {
	b       []byte
	times   []int64
	firstMs int64 // what it is stamped with: the least of what its rows were added with
}

// add adds a row. The watermark must not pass stampMs before it has arrived.
func (m *message) add(tMs, stampMs int64, entry []byte) {
	if len(m.times) == 0 || stampMs < m.firstMs {
		m.firstMs = stampMs
	}
	if len(m.b) == 0 {
		m.b = append(m.b, make([]byte, headBytes)...)
	}
	m.times = append(m.times, tMs)
	m.b = binary.AppendVarint(m.b, tMs)
	m.b = routing.AppendPrefixed(m.b, entry)
}

// seal is the message of a side. Nothing may be added after it.
func (m *message) seal(s side, id uint64) []byte {
	h := m.b[:0]
	h = append(h, logMessage)
	h = binary.LittleEndian.AppendUint64(h, uint64(grainOf(m.times)))
	h = binary.LittleEndian.AppendUint64(h, id)
	h = append(h, byte(s))
	binary.LittleEndian.AppendUint32(h, uint32(len(m.times)))
	return m.b
}

// head is the beginning of a message.
type head struct {
	grain int64
	id    uint64
	side  side
	rows  int
}

// openMessage reads the head of a message, and leaves its rows to readRows.
func openMessage(msg []byte) (h head, rows []byte, err error) {
	if len(msg) < headBytes || msg[0] != logMessage {
		return h, nil, fmt.Errorf("joins: malformed message")
	}
	h.grain = int64(binary.LittleEndian.Uint64(msg[1:]))
	h.id = binary.LittleEndian.Uint64(msg[9:])
	h.side = side(msg[17])
	h.rows = int(binary.LittleEndian.Uint32(msg[18:]))
	rows = msg[headBytes:]
	if h.grain < 1 || h.side > right || h.rows > len(rows) {
		return h, nil, fmt.Errorf("joins: malformed message")
	}
	return h, rows, nil
}

// readRows reads the rows of a message, which point into it.
func (h head) readRows(b []byte) ([]row, error) {
	rows := make([]row, h.rows)
	r := routing.NewReader(b)
	var err error
	for i := range rows {
		x := &rows[i]
		x.side, x.timeMs, x.entry = h.side, r.Varint(), r.Prefixed()
		if x.keyAt, x.keyEnd, err = splitEntry(x.entry); err != nil {
			return nil, err
		}
	}
	return rows, r.Err()
}

// timersPerMessage is about how many timers the rows of a message share, at most.
// A message is what a bundle has brought, and the watermark moves between bundles:
// finer timers than that would not say any more.
const timersPerMessage = 32

// grainOf is the distance of the timers of rows at these times, in ms: 1 where they
// are few, and else such that most of them share about timersPerMessage timers. A few
// rows far from the others do not count.
func grainOf(times []int64) int64 {
	if len(times) <= timersPerMessage {
		return 1
	}
	const sampled = 64
	var sample [sampled]int64
	n := min(len(times), sampled)
	for i := range n {
		sample[i] = times[i*len(times)/n]
	}
	slices.Sort(sample[:n])
	return max(1, (sample[n-1-n/8]-sample[n/8])/timersPerMessage)
}
