package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gate"
	"tidemark/windowfns"
)

// event is the element of the tests. Mark is the watermark of its source.
type event struct {
	ID   int
	Note string
	Mark int64
}

type (
	passed = streamtest.KV[gate.Passed, event]
	missed = streamtest.KV[gate.Missed, event]
)

func init() {
	beam.RegisterType(reflect.TypeFor[event]())
	register.Function1x2(withMark)
	register.Function1x2(withKey)
}

func withMark(e event) (int64, event) { return e.Mark, e }

func withKey(e event) (string, event) { return e.Note, e }

const ms = time.Millisecond

// script is a stream of events, watermarks, and what the rule says of them.
type script struct {
	tl     streamtest.Timeline
	passed []passed
	missed []missed
}

// random fills s with n events around ever higher watermarks, many of them near
// a deadline.
func (s *script) random(seed uint64, cfg gate.Config, n int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := cfg.Windows.AppendWindows(nil, 0)[0]
	size, lateness := w.EndMs-w.StartMs, cfg.AllowedLateness.Milliseconds()
	start := []int64{0, -7_000_000_000, 1_800_000_000_000}[rng.IntN(3)]
	wm := int64(math.MinInt64)
	for i := range n {
		if rng.IntN(3) == 0 {
			wm = max(wm, start) + rng.Int64N(size)
			s.tl.Watermark(wm)
		}
		t := max(wm, start) + rng.Int64N(3*size) - 2*size
		if rng.IntN(3) == 0 {
			t = max(wm, start) - rng.Int64N(2)*lateness - size + rng.Int64N(3) - 1
		}
		// The first and the second of equal events are told apart by nothing.
		e := event{ID: i / 2, Note: "\xff\x00", Mark: wm + rng.Int64N(2)*rng.Int64N(size)}
		if wm == math.MinInt64 {
			e.Mark = wm
		}
		s.tl.At(t, e)
		s.judge(cfg, t, wm, e)
	}
}

// judge applies the rule to e: what it passes and what it misses.
func (s *script) judge(cfg gate.Config, tMs, wm int64, e event) {
	lateness := cfg.AllowedLateness.Milliseconds()
	var late []windowfns.Window
	all := cfg.Windows.AppendWindows(nil, tMs)
	if cfg.MarksDecide {
		wm = e.Mark
	}
	for _, w := range all {
		byMark := cfg.Watermarked && e.Mark >= w.EndMs && e.Mark < w.EndMs+lateness
		switch {
		case wm < w.EndMs+lateness:
			p := gate.Passed{StartMs: w.StartMs, EndMs: w.EndMs, TimeMs: tMs, Late: wm >= w.EndMs || byMark}
			s.passed = append(s.passed, passed{Key: p, Value: e})
		default:
			late = append(late, w)
		}
	}
	if len(late) > 0 {
		m := gate.Missed{TimeMs: tMs, Windows: late, All: len(late) == len(all)}
		s.missed = append(s.missed, missed{Key: m, Value: e})
	}
}

// check runs the gate on what source makes and compares with the rule.
func (s *script) check(t *testing.T, cfg gate.Config, source func(beam.Scope) beam.PCollection) {
	t.Helper()
	var in, late *streamtest.Captured
	var count *tally.Tally
	streamtest.Run(t, func(sc beam.Scope) {
		count = tally.Start()
		p, l := gate.Split(sc, cfg, source(sc))
		in, late = streamtest.Capture(sc, p), streamtest.Capture(sc, l)
	})
	if diff := streamtest.Diff(s.passed, streamtest.Values[passed](in)); diff != "" {
		t.Errorf("in time: %s", diff)
	}
	if diff := streamtest.Diff(s.missed, streamtest.Values[missed](late)); diff != "" {
		t.Errorf("late: %s", diff)
	}
	var corrected, misses int64
	for _, e := range streamtest.Elements[passed](in) {
		if !e.Global || e.TimeMs != e.Value.Key.EndMs-1 {
			t.Errorf("in time at %d ms, want at the end - 1 ms: %+v", e.TimeMs, e.Value)
		}
		if e.Value.Key.Late {
			corrected++
		}
	}
	for _, e := range streamtest.Elements[missed](late) {
		if !e.Global || e.TimeMs != e.Value.Key.TimeMs {
			t.Errorf("late at %d ms, want at its own time: %+v", e.TimeMs, e.Value)
		}
		misses += int64(len(e.Value.Key.Windows))
	}
	want := map[tally.Kind]int64{
		tally.Assigned: int64(len(s.passed)) + misses, tally.Added: int64(len(s.passed)),
		tally.Corrected: corrected, tally.Late: misses,
	}
	for k, n := range want {
		if got := count.Get(k); got != n {
			t.Errorf("%s = %d, want %d", tally.Names[k], got, n)
		}
	}
}

