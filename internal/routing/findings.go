package routing

import (
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/windowfns"
)

// findings gathers what a pane says of the batches of a shard: the late records
// of elements that are done, and the verdicts on elements whose other windows
// are judged elsewhere.
type findings struct {
	records, verdicts []byte
	oldest            int64 // element time in records
	earliest          int64 // window end in verdicts
	group             []byte

	// grid is that of the windows, where items can stand for several.
	grid windowfns.Grid

	// carry says that elements that are in time here can be late for others of
	// their windows all the same, and go with the verdicts.
	carry bool
}

func newFindings(grid windowfns.Grid) *findings {
	return &findings{oldest: math.MaxInt64, earliest: math.MaxInt64, grid: grid}
}

// judge adds the elements of a batch.
func (f *findings) judge(batch *Batch, late bool) error {
	var it Item
	missed := []windowfns.Window{batch.Window}
	f.group = f.group[:0]
	for batch.Next(&it) {
		if !late && !f.carry {
			it.Raw = nil
		}
		switch {
		case it.Run && late:
			f.judgeRun(batch, it)
		case it.Run:
			windows := abs(it.OtherMs-batch.Window.EndMs)/f.grid.StepMs() + 1
			f.group = appendVerdict(f.group, &it, windows, late)
		case it.Probes > 1:
			f.group = appendVerdict(f.group, &it, 1, late)
		case late:
			f.oldest = min(f.oldest, it.TimeMs)
			f.records = AppendLate(f.records, &LateRecord{TimeMs: it.TimeMs, Missed: missed, All: it.Windows == 1, Raw: it.Raw})
		}
	}
	if len(f.group) > 0 {
		f.earliest = min(f.earliest, batch.Window.EndMs)
		f.verdicts = appendVerdicts(f.verdicts, batch.nonce, batch.Window, late, f.group)
	}
	return batch.Err()
}

// judgeRun adds an element that is late for a run of windows.
func (f *findings) judgeRun(batch *Batch, it Item) {
	end, last := min(batch.Window.EndMs, it.OtherMs), max(batch.Window.EndMs, it.OtherMs)
	f.earliest = min(f.earliest, end)
	for ; end <= last; end += f.grid.StepMs() {
		f.verdicts = appendVerdicts(f.verdicts, batch.nonce, f.grid.EndingAt(end), true, appendVerdict(nil, &it, 1, true))
		it.Raw = nil // one of them needs it
	}
}

func abs(n int64) int64 { return max(n, -n) }

func (f *findings) size() int { return len(f.records) + len(f.verdicts) }

// emit sends what there is.
func (f *findings) emit(shard int64, record, verdict Emit) {
	if len(f.records) > 0 {
		record(mtime.Time(f.oldest), shard, f.records)
	}
	if len(f.verdicts) > 0 {
		verdict(stampOf(f.earliest, 0), shard, f.verdicts)
	}
}
