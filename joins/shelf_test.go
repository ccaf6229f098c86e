package joins

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestShelf compares a shelf with a sorted slice.
func TestShelf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s shelf
		var want []*row
		spread := rapid.SampledFrom([]int64{3, 200, 100_000}).Draw(t, "spread")
		at := func(name string) int64 { return rapid.Int64Range(-spread, spread).Draw(t, name) }
		var clock int64
		add := func(ms int64) {
			r := &row{timeMs: ms}
			s.add(r)
			i, _ := slices.BinarySearchFunc(want, ms+1, func(r *row, ms int64) int { return int(r.timeMs - ms) })
			want = slices.Insert(want, i, r)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) { add(at("ms")) },
			"add many in order": func(*rapid.T) {
				for range rapid.IntRange(1, 3*blockRows).Draw(t, "n") {
					clock++
					add(clock / 2)
				}
			},
			"add many": func(*rapid.T) {
				ms := at("ms")
				for i := range rapid.IntRange(1, 2*blockRows).Draw(t, "n") {
					add((ms + int64(i)*7919) % spread)
				}
			},
			"remove": func(*rapid.T) {
				from, to := at("from"), at("to")
				from, to = min(from, to), max(from, to)
				var got []*row
				s.remove(from, to, func(r *row) { got = append(got, r) })
				sameRows(t, "removed", got, within(want, from, to))
				want = slices.DeleteFunc(want, func(r *row) bool { return from <= r.timeMs && r.timeMs <= to })
			},
			"drop": func(*rapid.T) {
				to := at("to")
				s.drop(to)
				want = slices.DeleteFunc(want, func(r *row) bool { return r.timeMs <= to })
			},
			"": func(t *rapid.T) {
				if s.len() != len(want) {
					t.Fatalf("%d rows, want %d", s.len(), len(want))
				}
				from, to := at("scan from"), at("scan to")
				var got []*row
				s.scan(from, to, func(r *row) bool { got = append(got, r); return true })
				sameRows(t, "scanned", got, within(want, from, to))
				if len(got) > 1 {
					n := 0
					s.scan(from, to, func(*row) bool { n++; return n < 2 })
					if n != 2 {
						t.Fatalf("a scan that is to stop at the second row has seen %d", n)
					}
				}
				for _, b := range s.blocks {
					if len(b) == 0 || len(b) > blockRows {
						t.Fatalf("a block of %d rows", len(b))
					}
				}
			},
		})
	})
}

func within(rows []*row, from, to int64) (in []*row) {
	for _, r := range rows {
		if from <= r.timeMs && r.timeMs <= to {
			in = append(in, r)
		}
	}
	return in
}

func sameRows(t *rapid.T, what string, got, want []*row) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s %s, want %s", what, times(got), times(want))
	}
}

func times(rows []*row) string {
	var ms []int64
	for _, r := range rows {
		ms = append(ms, r.timeMs)
	}
	return fmt.Sprint(ms)
}
