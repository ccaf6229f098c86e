package joins

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/testing/oracle"
)

func equalRows(t *rapid.T, want, got []oracle.JoinRow) {
	t.Helper()
	if diff := cmp.Diff(sortedRows(want), sortedRows(got)); diff != "" {
		t.Fatalf("mismatch (-want +got):\n%s", diff)
	}
}

// TestCellAndOracle: each row comes out at its step, whether the memory is lost
// meanwhile or not, and a cell holds the rows that can still match and no others: those
// of a side that only looks back go as soon as the watermark has passed them. A cell
// that is read again does not know of timers that have fired before, until the next one
// fires; so of its rows those count that are not done.
func TestCellAndOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawSteps(t)
		want := cfg.Play(steps)
		loses := rapid.IntRange(0, 3).Draw(t, "loses")
		d := drive(t, cfg, steps, func(i int, d *driver) {
			if h := d.held(); loses == 0 && h != want.Held[i] {
				t.Fatalf("step %d, watermark %d: holds %+v, want %+v", i, d.wm, h, want.Held[i])
			}
			if loses > 0 && i%loses == 0 {
				if err := d.forget(); err != nil {
					t.Fatal(err)
				}
			}
			if h := d.needed(); h != want.Held[i] {
				t.Fatalf("step %d, watermark %d: needs %+v, want %+v", i, d.wm, h, want.Held[i])
			}
		})
		equalRows(t, want.Rows, d.rows)
		if d.late != len(want.Late) {
			t.Fatalf("%d late, want %d", d.late, len(want.Late))
		}
	})
}

// TestCellHoldsAGrainLonger: rows that travel together share timers, so that a row is
// held longer than it has to be, but by less than the grain of its message.
func TestCellHoldsAGrainLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawJoin(t)
		cfg.Type = "full"
		d := newDriver(cfg)
		spread := rapid.SampledFrom([]int64{50, 5_000, 2_000_000}).Draw(t, "spread")
		s := side(rapid.IntRange(0, 1).Draw(t, "side"))
		var m message
		var all []int64
		for range rapid.IntRange(1, 5*timersPerMessage).Draw(t, "rows") {
			at := rapid.Int64Range(0, spread).Draw(t, "ms")
			all = append(all, at)
			m.add(at, at, appendEntry(nil, []byte("k"), []byte("v")))
		}
		if err := d.takeMessage(m.seal(s, d.newID())); err != nil {
			t.Fatal(err)
		}
		grain := grainOf(all)
		if len(all) > timersPerMessage && spread > 5_000 && grain == 1 {
			t.Fatalf("%d rows over %d ms with a grain of 1 ms", len(all), spread)
		}
		for range 4 {
			d.wm = max(d.wm, rapid.Int64Range(-100, spread+100).Draw(t, "watermark"))
			if err := d.fireDue(); err != nil {
				t.Fatal(err)
			}
			least, most := 0, 0
			for _, at := range all {
				done := d.rules.iv[s].DoneAt(at, cfg.LatenessMs)
				if d.wm < done {
					least++
				}
				if d.wm < done+grain-1 {
					most++
				}
			}
			h := d.held()
			if n := h.Left + h.Right; n < least || n > most {
				t.Fatalf("watermark %d, grain %d: holds %d rows, want %d to %d", d.wm, grain, n, least, most)
			}
			if len(d.rows) != len(all)-h.Left-h.Right {
				t.Fatalf("%d rows are out of %d, and %+v are held", len(d.rows), len(all), h)
			}
		}
	})
}

// TestCellMirror swaps the sides, and negates and swaps the bounds.
func TestCellMirror(t *testing.T) {
	mirrors := map[string]string{"inner": "inner", "left": "right", "right": "left", "full": "full"}
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawSteps(t)
		cfg.Type = rapid.SampledFrom([]string{"inner", "left", "right", "full"}).Draw(t, "two-sided type")
		mirror := oracle.JoinConfig{
			Type: mirrors[cfg.Type], LowerMs: -cfg.UpperMs, UpperMs: -cfg.LowerMs,
			ExclusiveLower: cfg.ExclusiveUpper, ExclusiveUpper: cfg.ExclusiveLower, LatenessMs: cfg.LatenessMs,
		}
		swapped := slices.Clone(steps)
		for i, st := range swapped {
			swapped[i].Left, swapped[i].Right = st.Right, st.Left
		}
		got := drive(t, mirror, swapped, nil).rows
		for i, r := range got {
			got[i].Left, got[i].Right = r.Right, r.Left
		}
		equalRows(t, drive(t, cfg, steps, nil).rows, got)
	})
}

// shift is a script at another time.
func shift(steps []oracle.JoinStep, by int64) []oracle.JoinStep {
	move := func(e *oracle.JoinElement) *oracle.JoinElement {
		if e == nil {
			return nil
		}
		moved := *e
		moved.TimeMs += by
		return &moved
	}
	var shifted []oracle.JoinStep
	for _, st := range steps {
		shifted = append(shifted, oracle.JoinStep{Left: move(st.Left), Right: move(st.Right), WatermarkMs: st.WatermarkMs + by})
	}
	return shifted
}

// TestCellShift shifts a script in time, to before 1970 and far behind it.
func TestCellShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawSteps(t)
		by := rapid.Int64Range(-1<<41, 1<<42).Draw(t, "by")
		want := drive(t, cfg, steps, nil).rows
		for i := range want {
			want[i].TimeMs += by
		}
		equalRows(t, want, drive(t, cfg, shift(steps, by), nil).rows)
	})
}

// TestCellWiden widens the bounds of an inner join: no pair goes. A bound that is
// exclusive is the inclusive one next to it.
func TestCellWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, steps := drawJoin(t), drawSteps(t)
		cfg.Type = "inner"
		wide := cfg
		wide.LowerMs -= rapid.Int64Range(0, 10).Draw(t, "lower by")
		wide.UpperMs += rapid.Int64Range(0, 10).Draw(t, "upper by")
		wider := drive(t, wide, steps, nil).rows
		for _, r := range drive(t, cfg, steps, nil).rows {
			if !slices.Contains(wider, r) {
				t.Fatalf("%+v goes with wider bounds", r)
			}
		}
	})
}

// TestCellOrder: in any order of arrival, with partners that come late but within the
// lateness, no row is both alone and in a pair, and none that is not late is in neither.
func TestCellOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawJoin(t)
		cfg.Type = "full"
		steps := rapid.Permutation(drawSteps(t)).Draw(t, "shuffled")
		d := drive(t, cfg, steps, nil)
		pairs, alone := map[string]bool{}, map[string]int{}
		for _, r := range d.rows {
			if r.Left != "" && r.Right != "" {
				pairs[r.Left], pairs[r.Right] = true, true
			} else {
				alone[r.Left+r.Right]++
			}
		}
		elements := 0
		for _, st := range steps {
			if st.Left != nil || st.Right != nil {
				elements++
			}
		}
		for id, n := range alone {
			if pairs[id] || n > 1 {
				t.Fatalf("%s is alone %d times, and in a pair: %v", id, n, pairs[id])
			}
		}
		if len(pairs)+len(alone)+d.late != elements {
			t.Fatalf("%d in pairs, %d alone and %d late of %d", len(pairs), len(alone), d.late, elements)
		}
	})
}
