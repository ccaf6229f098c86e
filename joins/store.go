package joins

import (
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"

	"tidemark/internal/remember"
)

// store is the state of the join between messages and timers: in the runner's
// hands as logs, and in this process as cells that need not be read again. See
// package remember.
type store struct {
	f      *joinFn
	number int64 // of the bundle
	bundle map[int64]*held
}

// held is a cell in memory.
type held struct {
	*cell
	version int64 // of its log; 0 if there is none
	drawn   bool  // by this bundle
}

// memory holds cells between bundles. Those in use are as large as the state that
// the runner holds for them.
var memory = remember.Cells[*held]{Most: 256 << 20, Recent: 256}

// bundles numbers the bundles of this process.
var bundles atomic.Int64

func (s *store) begin() { s.number, s.bundle = bundles.Add(1), map[int64]*held{} }

// end remembers the cells of a bundle that has gone well.
func (s *store) end() {
	for _, h := range s.bundle {
		if h.version != 0 {
			memory.Put(h.version, h, h.size())
		}
	}
	s.bundle = nil
}

// size is about how many bytes the log of h has.
func (h *held) size() int {
	n := 0
	for i := range h.slots {
		n += h.slots[i].bytes
	}
	return n
}

// open returns the cell of a shard.
func (s *store) open(sp state.Provider, shard int64) (*held, error) {
	if h := s.bundle[shard]; h != nil {
		return h, nil
	}
	h, err := s.load(sp)
	if err != nil {
		return nil, err
	}
	h.rules, h.drawn = &s.f.rules, false
	s.bundle[shard] = h
	return h, nil
}

func (s *store) load(sp state.Provider) (*held, error) {
	version, ok, err := s.f.Version.Read(sp)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return &held{cell: newCell(&s.f.rules)}, nil
	}
	if h, ok := memory.Take(version); ok {
		return h, nil
	}
	c, err := readCell(&s.f.rules, inState{s.f, sp})
	return &held{cell: c, version: version}, err
}

// save writes what is new about a cell. There is no state of one that is empty.
func (h *held) save(to home, newVersion func() int64) error {
	changed, err := h.write(to)
	switch {
	case err != nil:
		return err
	case h.empty():
		if h.version == 0 {
			return nil
		}
		h.version, h.drawn = 0, false
		return to.ClearVersion()
	case !changed && !h.touched || h.drawn:
		return nil
	}
	// Also where the log says all there is to say: if this bundle fails, the cell must
	// not be taken for what it was before.
	h.touched = false
	h.version, h.drawn = newVersion(), true
	return to.WriteVersion(h.version)
}

// home is the state that a cell has.
type home interface {
	bags
	WriteVersion(int64) error
	ClearVersion() error
}

// inState is the home of a cell in the runner's hands.
type inState struct {
	f  *joinFn
	sp state.Provider
}

func (s inState) slot(i int) *state.Bag[[]byte] {
	return [slots]*state.Bag[[]byte]{&s.f.Log0, &s.f.Log1, &s.f.Log2, &s.f.Log3}[i]
}

func (s inState) Clear(i int) error              { return s.slot(i).Clear(s.sp) }
func (s inState) Add(i int, record []byte) error { return s.slot(i).Add(s.sp, record) }

func (s inState) Read(i int) ([][]byte, error) {
	parts, _, err := s.slot(i).Read(s.sp)
	return parts, err
}

func (s inState) WriteVersion(v int64) error { return s.f.Version.Write(s.sp, v) }
func (s inState) ClearVersion() error        { return s.f.Version.Clear(s.sp) }
