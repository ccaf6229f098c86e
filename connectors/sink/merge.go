package sink

import (
	"bytes"
	"container/heap"
	"io"
)

// source is a sequence of lines.
type source struct {
	// read returns the next line, or io.EOF. What it returns is valid until the
	// next call.
	read func() (order, line []byte, err error)

	order, line []byte // the line that is up
}

// next moves to the next line, or returns io.EOF.
func (s *source) next() (err error) {
	s.order, s.line, err = s.read()
	return err
}

// merge hands the lines of sorted sources to emit, sorted by order, then by
// line.
func merge(sources []*source, emit func(order, line []byte) error) error {
	h := make(sourceHeap, 0, len(sources))
	for _, s := range sources {
		switch err := s.next(); err {
		case nil:
			h = append(h, s)
		case io.EOF:
		default:
			return err
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		s := h[0]
		if err := emit(s.order, s.line); err != nil {
			return err
		}
		switch err := s.next(); err {
		case nil:
			heap.Fix(&h, 0)
		case io.EOF:
			heap.Pop(&h)
		default:
			return err
		}
	}
	return nil
}

// sourceHeap has the source with the least line first.
type sourceHeap []*source

func (h sourceHeap) Len() int      { return len(h) }
func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h sourceHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].order, h[j].order); c != 0 {
		return c < 0
	}
	return bytes.Compare(h[i].line, h[j].line) < 0
}

// Push implements heap.Interface; merge does not need it.
func (h *sourceHeap) Push(s any) { *h = append(*h, s.(*source)) }

// Pop implements heap.Interface.
func (h *sourceHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}
