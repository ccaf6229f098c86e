package joins

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/joins/interval"
)

// history is a cell in the hands of a runner that restarts workers, repeats
// bundles, and moves keys from one process to another and back.
type history struct {
	t     *rapid.T
	rules rules

	state  runnerState
	out    []string
	wm     int64
	bundle int64
	ids    uint64

	memory map[int64]*held // of all processes, by version
	cell   *held           // of this bundle, or nil

	all [2][]*element
}

// runnerState is what a runner keeps, and rolls back.
type runnerState struct {
	bags    [slots][][]byte
	version int64
	timers  map[timerID]int64 // holds
}

func (s runnerState) clone() runnerState {
	c := runnerState{version: s.version, timers: map[timerID]int64{}}
	for i, b := range s.bags {
		c.bags[i] = slices.Clone(b)
	}
	for ms, hold := range s.timers {
		c.timers[ms] = hold
	}
	return c
}

func (s *runnerState) Clear(i int) error            { s.bags[i] = nil; return nil }
func (s *runnerState) Read(i int) ([][]byte, error) { return s.bags[i], nil }
func (s *runnerState) Add(i int, records []byte) error {
	s.bags[i] = append(s.bags[i], slices.Clone(records))
	return nil
}

func (s *runnerState) WriteVersion(v int64) error { s.version = v; return nil }
func (s *runnerState) ClearVersion() error        { s.version = 0; return nil }

// element is what the definition needs.
type element struct {
	id      string
	key     string
	ms      int64
	matched bool
}

func (h *history) pair(l, r *row, timeMs int64) error {
	right := "-"
	if r != nil {
		right = string(r.value())
	}
	h.out = append(h.out, fmt.Sprintf("%s %s %s @%d", l.key(), l.value(), right, timeMs))
	return nil
}

func (h *history) unmatched(r *row) error {
	l, rt := string(r.value()), "-"
	if r.side == right {
		l, rt = rt, l
	}
	h.out = append(h.out, fmt.Sprintf("%s %s %s @%d", r.key(), l, rt, r.timeMs))
	return nil
}

func (h *history) overLimit(r *row) { h.out = append(h.out, fmt.Sprintf("over %s", r.value())) }

func (h *history) open() {
	if h.cell != nil {
		return
	}
	if c := h.memory[h.state.version]; c != nil && h.state.version != 0 {
		h.cell, c.drawn = c, false
		delete(h.memory, h.state.version)
		return
	}
	h.cell = h.read()
}

