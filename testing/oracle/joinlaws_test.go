package oracle_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/testing/oracle"
)

// TestJoinLaws checks what holds for every script: each element is in pairs, or
// unmatched, or late, and never two of these; a pair is behind the watermark by no
// more than its elements may be late; and nothing is held at the end.
func TestJoinLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawJoinScript(t)
		res := cfg.Play(steps)

		pairs, alone, late := map[string]int{}, map[string]int{}, map[string]int{}
		for _, r := range res.Rows {
			if r.Left != "" && r.Right != "" {
				pairs[r.Left]++
				pairs[r.Right]++
			} else {
				alone[r.Left+r.Right]++
			}
		}
		for _, l := range res.Late {
			late[l.Element.ID]++
		}
		for _, st := range steps {
			e := st.Left
			if e == nil {
				e = st.Right
			}
			if e == nil {
				continue
			}
			// The rows that an element without a partner, and one with, have to have.
			unmatched := cfg.Type == "full" || cfg.Type == "left" && st.Left != nil || cfg.Type == "right" && st.Right != nil
			n := [...]int{min(pairs[e.ID], 1), alone[e.ID], late[e.ID]}
			if sum := n[0] + n[1] + n[2]; sum > 1 || unmatched && sum == 0 {
				t.Fatalf("%+v: in pairs %d, alone %d, late %d", e, pairs[e.ID], alone[e.ID], late[e.ID])
			}
		}
		for side, n := range map[string]oracle.JoinCounts{"left": res.Left, "right": res.Right} {
			if n.Assigned != n.Joined+n.Unmatched+n.Late {
				t.Errorf("%s: %+v", side, n)
			}
		}
		if last := res.Held[len(steps)]; last != (oracle.JoinHeld{}) {
			t.Errorf("%+v at the end", last)
		}
		behind(t, cfg, steps, res)
	})
}

// behind compares the times of pairs with the watermark in front of the step that
// brings them.
func behind(t *rapid.T, cfg oracle.JoinConfig, steps []oracle.JoinStep, res oracle.JoinResult) {
	at := int64(math.MinInt64)
	marks := []int64{at}
	for _, st := range steps {
		if st.Left == nil && st.Right == nil {
			at = max(at, st.WatermarkMs)
		}
		marks = append(marks, at)
	}
	for _, r := range res.Rows {
		if r.Left != "" && r.Right != "" && r.TimeMs+cfg.LatenessMs < marks[r.Step] {
			t.Fatalf("%+v with the watermark at %d", r, marks[r.Step])
		}
	}
}

// TestJoinTypesAgree compares the types with each other: left, right and full are
// inner with more, semi and anti share the left elements that are not late.
func TestJoinTypesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawJoinScript(t)
		rows := map[string][]oracle.JoinRow{}
		for _, kind := range oracle.JoinTypes {
			cfg.Type = kind
			rows[kind] = sorted(cfg.Play(steps).Rows)
		}
		only := func(rows []oracle.JoinRow, left, right bool) (some []oracle.JoinRow) {
			for _, r := range rows {
				if (r.Left != "") == left && (r.Right != "") == right {
					some = append(some, r)
				}
			}
			return some
		}
		for _, kind := range []string{"left", "right", "full"} {
			equal(t, rows["inner"], only(rows[kind], true, true))
		}
		equal(t, rows["left_anti"], only(rows["left"], true, false))
		equal(t, only(rows["left"], true, false), only(rows["full"], true, false))
		equal(t, only(rows["right"], false, true), only(rows["full"], false, true))

		partners := map[string]bool{}
		for _, r := range rows["inner"] {
			partners[r.Left] = true
		}
		for _, r := range rows["left_semi"] {
			if !partners[r.Left] {
				t.Fatalf("%+v, and no pair", r)
			}
			delete(partners, r.Left)
		}
		if len(partners) > 0 {
			t.Fatalf("pairs of %v, and no row", partners)
		}
	})
}

// TestJoinHeld compares what is held with what a partner could still do: it plays
// the script up to a step, and behind it a partner of any time.
func TestJoinHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawJoin(t)
		cfg.Type = "inner"
		steps := drawJoinScript(t)
		steps = steps[:min(len(steps), 12)]
		res := cfg.Play(steps)
		at := int64(math.MinInt64)
		for i, st := range steps {
			if st.Left == nil && st.Right == nil {
				at = max(at, st.WatermarkMs)
			}
			var got oracle.JoinHeld
			for _, before := range steps[:i+1] {
				if before.Left != nil && joins(cfg, steps[:i+1], oracle.Right, before.Left.Key, before.Left.TimeMs, before.Left.ID) {
					got.Left++
				}
				if before.Right != nil && joins(cfg, steps[:i+1], oracle.Left, before.Right.Key, before.Right.TimeMs, before.Right.ID) {
					got.Right++
				}
			}
			if got != res.Held[i] {
				t.Fatalf("step %d, watermark %d: %+v can get a partner, %+v are held", i, at, got, res.Held[i])
			}
		}
	})
}

// joins reports whether the element id, at a time, can get another partner after
// steps: whether there is a time at which one would be joined with it.
func joins(cfg oracle.JoinConfig, steps []oracle.JoinStep, side func(oracle.JoinElement) oracle.JoinStep, key string, timeMs int64, id string) bool {
	for d := int64(-40); d <= 40; d++ {
		res := cfg.Play(append(slices.Clone(steps), side(oracle.JoinElement{Key: key, ID: "new", TimeMs: timeMs + d})))
		for _, r := range res.Rows {
			if r.Left+r.Right == id+"new" || r.Left+r.Right == "new"+id {
				return true
			}
		}
	}
	return false
}
