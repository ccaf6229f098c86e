package aggregate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/windowfns"
)

// A cell is what the fold keeps under one key: the windows of a shard that end
// in one stretch of time. Windows that are not those of a grid have a cell each,
// and the sessions of a shard have one for ever, so that they meet.
//
// The stretches of a grid are as long as the windows of one element reach, or
// longer, so that an element goes to two cells at most, and cells are freed as a
// whole.
type layout struct {
	grid   windowfns.Grid // nil where there is none
	stepMs int64          // between two ends; 1 where there is no grid
	lastMs int64          // the last end of some cell
	ends   int64          // how many windows end in a cell

	gapMs int64 // of sessions; 0 where windows do not merge
}

const (
	// shareMs is how much event time the short windows of a grid share a cell
	// for, because every cell that a bundle touches costs a state call.
	shareMs = 60_000

	// shareMost bounds the windows that share a cell for that reason.
	shareMost = 64

	// spareMost is how many windows an element has at most for cells to be
	// longer than its windows reach, so that fewer elements go to two.
	spareMost = 16
	spareBy   = 4
)

func layoutOf(fn windowfns.Fn) layout {
	switch fn := fn.(type) {
	case windowfns.Session:
		return layout{stepMs: 1, gapMs: fn.Gap.Milliseconds()}
	case *windowfns.Session:
		return layout{stepMs: 1, gapMs: fn.Gap.Milliseconds()}
	}
	grid, ok := fn.(windowfns.Grid)
	if !ok {
		return layout{stepMs: 1}
	}
	l := layout{grid: grid, stepMs: grid.StepMs()}
	_, l.lastMs = grid.Ends(0)
	n := intake.MostWindows(grid)
	share := min(shareMs/l.stepMs, shareMost)
	// Windows that share their start never go to two cells as it is.
	if slides := grid.EndingAt(l.lastMs-l.stepMs).StartMs != grid.EndingAt(l.lastMs).StartMs; slides && n > 1 && n <= spareMost {
		share = max(share, spareBy*n)
	}
	l.ends = n * max(1, (share+n-1)/n)
	return l
}

// shippedLayout is the layout of the windows that a DoFn came with.
func shippedLayout(windows portable.Value) (layout, error) {
	fn, err := portable.As[windowfns.Fn](windows)
	if err != nil {
		return layout{}, err
	}
	return layoutOf(fn), nil
}

// next is the first time above ms at which a window of the grid ends, or at which
// one has ended delayMs ago.
func (l layout) next(ms, delayMs int64) int64 {
	if ms < minWatermark {
		return ms
	}
	after := func(ms int64) int64 { return ms + l.stepMs - floorMod(ms-l.lastMs, l.stepMs) }
	return min(after(ms), after(ms-delayMs)+delayMs)
}

// floorMod is what a is above a multiple of b, b > 0.
func floorMod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}

// minWatermark is below all deadlines that there are.
const minWatermark = math.MinInt64 / 4

// span is the windows of one cell.
type span struct {
	startMs int64 // of the only window, where there is no grid
	firstMs int64 // the first end
	lastMs  int64 // the last end
	stepMs  int64
	grid    windowfns.Grid
	gapMs   int64 // of sessions
}

// sessionSpan is the cell of all sessions of a shard.
func sessionSpan(gapMs int64) span {
	return span{firstMs: intake.MinTimeMs, lastMs: math.MaxInt64, stepMs: 1, gapMs: gapMs}
}

// spanOf is the cell of the window that ends at endMs.
func (l layout) spanOf(endMs int64) span {
	length := l.ends * l.stepMs
	last := endMs + floorMod(l.lastMs-endMs, length)
	return span{firstMs: last - length + l.stepMs, lastMs: last, stepMs: l.stepMs, grid: l.grid}
}

// single is the cell of a window that shares it with no other.
func single(w windowfns.Window) span {
	return span{startMs: w.StartMs, firstMs: w.EndMs, lastMs: w.EndMs, stepMs: 1}
}

// size is how many windows s has.
func (s span) size() int { return int((s.lastMs-s.firstMs)/s.stepMs) + 1 }

// end is the end of the window i.
func (s span) end(i int) int64 { return s.firstMs + int64(i)*s.stepMs }

// window is the window i.
func (s span) window(i int) windowfns.Window {
	if s.grid == nil {
		return windowfns.Window{StartMs: s.startMs, EndMs: s.end(i)}
	}
	return s.grid.EndingAt(s.end(i))
}

// past is how many of the windows end at or before ms.
func (s span) past(ms int64) int {
	switch {
	case ms < s.firstMs:
		return 0
	case ms >= s.lastMs:
		return s.size()
	default:
		return int((ms-s.firstMs)/s.stepMs) + 1
	}
}

// key names a cell: shard|first end|last end, with the window's start instead of
// the first end where there is no grid, and only the shard for sessions. It is text because it is the key of a
// PCollection that non-Go runners handle too.
func (s span) key(shard int64) string {
	if s.gapMs > 0 {
		return strconv.FormatInt(shard, 36)
	}
	from := s.firstMs
	if s.grid == nil {
		from = s.startMs
	}
	b := make([]byte, 0, 40)
	b = strconv.AppendInt(b, shard, 36)
	b = append(b, '|')
	b = strconv.AppendInt(b, from, 36)
	b = append(b, '|')
	b = strconv.AppendInt(b, s.lastMs, 36)
	return string(b)
}

// parse undoes [span.key].
func (l layout) parse(key string) (span, error) {
	if l.gapMs > 0 {
		return sessionSpan(l.gapMs), nil
	}
	_, ends, _ := strings.Cut(key, "|")
	from, last, _ := strings.Cut(ends, "|")
	a, err1 := strconv.ParseInt(from, 36, 64)
	b, err2 := strconv.ParseInt(last, 36, 64)
	s := single(windowfns.Window{StartMs: a, EndMs: b})
	ok := a < b
	if l.grid != nil {
		s = l.spanOf(b)
		ok = s.firstMs == a && s.lastMs == b
	}
	if err1 != nil || err2 != nil || !ok {
		return span{}, fmt.Errorf("aggregate: malformed cell key")
	}
	return s, nil
}
