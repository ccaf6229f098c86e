package routing

import (
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
