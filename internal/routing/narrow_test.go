package routing

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// stage is a gate of [narrow] and of the exact gates behind it, in the order in
// which items meet them.
type stage struct {
	name   string
	fn     *splitFn
	passTo string // "" for what is in time
	restTo string // "" for late records

	// What stands between this gate and the next.
	pass, rest func(shard int64, packed []byte, emit Emit) error
}

func stagesOf(t *rapid.T, cfg Config) []stage {
	v := cfg.Windows
	expand := ready(t, &expandFn{Windows: v}).ProcessElement
	turn := func(delayMs int64) func(int64, []byte, Emit) error {
		return ready(t, &turnFn{Windows: v, DelayMs: delayMs}).ProcessElement
	}
	l := cfg.LatenessMs
	all := []stage{{name: "first", fn: &splitFn{}, restTo: "run_first 0", rest: ready(t, &expandFn{Windows: v, Runs: true}).ProcessElement}}
	bracket := func(delayMs int64, last bool) {
		first, end := fmt.Sprint("run_first ", delayMs), fmt.Sprint("run_last ", delayMs)
		ends := stage{name: end, fn: &splitFn{PassDelayMs: delayMs, Last: last, Windows: v}, passTo: "on_time", pass: expand}
		if !last {
			ends.restTo, ends.rest = fmt.Sprint("run_first ", l), turn(l)
		}
		all = append(all, stage{
			name: first, fn: &splitFn{PassDelayMs: delayMs, RestDelayMs: delayMs, Final: true, Many: true, Windows: v},
			restTo: end, rest: turn(delayMs),
		}, ends)
	}
	bracket(0, l == 0)
	exact := []stage{{name: "on_time", fn: &splitFn{RestDelayMs: l, Last: l == 0, Final: true, Many: true}}}
	if l > 0 {
		bracket(l, true)
		exact[0].restTo = "corrections"
		exact = append(exact, stage{name: "corrections", fn: &splitFn{PassDelayMs: l, Last: true, Final: true, Many: true}})
	}
	all = append(all, exact...)
	for i := range all {
		ready(t, all[i].fn)
	}
	return all
}

// narrowing plays elements through the gates of [narrow]. The watermark of a gate
// lags that of the one in front of it, and what waits for the DoFn behind a gate
// holds the ones after it.
type narrowing struct {
	stages  []stage
	wm      map[string]int64
	behind  map[string]int64 // the watermark of the DoFn behind a gate
	waiting []message
	c       collector
	records []LateRecord
	inTime  map[string]string // a body and a window, and the output
}

// advance brings the watermark to source at the first gates.
func (n *narrowing) advance(source int64, gates int) {
	for _, st := range n.stages[:gates] {
		n.wm[st.name] = max(n.wm[st.name], source)
		source = n.wm[st.name]
		for _, m := range n.waiting {
			if m.to == st.name {
				source = min(source, m.At)
			}
		}
		n.behind[st.name] = max(n.behind[st.name], source)
		source = n.behind[st.name]
	}
}

func (n *narrowing) meet(to string, all []sent) {
	slices.SortFunc(all, func(a, b sent) int { return int(a.At-b.At)*4 + int(a.Shard-b.Shard) })
	for _, s := range all {
		n.waiting = append(n.waiting, message{to, n.wm[to] > s.At, s})
	}
}

