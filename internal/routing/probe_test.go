package routing

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

func ship(t interface{ Fatal(...any) }, grid windowfns.Grid) portable.Value {
	v, err := portable.Of(grid)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ready sets a DoFn up.
func ready[F interface{ Setup() error }](t interface{ Fatal(...any) }, fn F) F {
	if err := fn.Setup(); err != nil {
		t.Fatal(err)
	}
	return fn
}

// grids draws grids whose elements have several windows: of sizes that are no
// multiple of the period, too, and cumulative ones, where the number of windows
// differs from element to element.
func grids() *rapid.Generator[windowfns.Grid] {
	return rapid.Custom(func(t *rapid.T) windowfns.Grid {
		period := rapid.Int64Range(1, 20).Draw(t, "period")
		many := rapid.Int64Range(2, 40).Draw(t, "many")
		if rapid.Bool().Draw(t, "cumulative") {
			return windowfns.Cumulative{Step: millis(period), Size: millis(period * many)}
		}
		return windowfns.Sliding{Size: millis(period*many + rapid.Int64Range(0, period-1).Draw(t, "extra")), Period: millis(period)}
	})
}

// stood is one item as it stands for windows.
type stood struct {
	First, Last     int64
	Probes, Windows int
	Raw             string
}

// standing are the items of what a DoFn emitted, which has to be stamped with the
// deadline of the windows that batches are for.
func standing(t interface{ Fatal(...any) }, out []sent, delayMs int64) (all []stood) {
	for _, s := range out {
		batch, err := ReadBatch(s.B)
		if err != nil {
			t.Fatal(err)
		}
		if s.Shard != 2 || s.At != batch.Window.EndMs-1+delayMs {
			t.Fatal("a batch of shard", s.Shard, "at", s.At, "for", batch.Window, "with a delay of", delayMs)
		}
		for it := (Item{}); batch.Next(&it); {
			if it.Run != (it.OtherMs != batch.Window.EndMs) {
				t.Fatal("a run", it.Run, "from", batch.Window.EndMs, "to", it.OtherMs)
			}
			all = append(all, stood{batch.Window.EndMs, it.OtherMs, it.Probes, it.Windows, string(it.Raw)})
		}
	}
	slices.SortFunc(all, func(a, b stood) int { return int(a.First - b.First) })
	return all
}

// TestExpand: the runs that an element is cut into are its windows, each once,
// about as many as each has, and so are the windows that a run is cut into.
func TestExpand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := grids().Draw(t, "grid")
		first, last := grid.Ends(rapid.Int64Range(-500, 500).Draw(t, "time"))
		windows := int((last-first)/grid.StepMs()) + 1
		var p Packer
		it := Item{Windows: windows, Probes: 1, Run: windows > 1, OtherMs: last, Body: []byte("body"), Raw: []byte("raw")}
		p.Add(2, grid.EndingAt(first), &it)
		var whole, runs []sent
		p.Flush(0, into(&whole))

		if err := ready(t, &expandFn{Windows: ship(t, grid), Runs: true}).ProcessElement(2, whole[0].B, into(&runs)); err != nil {
			t.Fatal(err)
		}
		next := first
		all := standing(t, runs, 0)
		for i, r := range all {
			if r.First != next || r.Last < r.First || r.Probes != windows || r.Windows != windows || r.Raw != "raw" {
				t.Fatalf("run %d of %d to %d: %+v", i, first, last, r)
			}
			next = r.Last + grid.StepMs()
		}
		root := math.Ceil(math.Sqrt(float64(windows)))
		if next-grid.StepMs() != last || float64(len(all)) > root || float64((all[0].Last-first)/grid.StepMs()+1) > root {
			t.Fatalf("%d windows in %d runs to %d: %+v", windows, len(all), next, all)
		}

		// Between the two, a run is turned to its other end and is still the same.
		singles := ready(t, &expandFn{Windows: ship(t, grid)})
		var ends, back, apart []sent
		turn := ready(t, &turnFn{Windows: ship(t, grid), DelayMs: 7})
		for _, b := range runs {
			if err := turn.ProcessElement(2, b.B, into(&ends)); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range ends {
			if err := turn.ProcessElement(2, b.B, into(&back)); err != nil {
				t.Fatal(err)
			}
			if err := singles.ProcessElement(2, b.B, into(&apart)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(all, standing(t, back, 7)); diff != "" {
			t.Fatalf("turned twice: mismatch (-want +got):\n%s", diff)
		}
		var want []stood
		for _, r := range all {
			raw := "raw" // for the first of those that are judged together
			for end := r.First; end <= r.Last; end += grid.StepMs() {
				want = append(want, stood{end, end, windows, windows, raw})
				raw = ""
			}
		}
		// An element of one window has no number to be kept.
		if diff := cmp.Diff(want, standing(t, apart, 0)); diff != "" {
			t.Fatalf("windows: mismatch (-want +got):\n%s", diff)
		}
		if windows > 1 {
			ids := map[elementID]bool{}
			for _, out := range [][]sent{runs, ends, back, apart} {
				for _, s := range out {
					batch, _ := ReadBatch(s.B)
					for it := (Item{}); batch.Next(&it); {
						ids[elementID{batch.nonce, it.Seq}] = true
					}
				}
			}
			if len(ids) != 1 {
				t.Fatalf("the parts of one element have the numbers %v", ids)
			}
		}
	})
}

// TestPackerFor: batches of elements that are numbered already keep their nonce.
func TestPackerFor(t *testing.T) {
	p := packerFor(77)
	w := windowfns.Window{EndMs: 10}
	p.Add(2, w, &Item{Windows: 3, Probes: 3, Seq: 5})
	p.Add(2, windowfns.Window{EndMs: 20}, &Item{Windows: 3, Probes: 3, Seq: 5})
	var out []sent
	p.Flush(0, into(&out))
	for _, s := range out {
		batch, err := ReadBatch(s.B)
		if err != nil || batch.nonce != 77 {
			t.Errorf("nonce %d, %v, want 77", batch.nonce, err)
		}
		if it := (Item{}); !batch.Next(&it) || it.Seq != 5 {
			t.Errorf("%+v, want the number 5", it)
		}
	}
	if len(out) != 2 {
		t.Errorf("%d batches, want 2", len(out))
	}
}

// TestVerdictsOnRuns: a run that is in time is one verdict that stands for all its
// windows; one that is late misses each of them, in one record.
func TestVerdictsOnRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := grids().Draw(t, "grid")
		first, last := grid.Ends(rapid.Int64Range(-500, 500).Draw(t, "time"))
		windows := int((last-first)/grid.StepMs()) + 1
		var p Packer
		p.Add(2, grid.EndingAt(first), &Item{TimeMs: -3, Windows: windows, Probes: 1, Run: windows > 1, OtherMs: last, Raw: []byte("raw")})
		var whole, runs []sent
		p.Flush(0, into(&whole))
		if err := ready(t, &expandFn{Windows: ship(t, grid), Runs: true}).ProcessElement(2, whole[0].B, into(&runs)); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(runs, func(a, b sent) int { return int(a.At - b.At) })

		// The first few are late. Those that are judged by their last window are
		// turned to it.
		late := rapid.IntRange(0, len(runs)).Draw(t, "late")
		var verdicts, records [][]byte
		var missed []windowfns.Window
		for i, r := range runs {
			if rapid.Bool().Draw(t, "turned") {
				var ends []sent
				if err := ready(t, &turnFn{Windows: ship(t, grid)}).ProcessElement(2, r.B, into(&ends)); err != nil {
					t.Fatal(err)
				}
				r = ends[0]
			}
			batch, err := ReadBatch(r.B)
			if err != nil {
				t.Fatal(err)
			}
			if i < late {
				for _, s := range standing(t, []sent{r}, 0) {
					for end := min(s.First, s.Last); end <= max(s.First, s.Last); end += grid.StepMs() {
						missed = append(missed, grid.EndingAt(end))
					}
				}
			}
			f := newFindings(grid)
			if err := f.judge(&batch, i < late); err != nil {
				t.Fatal(err)
			}
			f.emit(2, func(_ typex.EventTime, _ int64, b []byte) { records = append(records, b) },
				func(at typex.EventTime, _ int64, b []byte) {
					if int64(at) >= batch.Window.EndMs {
						t.Fatalf("verdicts on %v at %d", batch.Window, at)
					}
					verdicts = append(verdicts, b)
				})
		}
		if late > 0 {
			records = append(records, nil)
		}
		c := collector{}
		var got []LateRecord
		for _, v := range rapid.Permutation(verdicts).Draw(t, "order") {
			b, _, err := c.add(v, nil, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, unpackLate(t, b)...)
		}
		for _, b := range records {
			got = append(got, unpackLate(t, b)...)
		}
		var want []LateRecord
		if late > 0 {
			want = []LateRecord{{TimeMs: -3, Missed: missed, All: late == len(runs), Raw: []byte("raw")}}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(c) > 0 {
			t.Fatalf("%d left, mismatch (-want +got):\n%s", len(c), diff)
		}
	})
}

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

