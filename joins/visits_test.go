package joins

import (
	"fmt"
	"slices"
	"testing"

	"tidemark/testing/oracle"
)

// hotShelf is a shelf with n rows, a millisecond apart.
func hotShelf(n int64) *shelf {
	var s shelf
	for ms := range n {
		s.add(&row{timeMs: ms})
	}
	return &s
}

// visited counts the blocks of a shelf that f looks into: those whose absence it
// stumbles over.
func visited(hot *shelf, f func(s *shelf)) (blocks int) {
	for missing := range hot.blocks {
		s := &shelf{n: hot.n}
		for i, b := range hot.blocks {
			if i == missing {
				b = nil
			}
			s.blocks = append(s.blocks, slices.Clone(b))
		}
		func() {
			defer func() {
				if recover() != nil {
					blocks++
				}
			}()
			f(s)
		}()
	}
	return blocks
}

// TestShelfVisits: of 20,000 rows of a hot key, what has few matches looks into few
// blocks, wherever the matches are. It grows with the logarithm.
func TestShelfVisits(t *testing.T) {
	const n = 20_000
	hot := hotShelf(n)
	if len(hot.blocks) < 30 {
		t.Fatalf("%d blocks, want more to look into", len(hot.blocks))
	}
	all := func(*row) bool { return true }
	for _, at := range []int64{0, n / 3, n / 2, n - 1} {
		for name, f := range map[string]func(*shelf){
			"scan":              func(s *shelf) { s.scan(at-1, at+1, all) },
			"the first of many": func(s *shelf) { s.scan(at, n, func(*row) bool { return false }) },
			"add":               func(s *shelf) { s.add(&row{timeMs: at}) },
			"remove":            func(s *shelf) { s.remove(at-1, at+1, nil) },
		} {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				if got := visited(hot, f); got > 10 {
					t.Errorf("looks into %d blocks", got)
				}
			})
		}
	}
	if got := visited(hot, func(s *shelf) { s.drop(0) }); got > 10 {
		t.Errorf("to drop one row it looks into %d blocks", got)
	}
}

// TestHotKeyVisits: a row of a semi join looks at the earliest of 20,000 matches and no
// further, and a row of any join at its own matches only, among 20,000 rows of its key.
func TestHotKeyVisits(t *testing.T) {
	for _, c := range []struct {
		kind         string
		lower, upper int64
	}{
		{"left_semi", 0, 1 << 20}, {"left_anti", 0, 1 << 20}, {"inner", 2, 3}, {"full", 2, 3},
	} {
		t.Run(c.kind, func(t *testing.T) {
			d := newDriver(oracle.JoinConfig{Type: c.kind, LowerMs: c.lower, UpperMs: c.upper})
			var m message
			for at := range int64(20_000) {
				m.add(at, at, appendEntry(nil, []byte("hot"), []byte("r")))
			}
			if err := d.takeMessage(m.seal(right, d.newID())); err != nil {
				t.Fatal(err)
			}
			hot := d.cell.keys["hot"].shelves[right]
			got := visited(&hot, func(s *shelf) {
				d.cell.keys["hot"] = &keyRows{shelves: [2]shelf{right: *s}}
				if err := d.take(left, oracle.JoinElement{Key: "hot", ID: "l", TimeMs: 7_000}); err != nil {
					t.Error(err)
				}
			})
			if got > 10 {
				t.Errorf("looks into %d of %d blocks", got, len(hot.blocks))
			}
		})
	}
}
