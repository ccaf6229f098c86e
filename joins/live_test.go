package joins_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/joins"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

// liveElement is an element of a live source with the watermark that the source had
// when it read it.
type liveElement struct {
	oracle.JoinElement
	side   string
	markMs int64
}

// liveScript is a stream of both sides with disorder inside the source's bound of
// 200 ms, and every 8th element further behind.
func liveScript(seed uint64, n int) (*streamtest.Timeline, []liveElement) {
	const bound = 200
	rng := rand.New(rand.NewPCG(seed, 6))
	var tl streamtest.Timeline
	var all []liveElement
	wm := int64(math.MinInt64)
	for i := range n {
		at := 1_700_000_000_000 + 10*int64(i) - rng.Int64N(bound)
		switch rng.IntN(16) {
		case 0:
			at -= bound + rng.Int64N(600)
		case 1:
			at -= rng.Int64N(10_000_000)
		}
		e := oracle.JoinElement{Key: fmt.Sprintf("k%d", rng.IntN(4)), ID: fmt.Sprint(i), TimeMs: at}
		side := []string{"left", "right"}[rng.IntN(2)]
		all = append(all, liveElement{e, side, wm})
		tl.At(at, event{side, e.Key, e.ID})
		if at-bound > wm {
			wm = at - bound
			tl.Watermark(wm)
		}
	}
	return &tl, all
}

// TestLive reads a live source in bundles of many sizes, with marks that decide, with
// marks that do not, and without.
func TestLive(t *testing.T) {
	for i, c := range []struct {
		perBundle      int
		marked, decide bool
	}{
		{1, true, true},
		{30, true, true},
		{400, true, true},
		{7, true, false},
		{50, true, false},
		{400, true, false},
		{20, false, false},
		{100, false, false},
	} {
		t.Run(fmt.Sprintf("bundle=%d/marked=%v/decide=%v", c.perBundle, c.marked, c.decide), func(t *testing.T) {
			n := 300
			if c.perBundle == 1 {
				n = 80
			}
			tl, all := liveScript(uint64(i), n)
			ocfg := oracle.JoinConfig{Type: oracle.JoinTypes[i%6], LowerMs: -90, UpperMs: 60, LatenessMs: int64(i%2) * 100}
			if c.decide && c.perBundle > 1 {
				ocfg.Type = "full"
			}
			cfg := configOf(ocfg)
			cfg.Watermarked, cfg.MarksDecide, cfg.Shards = c.marked, c.decide, 1+i%3
			out := play(t, cfg, live(tl, c.perBundle))
			t.Logf("%d rows, %d late, left %+v, right %+v", len(out.rows), len(out.late), out.left, out.right)
			out.judge(t, cfg, ocfg, all)
		})
	}
}

// judge checks an outcome against what may come of a live source: an element is late
// only if it is by its mark, and if marks decide, every such element is. What is not
// late is joined as the definition says, once, and in no other row.
func (o outcome) judge(t *testing.T, cfg joins.Config, ocfg oracle.JoinConfig, all []liveElement) {
	t.Helper()
	late := map[string]bool{}
	for _, l := range o.late {
		if late[l.Element.ID] {
			t.Errorf("%+v is late twice", l)
		}
		late[l.Element.ID] = true
	}
	var want, rest []oracle.JoinLate
	var accepted []oracle.JoinStep
	times := map[string]int64{}
	for _, e := range all {
		times[e.ID] = e.TimeMs
		byMark := e.markMs > e.TimeMs+ocfg.LatenessMs
		switch {
		case late[e.ID] && !byMark:
			t.Errorf("%+v is late", e)
		case byMark && cfg.MarksDecide && !late[e.ID]:
			t.Errorf("%+v is not late", e)
		}
		if late[e.ID] {
			want = append(want, oracle.JoinLate{Side: e.side, Element: e.JoinElement})
			continue
		}
		if e.side == "left" {
			accepted = append(accepted, oracle.Left(e.JoinElement))
		} else {
			accepted = append(accepted, oracle.Right(e.JoinElement))
		}
	}
	rest = append(rest, o.late...)
	if diff := streamtest.Diff(want, rest); diff != "" {
		t.Errorf("late: %s", diff)
	}

	// Without watermarks the oracle joins all of them.
	res := anyStep(ocfg.Play(accepted))
	rows := anyStep(oracle.JoinResult{Rows: o.rows}).Rows
	if ocfg.Type == "left_semi" {
		// The time of a row depends on the order of arrival.
		for i, r := range rows {
			if d := r.TimeMs - times[r.Left]; d < 0 || d > max(0, ocfg.UpperMs) {
				t.Errorf("%+v of an element at %d", r, times[r.Left])
			}
			rows[i].TimeMs = 0
		}
		for i := range res.Rows {
			res.Rows[i].TimeMs = 0
		}
	}
	if diff := streamtest.Diff(res.Rows, rows); diff != "" {
		t.Errorf("rows: %s", diff)
	}
}

// TestMarksAreNotHarsher plays elements whose marks are ahead of the joint watermark,
// as those of a side that is ahead of the other are: without MarksDecide the joint
// watermark decides, and with it the marks.
func TestMarksAreNotHarsher(t *testing.T) {
	at := int64(1_700_000_000_000)
	for _, decide := range []bool{false, true} {
		t.Run(fmt.Sprintf("decide=%v", decide), func(t *testing.T) {
			var tl streamtest.Timeline
			tl.Watermark(at).
				At(at, marked{event{"left", "k", "in time by both"}, at}).
				At(at, marked{event{"left", "k", "late by its mark"}, at + 101}).
				At(at, marked{event{"left", "k", "at the edge"}, at + 100}).
				At(at-101, marked{event{"left", "k", "late by both"}, at}).
				At(at-100, marked{event{"right", "k", "right"}, at})
			cfg := joins.Config{Lower: -100 * ms, Type: joins.Full, AllowedLateness: 100 * ms, Watermarked: true, MarksDecide: decide}
			out := play(t, cfg, stepwiseMarked(&tl))
			late := []oracle.JoinLate{{Side: "left", Element: oracle.JoinElement{Key: "k", ID: "late by both", TimeMs: at - 101}}}
			rows := []oracle.JoinRow{
				{Key: "k", Left: "in time by both", Right: "right", TimeMs: at},
				{Key: "k", Left: "at the edge", Right: "right", TimeMs: at},
			}
			byMark := oracle.JoinElement{Key: "k", ID: "late by its mark", TimeMs: at}
			if decide {
				late = append(late, oracle.JoinLate{Side: "left", Element: byMark})
			} else {
				rows = append(rows, oracle.JoinRow{Key: "k", Left: byMark.ID, Right: "right", TimeMs: at})
			}
			if diff := streamtest.Diff(late, out.late); diff != "" {
				t.Errorf("late: %s", diff)
			}
			if diff := streamtest.Diff(rows, out.rows); diff != "" {
				t.Errorf("rows: %s", diff)
			}
		})
	}
}
