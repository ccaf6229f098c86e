package aggregate

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// fns draws window functions: grids with windows from 1 ms on, whose sizes need not
// be multiples of their periods, and one that is no grid.
func fns() *rapid.Generator[windowfns.Fn] {
	return rapid.Custom(func(t *rapid.T) windowfns.Fn {
		period := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 200_000)).Draw(t, "period")
		many := rapid.Int64Range(1, 70).Draw(t, "many")
		offset := millis(rapid.Int64Range(-period+1, period-1).Draw(t, "offset"))
		extra := rapid.Int64Range(0, period-1).Draw(t, "extra")
		return rapid.SampledFrom([]windowfns.Fn{
			windowfns.Tumbling{Size: millis(period), Offset: offset},
			windowfns.Sliding{Size: millis(period*many + extra), Period: millis(period), Offset: offset},
			windowfns.Cumulative{Size: millis(period * many), Step: millis(period), Offset: offset},
			windowfns.Calendar{Unit: windowfns.Day, Zone: "Europe/Berlin"},
		}).Draw(t, "fn")
	})
}

// spansOf are the cells that an element's windows are in.
func (l layout) spansOf(fn windowfns.Fn, tMs int64) (all []span) {
	for _, w := range fn.AppendWindows(nil, tMs) {
		s := single(w)
		if l.grid != nil {
			s = l.spanOf(w.EndMs)
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// TestLayout: each window is in one cell, which has it, and a name that says which
// it is. The windows of an element are in two cells at most, and in one where they
// share their start, or where there is one.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := fns().Draw(t, "windows")
		l := layoutOf(fn)
		tMs := rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.Int64Range(-3e12, 7e12)).Draw(t, "time")
		shard := rapid.Int64Range(0, 1<<16).Draw(t, "shard")
		all := l.spansOf(fn, tMs)
		if _, slides := fn.(windowfns.Sliding); len(all) > 2 || len(all) > 1 && !slides {
			t.Fatalf("%v: the windows of %d are in %d cells", fn, tMs, len(all))
		}
		for _, s := range all {
			back, err := l.parse(s.key(shard))
			if err != nil || back != s {
				t.Fatalf("%+v came back as %+v, %v", s, back, err)
			}
			if s.size() < 1 || s.end(s.size()-1) != s.lastMs || s.past(s.firstMs-1) != 0 || s.past(s.lastMs) != s.size() {
				t.Fatalf("%+v has %d windows", s, s.size())
			}
			if s.key(shard) == s.key(shard+1) {
				t.Fatalf("two shards have the cell %q", s.key(shard))
			}
		}
		for _, w := range fn.AppendWindows(nil, tMs) {
			found := 0
			for _, s := range all {
				i := s.past(w.EndMs) - 1
				if i < 0 || s.end(i) != w.EndMs || l.grid == nil && s.startMs != w.StartMs {
					continue
				}
				found++
				if s.window(i) != w {
					t.Fatalf("window %d of %+v is %v, want %v", i, s, s.window(i), w)
				}
				if s.past(w.EndMs-1) != i || s.past(w.EndMs) != i+1 {
					t.Fatalf("%d windows of %+v are past at %d, and %d before", s.past(w.EndMs), s, w.EndMs, s.past(w.EndMs-1))
				}
			}
			if found != 1 {
				t.Fatalf("%v is in %d cells", w, found)
			}
		}
		if l.grid != nil { // cells lie side by side
			s := all[0]
			for _, next := range []span{l.spanOf(s.lastMs + s.stepMs), l.spanOf(s.firstMs - s.stepMs)} {
				if next.size() != s.size() || next.firstMs != s.lastMs+s.stepMs && next.lastMs != s.firstMs-s.stepMs {
					t.Fatalf("%+v lies beside %+v", next, s)
				}
			}
		}
	})
}

// TestRuns: what is cut off a run by a watermark is what it has passed.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := fns().Draw(t, "windows")
		l := layoutOf(fn)
		windows := fn.AppendWindows(nil, rapid.Int64Range(-1000, 1000).Draw(t, "time"))
		delay := rapid.Int64Range(0, 50).Draw(t, "delay")
		r := runOf(windows[0])
		if l.grid != nil {
			r = run{0, windows[0].EndMs, windows[len(windows)-1].EndMs}
		}
		watermark := r.firstMs + rapid.Int64Range(-60, 60+r.lastMs-r.firstMs).Draw(t, "watermark")
		passed := 0
		for passed < len(windows) && windows[passed].EndMs+delay <= watermark {
			passed++
		}
		got := l.after(r, delay, watermark)
		if passed < len(windows) && got != windows[passed].EndMs || passed == len(windows) && got <= r.lastMs {
			t.Fatalf("at %d, %d of %v are passed, and %d is next", watermark, passed, windows, got)
		}
		if n := l.size(r); n != int64(len(windows)) {
			t.Fatalf("%d windows in a run of %d", n, len(windows))
		}
	})
}

// Windows that are shorter than a minute share cells, so that there are few, and no
// cell has very many.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		fn   windowfns.Fn
		want int64
	}{
		{windowfns.Tumbling{Size: time.Millisecond}, shareMost},
		{windowfns.Tumbling{Size: 10 * time.Second}, 6},
		{windowfns.Tumbling{Size: time.Minute}, 1},
		{windowfns.Tumbling{Size: time.Hour}, 1},
		{windowfns.Sliding{Size: 5 * time.Minute, Period: time.Minute}, 20},
		{windowfns.Sliding{Size: 2 * time.Hour, Period: time.Minute}, 120},
		{windowfns.Sliding{Size: 2*time.Hour + 1e6, Period: time.Minute}, 121},
		{windowfns.Cumulative{Size: 24 * time.Hour, Step: time.Hour}, 24},
	} {
		if got := layoutOf(c.fn).ends; got != c.want {
			t.Errorf("%v: %d windows in a cell, want %d", c.fn, got, c.want)
		}
	}
}

func TestMalformedCellKeys(t *testing.T) {
	for _, fn := range []windowfns.Fn{windowfns.Tumbling{Size: time.Hour}, windowfns.Sliding{Size: time.Hour, Period: time.Minute}, windowfns.Calendar{Unit: windowfns.Day}} {
		l := layoutOf(fn)
		for _, s := range []string{"", "1", "1|2", "1|2|", "1||2", "1|2|!", "1|2|3|4", "1|3|2"} {
			if got, err := l.parse(s); err == nil {
				t.Errorf("%v: %q is read as %+v", fn, s, got)
			}
		}
	}
	l := layoutOf(windowfns.Tumbling{Size: time.Second})
	s := l.spanOf(5000)
	s.lastMs += 1000
	if got, err := l.parse(s.key(0)); err == nil {
		t.Errorf("%q, which is no cell, is read as %+v", s.key(0), got)
	}
}
