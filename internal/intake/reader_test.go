package intake

import (
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// TestEnds: the ends of a grid that tells the truth are those of the windows that
// a Reader gives.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.Int64Range(1, 100_000).Draw(t, "period")
		size := period * rapid.Int64Range(1, 30).Draw(t, "many")
		fn := rapid.SampledFrom([]windowfns.Grid{
			windowfns.Tumbling{Size: duration(size), Offset: duration(period - 1)},
			windowfns.Sliding{Size: duration(size + period/2), Period: duration(period)},
			windowfns.Cumulative{Size: duration(size), Step: duration(period)},
		}).Draw(t, "windows")
		r := reader(t, fn)
		tMs := rapid.Int64Range(MinTimeMs-1, MaxTimeMs+1).Draw(t, "time")
		first, last, err := r.Ends(fn, tMs)
		windows, wantErr := r.Windows(tMs)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v as with all windows", err, wantErr)
		}
		if err == nil && (first != windows[0].EndMs || last != windows[len(windows)-1].EndMs) {
			t.Fatalf("%d to %d, want the ends of %v", first, last, windows)
		}
	})
}

// liar is a grid whose methods say what the test wants.
type liar struct {
	windowfns.Tumbling
	first, last, step int64
	size              int64 // of the windows
	off               int64 // how far the ends of windows are from those that are asked for
}

func (l liar) Ends(int64) (firstMs, lastMs int64) { return l.first, l.last }
func (l liar) StepMs() int64                      { return l.step }
func (l liar) EndingAt(endMs int64) windowfns.Window {
	return windowfns.Window{StartMs: endMs + l.off - l.size, EndMs: endMs + l.off}
}

// TestEndsOfLiars: a grid that does not keep its promises is an error that says
// how, and never goes on to lose or double an element.
func TestEndsOfLiars(t *testing.T) {
	r := reader(t, windowfns.Tumbling{Size: duration(10)})
	for _, c := range []struct {
		name string
		grid liar
		want string
	}{
		{"", liar{first: 10, last: 30, step: 10, size: 30}, ""},
		{"no step", liar{first: 10, last: 30, size: 30}, "want a run"},
		{"a step back", liar{first: 10, last: 30, step: -10, size: 30}, "want a run"},
		{"the last first", liar{first: 30, last: 10, step: 10, size: 30}, "want a run"},
		{"between two steps", liar{first: 10, last: 25, step: 10, size: 30}, "want a run"},
		{"too early", liar{first: 0, last: 30, step: 10, size: 30}, "want windows around it"},
		{"too late", liar{first: 10, last: 40, step: 10, size: 30}, "want windows around it"},
		{"other ends", liar{first: 10, last: 30, step: 10, size: 30, off: 1}, "want windows around it"},
		{"of centuries", liar{first: 10, last: 10, step: 10, size: 3 * maxSpanMs}, "no more than 100 years"},
		{"far away", liar{first: 10, last: 20 + (MaxTimeMs+maxSpanMs)/10*10, step: 10, size: 2*MaxTimeMs + maxSpanMs}, "no more than 100 years"},
	} {
		_, _, err := r.Ends(c.grid, 5)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("the truth: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// copies are what a Reader puts into a packer for one element.
type copies struct {
	AtMs, FirstMs, LastMs int64
	Windows, Probes       int
	Raw                   string
}

// TestGateRuns: an element that probes goes to the gate once for each run of its
// windows, and once for each window where it does not.
func TestGateRuns(t *testing.T) {
	grid := windowfns.Sliding{Size: duration(30), Period: duration(10)}
	at := func(ends ...int64) (all []windowfns.Window) {
		for _, end := range ends {
			all = append(all, grid.EndingAt(end))
		}
		return all
	}
	for _, c := range []struct {
		name     string
		cfg      routing.Config
		doubtful []windowfns.Window
		want     []copies
	}{
		{"no probe", routing.Config{}, at(10, 20), []copies{{9, 10, 10, 2, 2, "raw"}, {19, 20, 20, 2, 2, ""}}},
		{"a run", routing.Config{Probe: true}, at(10, 20, 30), []copies{{9, 10, 30, 3, 1, "raw"}}},
		{"one window", routing.Config{Probe: true}, at(10), []copies{{9, 10, 10, 1, 1, "raw"}}},
		// A runner can tear the windows of an element apart; each run is an element then.
		{"torn", routing.Config{Probe: true}, at(10, 30, 40), []copies{{9, 10, 10, 1, 1, "raw"}, {29, 30, 40, 2, 1, "raw"}}},
	} {
		r := reader(t, grid)
		r.Routing = c.cfg
		var p routing.Packer
		r.Gate(&p, 3, c.doubtful, routing.Item{TimeMs: 5, Windows: len(c.doubtful), Body: []byte("body"), Raw: []byte("raw")})
		var got []copies
		r.FlushSuspects(&p, func(et beam.EventTime, shard int64, b []byte) {
			batch, err := routing.ReadBatch(b)
			if err != nil || shard != 3 {
				t.Fatal(shard, err)
			}
			for it := (routing.Item{}); batch.Next(&it); {
				if it.TimeMs != 5 || string(it.Body) != "body" {
					t.Errorf("%s: %+v", c.name, it)
				}
				got = append(got, copies{int64(et), batch.Window.EndMs, it.OtherMs, it.Windows, it.Probes, string(it.Raw)})
			}
		})
		byTime := cmp.Transformer("sort", func(all []copies) map[int64]copies {
			m := map[int64]copies{}
			for _, c := range all {
				m[c.AtMs] = c
			}
			return m
		})
		if diff := cmp.Diff(c.want, got, byTime); diff != "" || len(got) != len(c.want) {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.name, diff)
		}
	}
}