func (n *narrowing) step(t *rapid.T, grid windowfns.Grid, i int) {
	m := n.waiting[i]
	n.waiting = slices.Delete(n.waiting, i, i+1)
	st := n.stages[slices.IndexFunc(n.stages, func(s stage) bool { return s.name == m.to })]
	pane := typex.PaneInfo{Timing: typex.PaneEarly}
	if m.late {
		pane.Timing = typex.PaneLate
	}
	given := false
	next := func(p *[]byte) bool {
		*p, given = m.B, !given
		return given
	}
	var pass, rest, verdicts []sent
	if err := st.fn.ProcessElement(pane, m.Shard, next, into(&pass), into(&rest), into(&verdicts)); err != nil {
		t.Fatal(err)
	}
	var on []sent
	through := func(fn func(int64, []byte, Emit) error, from []sent, to string) {
		on = nil
		for _, s := range from {
			if fn == nil {
				on = append(on, s)
			} else if err := fn(s.Shard, s.B, into(&on)); err != nil {
				t.Fatal(err)
			}
		}
		n.meet(to, on)
	}
	if st.passTo != "" {
		through(st.pass, pass, st.passTo)
	} else {
		pane := "on time"
		if st.fn.PassDelayMs > 0 {
			pane = "correction"
		}
		for _, s := range pass {
			batch, err := ReadBatch(s.B)
			if err != nil {
				t.Fatal(err)
			}
			for it := (Item{}); batch.Next(&it); {
				for end := batch.Window.EndMs; end <= it.OtherMs; end += grid.StepMs() {
					k := fmt.Sprintf("%s %d", it.Body, end)
					if n.inTime[k] != "" {
						t.Fatalf("%s is in time twice", k)
					}
					n.inTime[k] = pane
				}
			}
		}
	}
	if st.restTo != "" {
		through(st.rest, rest, st.restTo)
	} else {
		for _, s := range rest {
			n.records = append(n.records, unpackLate(t, s.B)...)
		}
	}
	for _, s := range verdicts {
		b, _, err := n.c.add(s.B, nil, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		n.records = append(n.records, unpackLate(t, b)...)
	}
}

// TestNarrow takes elements of many windows through the gates, in any order, with
// a watermark that goes on at any time, and further at the first gates than at
// those behind. Each window comes out once, in time or missed, missed ones in one
// record that carries the element, and none is late before its time. With a
// watermark that stands still, all verdicts are those of the plain rule.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := grids().Draw(t, "grid")
		cfg := Config{Many: true, Probe: true, LatenessMs: rapid.SampledFrom([]int64{0, 1, 90}).Draw(t, "lateness"), Windows: ship(t, grid)}
		n := narrowing{stages: stagesOf(t, cfg), wm: map[string]int64{}, behind: map[string]int64{}, c: collector{}, inTime: map[string]string{}}
		const origin = -1000
		for _, st := range n.stages {
			n.wm[st.name], n.behind[st.name] = math.MinInt64, math.MinInt64
		}
		still := rapid.Bool().Draw(t, "still")
		source := int64(origin)
		on := func() {
			gates := len(n.stages)
			if !still {
				gates = rapid.IntRange(1, gates).Draw(t, "gates")
			}
			n.advance(source, gates)
		}
		on()

		var times []int64
		var p Packer
		for i := range rapid.IntRange(1, 5).Draw(t, "elements") {
			tMs := origin - rapid.Int64Range(-20, 900).Draw(t, "behind")
			first, last := grid.Ends(tMs)
			windows := int((last-first)/grid.StepMs()) + 1
			times = append(times, tMs)
			p.Add(int64(i%2), grid.EndingAt(first), &Item{
				TimeMs: tMs, Windows: windows, Probes: 1, Run: true, OtherMs: last,
				Body: fmt.Append(nil, i), Raw: fmt.Append(nil, "element ", i),
			})
		}
		var out []sent
		p.Flush(0, into(&out))
		n.meet("first", out)
		for len(n.waiting) > 0 {
			if !still && rapid.Bool().Draw(t, "go on") {
				source += rapid.Int64Range(0, 300).Draw(t, "by")
				on()
			}
			n.step(t, grid, rapid.IntRange(0, len(n.waiting)-1).Draw(t, "next"))
		}

		if len(n.c) > 0 {
			t.Fatalf("%d elements are not judged", len(n.c))
		}
		missed := map[string][]windowfns.Window{}
		for _, rec := range n.records {
			if len(rec.Raw) == 0 || missed[string(rec.Raw)] != nil {
				t.Fatalf("a second record, or one without its element: %+v", rec)
			}
			missed[string(rec.Raw)] = rec.Missed
		}
		for i, tMs := range times {
			raw := fmt.Sprint("element ", i)
			all := grid.AppendWindows(nil, tMs)
			for _, w := range all {
				pane := n.inTime[fmt.Sprint(i, " ", w.EndMs)]
				late := slices.Contains(missed[raw], w)
				if late == (pane != "") {
					t.Fatalf("element %d and %v: in time %q, missed %v", i, w, pane, late)
				}
				if late && source < w.EndMs+cfg.LatenessMs || pane == "correction" && source < w.EndMs {
					t.Fatalf("element %d and %v: %q, missed %v, at %d", i, w, pane, late, source)
				}
				if still && (late != (source >= w.EndMs+cfg.LatenessMs) || !late && (pane == "on time") != (source < w.EndMs)) {
					t.Fatalf("element %d and %v: %q, missed %v, at %d", i, w, pane, late, source)
				}
			}
			delete(missed, raw)
		}
		if len(missed) > 0 {
			t.Fatalf("records of no element: %v", missed)
		}
		for _, rec := range n.records {
			var i int
			if _, err := fmt.Sscanf(string(rec.Raw), "element %d", &i); err != nil {
				t.Fatal(err)
			}
			if want := len(grid.AppendWindows(nil, times[i])) == len(rec.Missed); rec.All != want || rec.TimeMs != times[i] {
				t.Fatalf("record %+v of %d", rec, times[i])
			}
		}
	})
}
