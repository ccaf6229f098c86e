package files

import (
	"fmt"
	"slices"
	"sync"

	"tidemark/connectors/records"
	"tidemark/internal/tally"
)

// A source checkpoints itself every few megabytes, and the next bundle goes on
// where it was: mostly in the same process, where the open file waits for it.
// Elsewhere, it is opened again.

// place is where a bundle has stopped.
type place struct {
	run    *tally.Tally // the attempt at a run
	path   string
	start  int64
	fields string // of the records: who looks for others in a table cannot go on
}

// maxParked bounds the files that are kept open.
const maxParked = 64

// lot holds cursors between bundles, the oldest first. There are a few.
type lot struct {
	mu  sync.Mutex
	all []parkedCursor
}

type parkedCursor struct {
	at place
	*cursor
}

var parked lot

// park keeps a cursor for the bundle that goes on at p. It closes the oldest one
// where there are too many.
func (l *lot) park(p place, c *cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, parkedCursor{p, c})
	if len(l.all) > maxParked {
		l.all[0].close()
		l.all = slices.Delete(l.all, 0, 1)
	}
}

// opener opens files of records with certain fields.
type opener struct {
	run    *tally.Tally
	limit  int // on the length of a record
	dec    *records.Decoder
	fields string
}

func newOpener(run *tally.Tally, f records.Fields, limit int) (opener, error) {
	dec, err := records.NewDecoder(f)
	return opener{run: run, limit: limit, dec: dec, fields: fmt.Sprintf("%#v", f)}, err
}

// resume returns a cursor at s: the one that the bundle before has left there, or
// a new one.
func (o *opener) resume(f File, s span) (*cursor, error) {
	if c := parked.take(o.place(f, s.Start)); c != nil {
		return c, nil
	}
	return openCursor(f, s, o.limit, o.dec)
}

// park leaves a cursor for the bundle that goes on at an offset.
func (o *opener) park(f File, at int64, c *cursor) { parked.park(o.place(f, at), c) }

func (o *opener) place(f File, at int64) place { return place{o.run, f.Path, at, o.fields} }

// take returns a cursor that waits at p, or nil.
func (l *lot) take(p place) *cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(c parkedCursor) bool { return c.at == p })
	if i < 0 {
		return nil
	}
	c := l.all[i].cursor
	l.all = slices.Delete(l.all, i, i+1)
	return c
}

// clear closes everything.
func (l *lot) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		c.close()
	}
	l.all = nil
}
