package aggregate

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/routing"
)

// A stretch is elements of one key whose own windows, [t, t + gap), hang
// together: a session, or a part of one. Blocks of sessions consist of stretches,
//
//	len(key) uvarint | key | start varint | end-start uvarint | elements uvarint | len(acc) uvarint | acc
//
// and their first and last ends are those of own windows. All elements of a
// stretch are of the day of its start, so that they can be counted by day. Those
// of a correction have the same own window, because each waits for the end of its
// own.
type stretch struct {
	startMs, endMs int64
	elements       int64
	acc            []byte
}

func appendStretch[T ~string | ~[]byte](dst []byte, key T, s stretch) []byte {
	return s.append(routing.AppendPrefixed(dst, key))
}

// append appends all of s but its key.
func (s *stretch) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, s.startMs)
	dst = binary.AppendUvarint(dst, uint64(s.endMs-s.startMs))
	dst = binary.AppendUvarint(dst, uint64(s.elements))
	return routing.AppendPrefixed(dst, s.acc)
}

// readStretch undoes append. The accumulator points into what is read.
func readStretch(r *routing.Reader) stretch {
	s := stretch{startMs: r.Varint()}
	s.endMs = s.startMs + int64(r.Uvarint())
	s.elements = int64(r.Uvarint())
	s.acc = r.Prefixed()
	return s
}

// eachStretch calls f for each stretch of a block. Keys and accumulators point
// into entries.
func eachStretch(entries []byte, f func(key []byte, s stretch) error) error {
	r := routing.NewReader(entries)
	for !r.Done() {
		key, s := r.Prefixed(), readStretch(&r)
		if r.Err() != nil {
			break
		}
		if s.endMs <= s.startMs || s.elements < 0 {
			return fmt.Errorf("aggregate: malformed stretch")
		}
		if err := f(key, s); err != nil {
			return err
		}
	}
	return r.Err()
}

const dayMs = 24 * 60 * 60 * 1000

// dayOf is the UTC day of a time, by its first millisecond.
func dayOf(ms int64) int64 { return ms - floorMod(ms, dayMs) }