// read is the cell as the log has it.
func (h *history) read() *held {
	c, err := readCell(&h.rules, &h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	return &held{cell: c, version: h.state.version}
}

// newID is scattered, but always the same.
func (h *history) newID() uint64 {
	h.ids++
	return h.ids * 0x9E3779B97F4A7C15
}

func (h *history) save() {
	for _, g := range h.cell.agenda.takeChanged(h.bundle) {
		h.state.timers[g.timerID] = g.holdMs
	}
	if err := h.cell.save(&h.state, func() int64 { return int64(h.newID()) }); err != nil {
		h.t.Fatal(err)
	}
}

// do runs f in a bundle, which may fail and come again.
func (h *history) do(f func()) {
	was, out := h.state.clone(), len(h.out)
	if rapid.IntRange(0, 5).Draw(h.t, "fails") == 0 {
		h.bundle++
		f()
		if h.cell != nil && h.state.version != 0 && rapid.Bool().Draw(h.t, "ends") {
			h.memory[h.state.version] = h.cell // it ends well, but its runner loses it
		}
		h.state, h.out, h.cell = was, h.out[:out], nil
	}
	h.bundle++
	f()
	switch rapid.IntRange(0, 3).Draw(h.t, "memory") {
	case 0: // another worker has the next bundle
		h.cell = nil
	case 1: // and the one after that comes back here
		if h.cell != nil && h.state.version != 0 {
			h.memory[h.state.version] = h.cell
			defer func(c *held, v int64) { h.memory[v] = c }(h.cell, h.state.version)
			h.cell = h.read()
			h.bundle++
			h.fire() // without a word to the first
			h.cell = nil
		}
	default:
		if h.cell != nil && h.state.version != 0 {
			h.memory[h.state.version] = h.cell
		}
		h.cell = nil
	}
}

// fire fires a timer, or some.
func (h *history) fire() {
	var due []timerID
	for t := range h.state.timers {
		if t.ms <= h.wm {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, timerID.compare)
	n := 0
	if len(due) > 0 {
		n = rapid.IntRange(0, len(due)).Draw(h.t, "timers")
	}
	for _, t := range due[:n] {
		delete(h.state.timers, t)
		h.open()
		if err := h.cell.fire(t, h.bundle, h); err != nil {
			h.t.Fatal(err)
		}
		h.save()
	}
}

func (h *history) drain() {
	for {
		due := false
		for t := range h.state.timers {
			due = due || t.ms <= h.wm
		}
		if !due {
			return
		}
		h.do(h.fire)
	}
}

// expected are the rows by the definition, of elements none of which is late.
func (h *history) expected() (want []string) {
	for _, l := range h.all[left] {
		var first *element
		for _, r := range h.all[right] {
			if l.key == r.key && h.rules.iv[left].Match(l.ms, r.ms) {
				l.matched, r.matched = true, true
				if h.rules.pairs {
					want = append(want, fmt.Sprintf("%s %s %s @%d", l.key, l.id, r.id, max(l.ms, r.ms)))
				}
				if first == nil {
					first = r
				}
			}
		}
		switch {
		case first != nil && h.rules.first:
			want = append(want, fmt.Sprintf("%s %s -", l.key, l.id)) // its time depends on the order of arrival
		case first == nil && h.rules.unmatched[left]:
			want = append(want, fmt.Sprintf("%s %s - @%d", l.key, l.id, l.ms))
		}
	}
	for _, r := range h.all[right] {
		if !r.matched && h.rules.unmatched[right] {
			want = append(want, fmt.Sprintf("%s - %s @%d", r.key, r.id, r.ms))
		}
	}
	return want
}

// TestCellLaws: whatever a runner does, the rows are those of the definition, each
// once, and in the end nothing is held.
func TestCellLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(Types).Draw(t, "type")
		tr, _ := typ.traits()
		lower := rapid.Int64Range(-30, 30).Draw(t, "lower")
		iv := interval.Interval{LowerMs: lower, UpperMs: lower + rapid.Int64Range(0, 40).Draw(t, "width")}
		h := &history{
			t:      t,
			rules:  rules{traits: tr, iv: [2]interval.Interval{iv, iv.Swap()}, latenessMs: rapid.Int64Range(0, 15).Draw(t, "lateness")},
			state:  runnerState{timers: map[timerID]int64{}},
			memory: map[int64]*held{},
			wm:     -1000,
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			s := side(rapid.IntRange(0, 1).Draw(t, "side"))
			var m message
			n := rapid.SampledFrom([]int{1, 3, 3 * timersPerMessage}).Draw(t, "rows")
			for range n {
				e := &element{
					id:  fmt.Sprintf("%v%d", s, len(h.all[s])),
					key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
					ms:  h.wm - h.rules.latenessMs + rapid.Int64Range(0, 100).Draw(t, "ms"),
				}
				h.all[s] = append(h.all[s], e)
				m.add(e.ms, e.ms, appendEntry(nil, []byte(e.key), []byte(e.id)))
			}
			msg := m.seal(s, h.newID())
			h.do(func() {
				h.open()
				if err := h.cell.take(msg, h); err != nil {
					t.Fatal(err)
				}
				h.save()
			})
			if rapid.Bool().Draw(t, "moves") {
				h.wm += rapid.Int64Range(0, 60).Draw(t, "by")
			}
			for range rapid.IntRange(0, 2).Draw(t, "bundles") {
				h.do(h.fire)
			}
			if rapid.Bool().Draw(t, "drains") {
				h.drain()
			}
		}
		h.wm = math.MaxInt64
		h.drain()

		got, want := h.out, h.expected()
		if h.rules.first {
			for i, o := range got {
				got[i], _, _ = strings.Cut(o, " @")
			}
		}
		sort.Strings(got)
		sort.Strings(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%v %v, lateness %d:\n got %q\nwant %q", typ, iv, h.rules.latenessMs, got, want)
		}
		if h.state.version != 0 {
			t.Errorf("the state has a version when it should be empty")
		}
		for i, b := range h.state.bags {
			if len(b) > 0 {
				t.Errorf("slot %d is not empty", i)
			}
		}
	})
}
