package routing

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

func init() {
	register.DoFn4x1[beam.EventTime, int64, []byte, Emit, error](&coarseFn{})
	register.DoFn6x1[beam.PaneInfo, int64, func(*[]byte) bool, Emit, Emit, Emit, error](&splitFn{})
	register.Emitter3[beam.EventTime, int64, []byte]()
	register.Iter1[[]byte]()
}

// coarseFn stamps batches for the gate that lets the exact ones forget.
type coarseFn struct {
	BeyondMs int64 // allowed lateness + retention
	GrainMs  int64
}

// ProcessElement stamps a batch with the last millisecond before the first
// multiple of the grain that is at least BeyondMs after the window's end. A
// watermark there is past every deadline of the window.
func (f *coarseFn) ProcessElement(_ beam.EventTime, shard int64, b []byte, emit Emit) error {
	batch, err := ReadBatch(b)
	if err != nil {
		return err
	}
	emit(mtime.Time(ceilMultiple(batch.Window.EndMs+f.BeyondMs, f.GrainMs)-1), shard, b)
	return nil
}

// ceilMultiple is the smallest multiple of n, n > 0, that is at least x.
func ceilMultiple(x, n int64) int64 {
	r := x % n
	if r > 0 {
		r -= n
	}
	return x - r
}

// splitFn stands behind the GroupByKey of a gate and reads the timing of its
// panes. What is not late passes, stamped with the deadline end + PassDelayMs;
// in batch the timing can be anything but late. What is late goes to the next
// gate, stamped with the deadline end + RestDelayMs, or, behind the last gate,
// becomes late records.
type splitFn struct {
	PassDelayMs int64
	RestDelayMs int64
	Last        bool // no further gate for what is late here
	Final       bool // what passes here is in time
	Many        bool // elements can have several windows

	// Windows is the grid of the windows, where items can stand for several.
	Windows portable.Value

	grid windowfns.Grid
}

func (f *splitFn) Setup() (err error) {
	if f.Windows.Type.T != nil {
		f.grid, err = portable.As[windowfns.Grid](f.Windows)
	}
	return err
}

func (f *splitFn) ProcessElement(pane beam.PaneInfo, shard int64, batches func(*[]byte) bool, pass, rest, verdict Emit) error {
	late := pane.Timing == typex.PaneLate
	found := f.newFindings()
	var b []byte
	for batches(&b) {
		batch, err := ReadBatch(b)
		if err != nil {
			return err
		}
		end := batch.Window.EndMs
		switch {
		case !late:
			pass(stampOf(end, f.PassDelayMs), shard, b)
		case !f.Last:
			rest(stampOf(end, f.RestDelayMs), shard, b)
		}
		if late && f.Last || !late && f.Final && f.Many {
			if err := found.judge(&batch, late); err != nil {
				return err
			}
			if found.size() >= flushBytes {
				found.emit(shard, rest, verdict)
				found = f.newFindings()
			}
		}
	}
	found.emit(shard, rest, verdict)
	return nil
}

func (f *splitFn) newFindings() *findings {
	found := newFindings(f.grid)
	found.carry = f.PassDelayMs > 0 // behind another gate
	return found
}
