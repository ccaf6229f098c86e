package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	// memoryBytes is how much a spool holds in memory.
	memoryBytes = 8 << 20

	// bufferBytes is the size of the buffers of files.
	bufferBytes = 64 << 10
)

var errClosed = errors.New("sink: the spool is closed")

// Spool gathers the lines of one output until they are released. It holds up to
// 8 MiB in memory; the rest goes to temporary files. It is safe for concurrent
// use.
type Spool struct {
	dir    string
	sorted bool
	once   bool // see Once
	head   int  // see OnceBehind; how much of an order is held in front of its line
	memory int  // bytes
	fanIn  int  // runs that are merged at once

	mu    sync.Mutex
	lines int64
	held  []entry
	data  []byte // what the entries point into
	disk  disk
	err   error // what the spool has failed of, for good

	number [8]byte // the order of a line where not sorted: how many came before
}

// entry is a line in memory: the order is data[at:mid], the line data[mid:end].
type entry struct{ at, mid, end int }

// entryBytes is the size of an entry.
const entryBytes = 24

// NewSpool returns an empty spool that keeps its temporary files in dir, or in
// the system's folder for them where dir is "". Lines are released sorted by
// order, then by the lines themselves, or else as they came.
func NewSpool(dir string, sorted bool) *Spool {
	return &Spool{dir: dir, sorted: sorted, memory: memoryBytes, fanIn: 64}
}

// Once makes a sorted spool hand out a line once that was added several times with
// the same order. It is for lines whose orders identify them, from workers that can
// write them again.
func (s *Spool) Once() *Spool {
	s.once = true
	return s
}

// OnceBehind makes a sorted spool hand out one line of those whose orders are the same
// behind their first n bytes: the first one. It is for lines that what is behind
// identifies, and whose place can change when workers write them again. Nothing may
// have been added yet. Handing lines out sorts them anew, which takes as much space
// as they do, in memory and on disk.
func (s *Spool) OnceBehind(n int) *Spool {
	s.head = n
	return s
}

// Add adds copies of a line, without a newline, and of its order: bytes that
// compare as the line is to come. Without sorting the order has no effect. After
// an error the lines are incomplete, and every further call fails.
func (s *Spool) Add(order, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(order, line)
}

// AddBatch adds the lines of a batch.
func (s *Spool) AddBatch(batch Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return batch.Each(s.add)
}

func (s *Spool) add(order, line []byte) error {
	if s.err != nil {
		return s.err
	}
	used := len(s.data) + entryBytes*len(s.held)
	if used > 0 && used+len(order)+len(line)+entryBytes > s.memory {
		if err := s.spill(); err != nil {
			s.err = fmt.Errorf("sink: spooling lines to disk: %w", err)
			return s.err
		}
	}
	if !s.sorted {
		order = binary.BigEndian.AppendUint64(s.number[:0], uint64(s.lines))
	}
	if len(order) < s.head {
		s.err = fmt.Errorf("sink: an order of %d bytes, want at least %d", len(order), s.head)
		return s.err
	}
	s.lines++
	at := len(s.data)
	s.data = append(s.data, order[s.head:]...)
	mid := len(s.data)
	s.data = append(append(s.data, order[:s.head]...), line...)
	s.held = append(s.held, entry{at, mid, len(s.data)})
	return nil
}

// Lines returns how many lines were added.
func (s *Spool) Lines() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// spill moves what is in memory to disk.
func (s *Spool) spill() error {
	s.sort()
	if err := s.disk.addRun(s.dir, s.fanIn, s.source()); err != nil {
		return err
	}
	s.held, s.data = s.held[:0], s.data[:0]
	if cap(s.data) > 2*s.memory {
		s.data = nil // a line was larger than all of the memory
	}
	return nil
}

func (s *Spool) sort() {
	slices.SortFunc(s.held, func(a, b entry) int {
		if c := bytes.Compare(s.data[a.at:a.mid], s.data[b.at:b.mid]); c != 0 {
			return c
		}
		return bytes.Compare(s.data[a.mid:a.end], s.data[b.mid:b.end])
	})
}

// source reads what is in memory.
func (s *Spool) source() *source {
	i := 0
	return &source{read: func() (order, line []byte, err error) {
		if i == len(s.held) {
			return nil, nil, io.EOF
		}
		e := s.held[i]
		i++
		return s.data[e.at:e.mid], s.data[e.mid:e.end], nil
	}}
}

// Each calls f with all lines. The spool keeps them until it is closed, so that
// it can be called again. What f gets is valid until it returns; it must not use
// the spool.
func (s *Spool) Each(f func(line []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.head > 0 {
		return s.eachBehind(f)
	}
	var last, lastLine []byte
	first := true
	return s.merge(func(order, line []byte) error {
		if s.once {
			if !first && bytes.Equal(order, last) && bytes.Equal(line, lastLine) {
				return nil
			}
			first, last, lastLine = false, append(last[:0], order...), append(lastLine[:0], line...)
		}
		return f(line)
	})
}

// merge calls emit with all that is held, sorted.
func (s *Spool) merge(emit func(order, line []byte) error) error {
	s.sort()
	return merge(append(s.disk.sources(), s.source()), emit)
}

// eachBehind is Each for OnceBehind. Lines are sorted by what identifies them, with the
// rest of the order in front of them: the first of each goes to a spool that has them
// as they are to come.
func (s *Spool) eachBehind(f func(line []byte) error) error {
	picked := &Spool{dir: s.dir, sorted: true, memory: s.memory, fanIn: s.fanIn}
	var last, order []byte
	first := true
	err := s.merge(func(id, line []byte) error {
		if !first && bytes.Equal(id, last) {
			return nil
		}
		first, last = false, append(last[:0], id...)
		order = append(append(order[:0], line[:s.head]...), id...)
		return picked.add(order, line[s.head:])
	})
	if err == nil {
		err = picked.Each(f)
	}
	return errors.Join(err, picked.Close())
}

// Close drops the lines and the temporary files. Adding to a closed spool fails.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.data, s.err = nil, nil, errClosed
	if err := s.disk.close(); err != nil {
		return fmt.Errorf("sink: closing a spool: %w", err)
	}
	return nil
}