// trusts are what the tests make of marks.
var trusts = []struct{ marked, decide bool }{{false, false}, {true, false}, {true, true}}

// TestRule plays random streams over windows of every kind, unmarked, marked, and
// with marks that decide, which are often ahead of the runner's watermark.
func TestRule(t *testing.T) {
	for i, fn := range []windowfns.Fn{
		windowfns.Tumbling{Size: 20 * ms, Offset: 7 * ms},
		windowfns.Sliding{Size: 30 * ms, Period: 10 * ms},
		windowfns.Cumulative{Step: 5 * ms, Size: 20 * ms},
		windowfns.Calendar{Unit: windowfns.Week, Zone: "Europe/Berlin"},
	} {
		for _, lateness := range []time.Duration{0, 25 * ms} {
			for _, c := range trusts {
				t.Run(fmt.Sprintf("%v/lateness=%v/marked=%v/decide=%v", fn, lateness, c.marked, c.decide), func(t *testing.T) {
					cfg := gate.Config{Windows: fn, AllowedLateness: lateness, Watermarked: c.marked, MarksDecide: c.decide, Shards: 1 + 3*i}
					if i%2 == 1 {
						cfg.Retention = 50 * ms
					}
					var s script
					s.random(uint64(i), cfg, 30)
					s.check(t, cfg, func(sc beam.Scope) beam.PCollection {
						if c.marked {
							return beam.ParDo(sc, withMark, s.tl.Create(sc))
						}
						return s.tl.Create(sc)
					})
				})
			}
		}
	}
}

// TestManyWindows plays elements of so many windows that they ask for the first
// one only, to begin with: windows of sizes that are a multiple of the period and
// that are not, cumulative ones, where one element has one window and another has
// many, and those of the input, after 1970, around it and before.
func TestManyWindows(t *testing.T) {
	for i, fn := range []windowfns.Fn{
		windowfns.Sliding{Size: 2 * time.Hour, Period: time.Minute},
		windowfns.Sliding{Size: 200 * ms, Period: 7 * ms, Offset: 3 * ms},
		windowfns.Sliding{Size: 17 * ms, Period: 1 * ms},
		windowfns.Cumulative{Size: 40 * ms, Step: 2 * ms},
	} {
		for _, lateness := range []time.Duration{0, 25 * ms, 30 * time.Minute} {
			t.Run(fmt.Sprintf("%v/lateness=%v", fn, lateness), func(t *testing.T) {
				cfg := gate.Config{Windows: fn, AllowedLateness: lateness, Shards: 1 + i}
				var s script
				s.random(uint64(100*i)+uint64(lateness), cfg, 12)
				s.check(t, cfg, s.tl.Create)
			})
		}
	}
	t.Run("of the input", func(t *testing.T) {
		fn, lateness := windowfns.Sliding{Size: 50 * ms, Period: 2 * ms}, 25*ms
		var s script
		s.random(7, gate.Config{Windows: fn, AllowedLateness: lateness}, 20)
		s.check(t, gate.Config{}, func(sc beam.Scope) beam.PCollection {
			return beam.WindowInto(sc, window.NewSlidingWindows(fn.Period, fn.Size), s.tl.Create(sc), beam.AllowedLateness(lateness))
		})
	})
}

// TestOneRecordOfManyWindows: an element that is late for 47 of its 120 windows, of
// which 30 more are past their end, has one late record with those 47.
func TestOneRecordOfManyWindows(t *testing.T) {
	cfg := gate.Config{Windows: windowfns.Sliding{Size: 2 * time.Hour, Period: time.Minute}, AllowedLateness: 30 * time.Minute}
	for _, tMs := range []int64{1_800_000_000_000 - 1, 1, -1, -2_000_000_000_001} {
		end := cfg.Windows.AppendWindows(nil, tMs)[0].EndMs
		wm := end + (46+30)*60_000
		var s script
		e := event{ID: 1, Note: "late for some"}
		s.tl.Watermark(wm).At(tMs, e)
		s.judge(cfg, tMs, wm, e)
		if len(s.missed) != 1 || len(s.missed[0].Key.Windows) != 47 || s.missed[0].Key.All || len(s.passed) != 120-47 {
			t.Fatalf("the rule says %d records and %d windows in time", len(s.missed), len(s.passed))
		}
		s.check(t, cfg, s.tl.Create)
	}
}

