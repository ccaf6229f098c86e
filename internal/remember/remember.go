// Package remember keeps what a stateful DoFn has decoded from its state between
// bundles, so that the next bundle of the key need not decode it again.
//
// What is remembered is found by a version: a number that is drawn afresh
// whenever a bundle writes to the state, and written there. So what is found is
// what the state says, or it is not found: a bundle that is rolled back, and a
// worker that takes over, leave nothing wrong behind.
package remember

import (
	"math/rand/v2"
	"sync"
)

// NewVersion draws a version. It is never 0.
func NewVersion() int64 { return int64(rand.Uint64() | 1) }

// Cells holds values by version. It is safe for concurrent use.
type Cells[T any] struct {
	// Most bounds the sizes of what is held, in bytes. The oldest goes first.
	Most int

	// Recent is how many of the values that were put last are held in any case:
	// those in use.
	Recent int

	mu    sync.Mutex
	size  int
	found map[int64]held[T]
	order []int64 // oldest first; some may be gone
}

type held[T any] struct {
	value T
	size  int
}

// Put holds a value of a size, in bytes.
func (c *Cells[T]) Put(version int64, v T, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[int64]held[T]{}
	}
	c.remove(version)
	c.found[version] = held[T]{v, size}
	c.order = append(c.order, version)
	for c.size += size; c.size > c.Most && len(c.order) > c.Recent; c.order = c.order[1:] {
		c.remove(c.order[0])
	}
	if len(c.order) > 2*len(c.found)+16 {
		kept := c.order[:0]
		for _, v := range c.order {
			if _, ok := c.found[v]; ok {
				kept = append(kept, v)
			}
		}
		c.order = kept
	}
}

// Has reports whether a value is held.
func (c *Cells[T]) Has(version int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.found[version]
	return ok
}

// Take returns a value, and forgets it.
func (c *Cells[T]) Take(version int64) (v T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remove(version)
}

// Clear forgets everything.
func (c *Cells[T]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size, c.found, c.order = 0, nil, nil
}

func (c *Cells[T]) remove(version int64) (v T, ok bool) {
	h, ok := c.found[version]
	if ok {
		delete(c.found, version)
		c.size -= h.size
	}
	return h.value, ok
}
