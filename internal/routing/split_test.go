package routing

import (
	"math"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// sent is what a DoFn emitted on one of its outputs.
type sent struct {
	At    int64
	Shard int64
	B     []byte
}

// into returns an emitter that appends to s.
func into(s *[]sent) Emit {
	return func(at beam.EventTime, shard int64, b []byte) {
		*s = append(*s, sent{int64(at), shard, b})
	}
}

func TestCeilMultiple(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64Range(-1e14, 1e14).Draw(t, "x")
		n := rapid.Int64Range(1, 1e13).Draw(t, "n")
		if got := ceilMultiple(x, n); got%n != 0 || got < x || got-n >= x {
			t.Fatalf("ceilMultiple(%d, %d) = %d", x, n, got)
		}
	})
}

// TestCoarseStamp: the stamp is past every deadline of the window, by less than
// a grain, and the next millisecond is a multiple of the grain, so that there
// are few of them.
func TestCoarseStamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := windows().Draw(t, "window")
		cfg := Config{LatenessMs: rapid.Int64Range(0, 1e12).Draw(t, "lateness"), RetentionMs: rapid.Int64Range(1, 1e12).Draw(t, "retention")}
		fn := &coarseFn{BeyondMs: cfg.LatenessMs + cfg.RetentionMs, GrainMs: cfg.grain()}
		var out []sent
		b := appendHeader(nil, w, 1)
		if err := fn.ProcessElement(0, 3, b, into(&out)); err != nil || len(out) != 1 || out[0].Shard != 3 || string(out[0].B) != string(b) {
			t.Fatalf("%v, %v", out, err)
		}
		last := w.EndMs + cfg.LatenessMs + cfg.RetentionMs - 1
		if at := out[0].At; at < last || at >= last+cfg.grain() || (at+1)%cfg.grain() != 0 {
			t.Fatalf("stamped %d, want from %d on, with a grain of %d", at, last, cfg.grain())
		}
		if memory := cfg.memory().Milliseconds(); memory < cfg.LatenessMs+cfg.RetentionMs+2*cfg.grain() {
			t.Fatalf("the exact gates remember %d ms, want more than what is past the coarse one", memory)
		}
	})
}

func TestMemoryWithoutRetention(t *testing.T) {
	if got := (Config{LatenessMs: 5}).memory(); got != forever {
		t.Errorf("memory = %v, want %v", got, forever)
	}
	if got := (Config{RetentionMs: MaxLateness.Milliseconds(), LatenessMs: MaxLateness.Milliseconds()}).memory(); got != forever || got <= 0 {
		t.Errorf("memory = %v, want %v at the most", got, forever)
	}
}

// TestSplit judges one batch in each role of a gate. The batch has an element of
// one window, one whose other window passes the same gate, and one of two
// windows that is only doubtful for this one.
func TestSplit(t *testing.T) {
	w := windowfns.Window{StartMs: 100, EndMs: 200}
	missed := []windowfns.Window{w}
	b := appendHeader(nil, w, 9)
	b = appendItem(b, &Item{TimeMs: 150, Windows: 1, Probes: 1, Raw: []byte("one")})
	b = appendItem(b, &Item{TimeMs: 130, Windows: 2, Probes: 2, Seq: 4, Raw: []byte("two")})
	b = appendItem(b, &Item{TimeMs: 140, Windows: 2, Probes: 1, Seq: 5, Raw: []byte("three")})

	last := &splitFn{PassDelayMs: 30, Last: true, Final: true, Many: true}
	for _, c := range []struct {
		name                string
		fn                  *splitFn
		timing              typex.PaneTiming
		pass, rest, verdict []int64 // timestamps
	}{
		{"in time", &splitFn{RestDelayMs: 30, Final: true, Many: true}, typex.PaneEarly, []int64{199}, nil, []int64{199}},
		{"in time in batch", &splitFn{RestDelayMs: 30, Final: true, Many: true}, typex.PaneUnknown, []int64{199}, nil, []int64{199}},
		{"on time in batch", &splitFn{RestDelayMs: 30, Final: true, Many: true}, typex.PaneOnTime, []int64{199}, nil, []int64{199}},
		{"in time, single windows", &splitFn{Final: true}, typex.PaneEarly, []int64{199}, nil, nil},
		{"past the end", &splitFn{RestDelayMs: 30, Final: true, Many: true}, typex.PaneLate, nil, []int64{229}, nil},
		{"a correction", last, typex.PaneEarly, []int64{229}, nil, []int64{199}},
		{"too late", last, typex.PaneLate, nil, []int64{140}, []int64{199}},
		{"in time for the coarse gate", &splitFn{Last: true}, typex.PaneEarly, []int64{199}, nil, nil},
		{"too late for the coarse gate", &splitFn{Last: true}, typex.PaneLate, nil, []int64{140}, []int64{199}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pass, rest, verdict []sent
			given := false
			next := func(p *[]byte) bool {
				*p, given = b, !given
				return given
			}
			if err := c.fn.ProcessElement(typex.PaneInfo{Timing: c.timing}, 2, next, into(&pass), into(&rest), into(&verdict)); err != nil {
				t.Fatal(err)
			}
			for name, p := range map[string][2][]int64{
				"pass": {c.pass, times(pass)}, "rest": {c.rest, times(rest)}, "verdict": {c.verdict, times(verdict)},
			} {
				if diff := cmp.Diff(p[0], p[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
				}
			}
			if len(c.verdict) == 1 {
				got := collector{}
				if _, _, err := got.add(verdict[0].B, nil, math.MaxInt64); err != nil || len(got) != 1 || got[elementID{9, 4}] == nil {
					t.Errorf("verdicts on %v, %v, want one on element 4", got, err)
				}
			}
			if c.fn.Last && len(c.rest) == 1 {
				want := []LateRecord{
					{TimeMs: 150, Missed: missed, All: true, Raw: []byte("one")},
					{TimeMs: 140, Missed: missed, Raw: []byte("three")},
				}
				if diff := cmp.Diff(want, unpackLate(t, rest[0].B)); diff != "" {
					t.Errorf("late: mismatch (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func times(s []sent) (at []int64) {
	for _, e := range s {
		at = append(at, e.At)
	}
	return at
}

// Malformed batches are errors of the DoFns, not panics.
func TestMalformedBatches(t *testing.T) {
	good := appendItem(appendHeader(nil, windowfns.Window{EndMs: 5}, 9), &Item{Windows: 1, Probes: 1, Raw: []byte("one")})
	var out []sent
	for _, b := range [][]byte{nil, {0x80}, good[:len(good)-1]} {
		given := false
		next := func(p *[]byte) bool {
			*p, given = b, !given
			return given
		}
		fn := &splitFn{Last: true}
		if err := fn.ProcessElement(typex.PaneInfo{Timing: typex.PaneLate}, 2, next, into(&out), into(&out), into(&out)); err == nil {
			t.Errorf("split: no error for %x", b)
		}
	}
	if err := (&coarseFn{GrainMs: 1}).ProcessElement(0, 1, []byte{1}, into(&out)); err == nil {
		t.Error("coarse: no error")
	}
}
