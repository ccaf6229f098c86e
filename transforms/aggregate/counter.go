package aggregate

import (
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// counter gathers the counts of a bundle. The zero value counts nothing.
type counter struct {
	agg   Aggregator
	group Grouper // nil where there are no groups

	cells map[countKey]*countCell
	size  int
}

type countKey struct {
	kind  Kind
	w     windowfns.Window
	group string
}

type countCell struct {
	elements int64
	total    []byte
}

// countFlushBytes is how much a counter gathers before it flushes.
const countFlushBytes = 4 << 20

func newCounter(agg Aggregator) counter {
	c := counter{agg: agg, cells: map[countKey]*countCell{}}
	c.group, _ = agg.(Grouper)
	return c
}

func (c *counter) on() bool { return c.cells != nil }

// add counts elements of a key, whose accumulator is acc.
func (c *counter) add(kind Kind, w windowfns.Window, key, acc []byte, elements int64) error {
	var group []byte
	if c.group != nil {
		group = c.group.Group(key)
	}
	cell := c.cells[countKey{kind, w, string(group)}]
	if cell == nil {
		c.cells[countKey{kind, w, string(group)}] = &countCell{elements, slices.Clone(acc)}
		c.size += 128 + len(group) + len(acc)
		return nil
	}
	was := len(cell.total)
	total, err := c.agg.Merge(cell.total, acc)
	if err != nil {
		return fmt.Errorf("aggregate: merging: %w", err)
	}
	cell.elements += elements
	cell.total = total
	c.size += len(total) - was
	return nil
}

func (c *counter) flushIfFull(emit emitCount) {
	if c.size >= countFlushBytes {
		c.flush(emit)
	}
}

// flush emits the counts and starts anew.
func (c *counter) flush(emit emitCount) {
	for k, cell := range c.cells {
		emit(mtime.Time(k.w.EndMs-1), Count{
			StartMs: k.w.StartMs, EndMs: k.w.EndMs, Group: k.group, Kind: k.kind,
			Elements: cell.elements, Total: cell.total,
		})
	}
	clear(c.cells)
	c.size = 0
}