// TestInputWindows takes windows and lateness from the input's own WindowInto.
func TestInputWindows(t *testing.T) {
	for _, c := range []struct {
		beam     *window.Fn
		fn       windowfns.Fn
		lateness time.Duration
	}{
		{window.NewFixedWindows(20 * ms), windowfns.Tumbling{Size: 20 * ms}, 25 * ms},
		{window.NewSlidingWindows(10*ms, 30*ms), windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, 0},
		{window.NewSlidingWindows(10*ms, 30*ms), windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, 25 * ms},
	} {
		for _, m := range trusts {
			t.Run(fmt.Sprintf("%v/lateness=%v/marked=%v/decide=%v", c.fn, c.lateness, m.marked, m.decide), func(t *testing.T) {
				var s script
				s.random(11, gate.Config{Windows: c.fn, AllowedLateness: c.lateness, Watermarked: m.marked, MarksDecide: m.decide}, 30)
				s.check(t, gate.Config{Watermarked: m.marked, MarksDecide: m.decide}, func(sc beam.Scope) beam.PCollection {
					col := s.tl.Create(sc)
					if m.marked {
						col = beam.ParDo(sc, withMark, col)
					}
					return beam.WindowInto(sc, c.beam, col, beam.AllowedLateness(c.lateness))
				})
			})
		}
	}
}

// TestMarksDecide reads a live source in bundles of many sizes: the runner, which is
// behind by up to all of it, has no say. In the graph nothing is grouped.
func TestMarksDecide(t *testing.T) {
	for i, perBundle := range []int{1, 13, 1000} {
		for _, lateness := range []time.Duration{0, 25 * ms} {
			t.Run(fmt.Sprintf("bundle=%d/lateness=%v", perBundle, lateness), func(t *testing.T) {
				cfg := gate.Config{
					Windows: windowfns.Sliding{Size: 30 * ms, Period: 10 * ms}, AllowedLateness: lateness,
					Watermarked: true, MarksDecide: true, Shards: 1 + 2*i,
				}
				rng := rand.New(rand.NewPCG(uint64(i), 4))
				var s script
				wm := int64(math.MinInt64)
				for i := range 120 {
					at := 1_800_000_000_000 + 2*int64(i) - rng.Int64N(4)*rng.Int64N(30)
					e := event{ID: i / 2, Note: "live"}
					s.tl.At(at, e)
					e.Mark = wm
					s.judge(cfg, at, wm, e)
					if at > wm {
						wm = at
						s.tl.Watermark(wm)
					}
				}
				for i := range s.passed {
					s.passed[i].Value.Mark = 0
				}
				for i := range s.missed {
					s.missed[i].Value.Mark = 0
				}
				if len(s.missed) == 0 {
					t.Fatal("nothing is late")
				}
				s.check(t, cfg, func(sc beam.Scope) beam.PCollection { return s.tl.Live(sc, perBundle) })
			})
		}
	}
	for _, decide := range []bool{false, true} {
		p, s := beam.NewPipelineWithRoot()
		cfg := gate.Config{Windows: windowfns.Tumbling{Size: ms}, AllowedLateness: ms, Watermarked: true, MarksDecide: decide}
		gate.Split(s, cfg, beam.ParDo(s, withMark, beam.Create(s, event{})))
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		grouped := slices.ContainsFunc(edges, func(e *graph.MultiEdge) bool { return e.Op == graph.CoGBK })
		if grouped == decide {
			t.Errorf("MarksDecide = %v, and there are GroupByKeys: %v", decide, grouped)
		}
	}
}

func TestErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	events := beam.Create(s, event{})
	ok := windowfns.Tumbling{Size: time.Second}
	for _, c := range []struct {
		name string
		cfg  gate.Config
		col  beam.PCollection
		want string
	}{
		{"no windows", gate.Config{}, events, "gate.Split: Windows is nil and the input's own windows cannot be used: "},
		{"bad windows", gate.Config{Windows: windowfns.Tumbling{}}, events, "gate.Split: windowfns.Tumbling: Size = 0s, want "},
		{"negative lateness", gate.Config{Windows: ok, AllowedLateness: -1}, events, "gate.Split: AllowedLateness = -1ns, want "},
		{"negative shards", gate.Config{Windows: ok, Shards: -1}, events, "gate.Split: Shards = -1, want "},
		{"KV", gate.Config{Windows: ok}, beam.ParDo(s, withKey, events), "gate.Split: input = PCollection<KV<string,gate_test.event>>, want single elements: put the key and the value of a KV into a struct"},
		{"no marks", gate.Config{Windows: ok, Watermarked: true}, events, "gate.Split: input = PCollection<gate_test.event>, want KV<int64, T> where Watermarked is set: "},
		{"marks that are not there decide", gate.Config{Windows: ok, MarksDecide: true}, events, "gate.Split: MarksDecide without Watermarked, want both: it is about marks"},
		{"no input", gate.Config{Windows: ok}, beam.PCollection{}, "gate.Split: invalid scope or input, want both from one pipeline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := gate.TrySplit(s, c.cfg, c.col)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("TrySplit: %v, want %s", err, c.want)
			}
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("Split panics with %v, want %v", got, err)
				}
			}()
			gate.Split(s, c.cfg, c.col)
		})
	}
}
