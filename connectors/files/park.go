package files

import (
	"sync"

	"tidemark/internal/tally"
)

// A source checkpoints itself every few megabytes, and the next bundle goes on
// where it was: mostly in the same process, where the open file waits for it.
// Elsewhere, it is opened again.

// place is where a bundle has stopped.
type place struct {
	run   *tally.Tally // the attempt at a run
	path  string
	start int64
}

// maxParked bounds the files that are kept open.
const maxParked = 64

// parked holds cursors between bundles.
var parked struct {
	sync.Mutex
	at    map[place]*cursor
	order []place // the oldest first
}

// park keeps a cursor for the bundle that goes on at p.
func park(p place, c *cursor) {
	parked.Lock()
	defer parked.Unlock()
	if parked.at == nil {
		parked.at = map[place]*cursor{}
	}
	if old := parked.at[p]; old != nil {
		old.close() // two spans that begin alike
	} else {
		parked.order = append(parked.order, p)
	}
	parked.at[p] = c
	for len(parked.order) > maxParked {
		oldest := parked.order[0]
		parked.order = parked.order[1:]
		if c := parked.at[oldest]; c != nil {
			c.close()
			delete(parked.at, oldest)
		}
	}
}

// unpark returns the cursor that waits at p, or nil.
func unpark(p place) *cursor {
	parked.Lock()
	defer parked.Unlock()
	c := parked.at[p]
	delete(parked.at, p)
	for i, q := range parked.order {
		if q == p {
			parked.order = append(parked.order[:i], parked.order[i+1:]...)
			break
		}
	}
	return c
}
