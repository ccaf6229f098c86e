package aggregate

import (
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// counter gathers the counts of a bundle. The zero value counts nothing.
type counter struct {
	agg    Aggregator
	group  Grouper // nil where there are no groups
	layout layout

	cells map[countKey]*countCell
	size  int
}

// run is windows that are counted together: those of a grid that end from
// firstMs to lastMs, or one window where there is no grid.
type run struct {
	startMs, firstMs, lastMs int64
}

func runOf(w windowfns.Window) run { return run{w.StartMs, w.EndMs, w.EndMs} }

// run is those of the windows of s.
func (s span) run(firstMs, lastMs int64) run {
	if s.grid != nil {
		return run{0, firstMs, lastMs}
	}
	return run{s.startMs, firstMs, lastMs}
}

type countKey struct {
	kind  Kind
	run   run
	group string
}

type countCell struct {
	elements int64
	total    []byte
}

// countFlushBytes is how much a counter gathers before it flushes.
const countFlushBytes = 4 << 20

func newCounter(agg Aggregator, l layout) counter {
	c := counter{agg: agg, layout: l, cells: map[countKey]*countCell{}}
	c.group, _ = agg.(Grouper)
	return c
}

func (c *counter) on() bool { return c.cells != nil }

// add counts elements of a key, whose accumulator is acc.
func (c *counter) add(kind Kind, r run, key, acc []byte, elements int64) error {
	if c.layout.gapMs > 0 {
		// Sessions come and go: their elements are counted by day.
		day := dayOf(r.startMs)
		r = run{day, day + dayMs, day + dayMs}
	}
	var group []byte
	if c.group != nil {
		group = c.group.Group(key)
	}
	grown, err := c.addTo(c.cells, countKey{kind, r, string(group)}, acc, elements)
	c.size += grown
	return err
}

func (c *counter) addTo(cells map[countKey]*countCell, k countKey, acc []byte, elements int64) (grown int, err error) {
	cell := cells[k]
	if cell == nil {
		cells[k] = &countCell{elements, slices.Clone(acc)}
		return 128 + len(k.group) + len(acc), nil
	}
	was := len(cell.total)
	total, err := c.agg.Merge(cell.total, acc)
	if err != nil {
		return 0, fmt.Errorf("aggregate: merging: %w", err)
	}
	cell.elements += elements
	cell.total = total
	return len(total) - was, nil
}

func (c *counter) flushIfFull(emit emitCount) error {
	if c.size >= countFlushBytes {
		return c.flush(emit)
	}
	return nil
}

// flush emits the counts by window, and starts anew.
func (c *counter) flush(emit emitCount) error {
	windows := c.cells
	if c.layout.grid != nil {
		windows = map[countKey]*countCell{}
		for k, cell := range c.cells {
			for end := k.run.firstMs; end <= k.run.lastMs; end += c.layout.stepMs {
				one := countKey{k.kind, runOf(c.layout.window(k.run, end)), k.group}
				if _, err := c.addTo(windows, one, cell.total, cell.elements); err != nil {
					return err
				}
			}
		}
	}
	for k, cell := range windows {
		emit(mtime.Time(k.run.lastMs-1), Count{
			StartMs: k.run.startMs, EndMs: k.run.lastMs, Group: k.group, Kind: k.kind,
			Elements: cell.elements, Total: cell.total,
		})
	}
	clear(c.cells)
	c.size = 0
	return nil
}
