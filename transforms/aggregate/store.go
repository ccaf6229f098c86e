package aggregate

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"

	"tidemark/internal/remember"
)

// store is the fold's state between messages and timers: in the runner's hands
// as bytes, and in this process as cells that need not be read again.
//
// What a process remembers is found by the version of the log; see package
// remember. So a cell is what its log says, or it is not found.
type store struct {
	f *foldFn

	bundle map[string]*held // of this bundle
	grown  map[string]growth
}

// held is a cell in memory.
type held struct {
	cell

	tail    [][]byte // messages taken that are not in the log, but have to be
	news    bool     // something was taken that the log does not say
	drained bool     // there is no tail in the state
	log     bool     // there is a log
	version int64    // of the log; 0 before this bundle has written it
	found   int64    // the version that this bundle has found; 0 once it has written
	size    int      // of the log, in bytes
	compact int      // of its compacted part
	keep    bool     // it may be asked for again soon
	timers  []int64  // those that this process knows to be set, and due later
	set     int64    // timers are set for all deadlines up to here, and so the log says
}

// growth is a hint on how far a tail has grown since it was compacted. It is
// forgotten freely: results do not depend on it.
type growth struct{ compact, appended int }

// compactBytes is how much a tail or log grows before it is compacted, at the
// least. It also has to double, so that the work stays proportional to what is
// appended.
const compactBytes = 64 << 10

// maxGrown bounds the number of hints.
const maxGrown = 1 << 16

func newStore(f *foldFn) store { return store{f: f, grown: map[string]growth{}} }

func (s *store) begin() { s.bundle = map[string]*held{} }

// end remembers the cells of a bundle that may be asked for again soon.
func (s *store) end() {
	for _, h := range s.bundle {
		if h.version == 0 {
			h.version = h.found // only looked at, by a timer with nothing to do
		}
		if h.keep && h.log && h.version != 0 && h.busy() {
			memory.Put(h.version, h, h.size)
		}
	}
	s.bundle = nil
}

// append adds a message that is not read for it. From time to time the message and
// the tail are taken instead, and the cell, which has to be saved, is returned.
func (s *store) append(sp state.Provider, key string, sn span, msg []byte) (*held, error) {
	g := s.grown[key]
	g.appended += len(msg)
	if sn.gapMs > 0 || g.appended < max(compactBytes, g.compact) {
		if len(s.grown) >= maxGrown {
			clear(s.grown)
		}
		s.grown[key] = g
		if h := s.bundle[key]; h != nil {
			h.drained = false
		}
		return nil, s.f.Tail.Add(sp, msg)
	}
	h, err := s.open(sp, key, sn, noWatermark)
	if err != nil {
		return nil, err
	}
	if h.found == 0 && h.log && h.reached() != noWatermark && s.f.leaps() {
		// How far the watermark has come only a timer can tell.
		delete(s.bundle, key)
		return nil, s.f.Tail.Add(sp, msg)
	}
	return h, h.take(bytes.Clone(msg), true)
}

// warm reports whether a cell is known as it is: it is in memory, or there is
// none. That of one whose log lags behind its timers is not.
func (s *store) warm(sp state.Provider, key string) (bool, error) {
	if s.bundle[key] != nil {
		return true, nil
	}
	version, ok, err := s.f.Version.Read(sp)
	return err == nil && (!ok || memory.Has(version)), err
}

// open returns the cell of a key, with its tail taken, for a timer that says that
// the watermark has reached atMs. There will be nothing left to log of a cell that
// this closes.
func (s *store) open(sp state.Provider, key string, sn span, atMs int64) (*held, error) {
	closing := atMs != noWatermark && atMs-s.f.LatenessMs >= sn.lastMs
	delete(s.grown, key)
	h := s.bundle[key]
	if h == nil {
		var err error
		if h, err = s.load(sp, sn, atMs); err != nil {
			return nil, err
		}
		s.bundle[key] = h
	} else if h.drained {
		return h, nil // and nothing has come since
	}
	tail, _, err := s.f.Tail.Read(sp)
	if err != nil {
		return nil, err
	}
	h.drained = len(tail) == 0
	for _, msg := range tail {
		if err := h.take(msg, !closing); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// load finds a cell in memory, or reads its log.
func (s *store) load(sp state.Provider, sn span, atMs int64) (*held, error) {
	version, ok, err := s.f.Version.Read(sp)
	if err != nil {
		return nil, err
	}
	if ok {
		if h, ok := memory.Take(version); ok {
			// Another DoFn may have held it, whose aggregator is its own.
			h.use(s.f.rules.agg)
			h.version, h.found = 0, version
			return h, nil
		}
	}
	h := &held{cell: s.f.newCell(sn), log: ok, set: noWatermark}
	if !ok {
		return h, nil
	}
	log, _, err := s.f.Log.Read(sp)
	if err != nil {
		return nil, err
	}
	for _, b := range log {
		h.size += len(b)
	}
	if len(log) > 0 {
		h.compact = len(log[0]) // see save
	}
	set, err := replay(h.cell, log)
	if err != nil || atMs == noWatermark || !s.f.leaps() {
		return h, err
	}
	// Where the log does not say how far the watermark has come, the timers do:
	// they fire in their order, so that all that were set for a time before that of
	// this one have fired.
	return h, h.settle(min(set, atMs-1), nowhere{})
}

// take adds a message that nobody else has, to be logged or not. The cell merges
// into its bytes.
func (h *held) take(msg []byte, logged bool) error {
	if logged {
		h.news = true
		if !h.absolute() {
			h.tail = append(h.tail, bytes.Clone(msg))
		}
	}
	return eachBlock(msg, func(b header, entries []byte) error { return h.cell.take(b, entries, false) })
}

// save writes what is new about a cell.
func (s *store) save(sp state.Provider, h *held) error {
	h.found = 0
	tailed := !h.drained
	h.drained, h.news = true, false
	if h.empty() {
		h.tail = nil
		if h.log {
			h.log, h.size, h.compact, h.version = false, 0, 0, 0
			if err := s.f.Log.Clear(sp); err != nil {
				return err
			}
			if err := s.f.Version.Clear(sp); err != nil {
				return err
			}
		}
		if tailed {
			return s.f.Tail.Clear(sp)
		}
		return nil
	}

	var b []byte
	for _, msg := range h.tail {
		b = appendRecord(b, logMessage, msg)
	}
	h.tail = nil
	b = appendRecord(b, logState, h.appendState(nil, false))
	b = appendRecord(b, logTimers, binary.AppendVarint(nil, h.set))
	if h.size += len(b); !h.log || h.size > 2*h.compact+compactBytes {
		if h.log {
			if err := s.f.Log.Clear(sp); err != nil {
				return err
			}
		}
		// The first element of the bag, as a whole.
		b = appendRecord(compact(h.cell), logTimers, binary.AppendVarint(nil, h.set))
		h.size, h.compact = len(b), len(b)
	}
	if err := s.f.Log.Add(sp, b); err != nil {
		return err
	}
	if tailed {
		if err := s.f.Tail.Clear(sp); err != nil {
			return err
		}
	}
	h.log = true
	if h.version != 0 {
		return nil
	}
	h.version = remember.NewVersion()
	return s.f.Version.Write(sp, h.version)
}

// memory holds cells between bundles.
var memory = remember.Cells[*held]{Most: 128 << 20}
