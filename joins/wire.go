package joins

import (
	"encoding/binary"

	"tidemark/internal/routing"
)

// What travels to a cell is a message, rows of one side:
//
//	side byte | count uvarint | row*
//
// and a row is
//
//	time varint | entry prefixed
//
// An entry is an element without its time: its encoded key and value,
//
//	key prefixed | value

// appendEntry appends the entry of an encoded key and value.
func appendEntry(dst, key, value []byte) []byte {
	return append(routing.AppendPrefixed(dst, key), value...)
}

// splitEntry undoes appendEntry. The results point into entry.
func splitEntry(entry []byte) (key, value []byte, err error) {
	r := routing.NewReader(entry)
	key = r.Prefixed()
	return key, r.Bytes(r.Len()), r.Err()
}

// message collects rows on their way to a cell.
type message struct {
	rows    []byte
	count   uint64
	firstMs int64 // what it is stamped with: the least of what its rows were added with
}

// add adds a row. The watermark must not pass stampMs before it has arrived.
func (m *message) add(tMs, stampMs int64, entry []byte) {
	if m.count == 0 || stampMs < m.firstMs {
		m.firstMs = stampMs
	}
	m.count++
	m.rows = binary.AppendVarint(m.rows, tMs)
	m.rows = routing.AppendPrefixed(m.rows, entry)
}

// bytes is the message of a side.
func (m *message) bytes(s side) []byte {
	b := make([]byte, 0, len(m.rows)+1+binary.MaxVarintLen64)
	b = binary.AppendUvarint(append(b, byte(s)), m.count)
	return append(b, m.rows...)
}