// What cannot be read is an error of the DoFns, not a panic.
func TestMalformedRuns(t *testing.T) {
	grid := windowfns.Sliding{Size: millis(30), Period: millis(10)}
	good := appendItem(appendHeader(nil, grid.EndingAt(10), 9), &Item{Windows: 3, Probes: 3, Seq: 1, Run: true, OtherMs: 30, Raw: []byte("raw")})
	for cut := range good {
		var out []sent
		for name, fn := range map[string]func(int64, []byte, Emit) error{
			"expand": ready(t, &expandFn{Windows: ship(t, grid)}).ProcessElement,
			"runs":   ready(t, &expandFn{Windows: ship(t, grid), Runs: true}).ProcessElement,
			"turn":   ready(t, &turnFn{Windows: ship(t, grid)}).ProcessElement,
		} {
			header := len(appendHeader(nil, grid.EndingAt(10), 9))
			if err := fn(2, good[:cut], into(&out)); (err == nil) != (cut == header) {
				t.Errorf("%s: cut at %d of %d: %v", name, cut, len(good), err)
			}
		}
	}
	for _, fn := range []interface{ Setup() error }{&expandFn{}, &turnFn{}, &splitFn{Windows: portable.Value{Type: ship(t, grid).Type, JSON: []byte("?")}}} {
		if err := fn.Setup(); err == nil {
			t.Errorf("%T is set up without a grid", fn)
		}
	}
}
