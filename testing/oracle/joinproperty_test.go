package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/testing/oracle"
)

func drawJoin(t *rapid.T) oracle.JoinConfig {
	cfg := oracle.JoinConfig{
		Type:           rapid.SampledFrom(oracle.JoinTypes).Draw(t, "type"),
		LowerMs:        rapid.Int64Range(-15, 15).Draw(t, "lower"),
		ExclusiveLower: rapid.Bool().Draw(t, "exclusive lower"),
		ExclusiveUpper: rapid.Bool().Draw(t, "exclusive upper"),
		LatenessMs:     rapid.Int64Range(0, 8).Draw(t, "lateness"),
	}
	cfg.UpperMs = cfg.LowerMs + 2 + rapid.Int64Range(0, 20).Draw(t, "width")
	return cfg
}

// drawJoinScript draws elements of two keys near a watermark that goes on by
// leaps. IDs differ.
func drawJoinScript(t *rapid.T) (steps []oracle.JoinStep) {
	at := rapid.Int64Range(-60, 20).Draw(t, "from")
	for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
		e := oracle.JoinElement{ID: fmt.Sprint(i)}
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if kind < 2 {
			at += rapid.Int64Range(0, 12).Draw(t, "leap")
			steps = append(steps, wm(at))
			continue
		}
		e.Key = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
		e.TimeMs = at + rapid.Int64Range(-15, 25).Draw(t, "time")
		if kind%2 == 0 {
			steps = append(steps, oracle.Left(e))
		} else {
			steps = append(steps, oracle.Right(e))
		}
	}
	return steps
}

// without returns a copy of rows without steps, sorted.
func without(rows []oracle.JoinRow) []oracle.JoinRow {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Step = 0
	}
	return sorted(rows)
}

func sorted(rows []oracle.JoinRow) []oracle.JoinRow {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b oracle.JoinRow) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
}

func equal(t *rapid.T, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("mismatch (-want +got):\n%s", diff)
	}
}

// TestJoinMirror swaps the sides, and negates and swaps the bounds.
func TestJoinMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawJoinScript(t)
		cfg.Type = rapid.SampledFrom([]string{"inner", "left", "right", "full"}).Draw(t, "two-sided type")
		mirror := cfg
		mirror.LowerMs, mirror.UpperMs = -cfg.UpperMs, -cfg.LowerMs
		mirror.ExclusiveLower, mirror.ExclusiveUpper = cfg.ExclusiveUpper, cfg.ExclusiveLower
		switch cfg.Type {
		case "left":
			mirror.Type = "right"
		case "right":
			mirror.Type = "left"
		}
		swapped := slices.Clone(steps)
		for i, st := range swapped {
			swapped[i].Left, swapped[i].Right = st.Right, st.Left
		}
		want, got := cfg.Play(steps), mirror.Play(swapped)
		for i, r := range got.Rows {
			got.Rows[i].Left, got.Rows[i].Right = r.Right, r.Left
		}
		equal(t, sorted(want.Rows), sorted(got.Rows))
		for i, h := range got.Held {
			got.Held[i] = oracle.JoinHeld{Left: h.Right, Right: h.Left}
		}
		equal(t, want.Held, got.Held)
		equal(t, want.Left, got.Right)
		equal(t, want.Right, got.Left)
	})
}

// TestJoinShift shifts a script in time.
func TestJoinShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawJoinScript(t)
		by := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "by")
		shifted := slices.Clone(steps)
		for i, st := range steps {
			switch {
			case st.Left != nil:
				e := *st.Left
				e.TimeMs += by
				shifted[i] = oracle.Left(e)
			case st.Right != nil:
				e := *st.Right
				e.TimeMs += by
				shifted[i] = oracle.Right(e)
			default:
				shifted[i].WatermarkMs += by
			}
		}
		want, got := cfg.Play(steps), cfg.Play(shifted)
		for i := range want.Rows {
			want.Rows[i].TimeMs += by
		}
		for i := range want.Late {
			want.Late[i].Element.TimeMs += by
		}
		equal(t, want, got)
	})
}

// TestJoinWiden widens the bounds of an inner join: no pair goes, and what is late
// does not change. A bound that is exclusive is the inclusive one next to it.
func TestJoinWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawJoinScript(t)
		cfg.Type = "inner"
		wide := cfg
		wide.LowerMs -= rapid.Int64Range(0, 10).Draw(t, "lower by")
		wide.UpperMs += rapid.Int64Range(0, 10).Draw(t, "upper by")
		narrow, wider := cfg.Play(steps), wide.Play(steps)
		equal(t, narrow.Late, wider.Late)
		for _, r := range narrow.Rows {
			if !slices.Contains(wider.Rows, r) {
				t.Fatalf("%+v goes with wider bounds", r)
			}
		}
		inclusive := cfg
		if inclusive.ExclusiveLower {
			inclusive.ExclusiveLower = false
			inclusive.LowerMs++
		}
		if inclusive.ExclusiveUpper {
			inclusive.ExclusiveUpper = false
			inclusive.UpperMs--
		}
		equal(t, narrow, inclusive.Play(steps))
	})
}

// TestJoinOrder shuffles elements of which none is late. Only the times of a semi
// join's rows are up to the order.
func TestJoinOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawJoin(t)
		steps := slices.DeleteFunc(drawJoinScript(t), func(st oracle.JoinStep) bool { return st.Left == nil && st.Right == nil })
		shuffled := rapid.Permutation(steps).Draw(t, "shuffled")
		want, got := cfg.Play(steps), cfg.Play(shuffled)
		if cfg.Type == "left_semi" {
			for _, res := range []oracle.JoinResult{want, got} {
				for i := range res.Rows {
					res.Rows[i].TimeMs = 0
				}
			}
		}
		equal(t, without(want.Rows), without(got.Rows))
		equal(t, want.Left, got.Left)
		equal(t, want.Right, got.Right)
	})
}
