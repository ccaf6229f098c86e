package rows

import (
	"fmt"
	"math/big"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/aggregate"
	"tidemark/transforms/gmv"
)

func init() {
	register.DoFn2x1[gmv.Count, emitLines, error](&countLinesFn{})
}

// Count is what became of the elements of a window and currency, in numbers of
// elements and in money. The zero value counts none.
type Count struct {
	StartMs  int64 // the window is [StartMs, EndMs)
	EndMs    int64
	Currency string

	Assigned, Added, Corrected, Late             int64
	AssignedSum, AddedSum, CorrectedSum, LateSum big.Int // minor units
}

// Add adds a count of the same window and currency to c.
func (c *Count) Add(d *gmv.Count) error {
	var n *int64
	var sum *big.Int
	switch aggregate.Kind(d.Kind) {
	case aggregate.KindAssigned:
		n, sum = &c.Assigned, &c.AssignedSum
	case aggregate.KindAdded:
		n, sum = &c.Added, &c.AddedSum
	case aggregate.KindCorrected:
		n, sum = &c.Corrected, &c.CorrectedSum
	case aggregate.KindLate:
		n, sum = &c.Late, &c.LateSum
	default:
		return fmt.Errorf("rows: count of unknown kind %q", d.Kind)
	}
	v, ok := new(big.Int).SetString(d.Sum, 10)
	if !ok {
		return fmt.Errorf("rows: count with the sum %q, want decimal digits", d.Sum)
	}
	*n += d.Elements
	sum.Add(sum, v)
	return nil
}

// AppendCount appends the row of a count: window_start, window_end, currency
// (empty where there is none), the numbers assigned, added, corrected and late,
// and assigned_sum, added_sum, corrected_sum and late_sum, which are strings of
// decimal digits, because they can be larger than decoders keep exact.
func AppendCount(dst []byte, c *Count) []byte {
	dst = append(dst, '{')
	dst = appendWindow(dst, c.StartMs, c.EndMs)
	dst = appendText(dst, "currency", c.Currency)
	dst = appendInt(dst, "assigned", c.Assigned)
	dst = appendInt(dst, "added", c.Added)
	dst = appendInt(dst, "corrected", c.Corrected)
	dst = appendInt(dst, "late", c.Late)
	dst = appendDigits(dst, "assigned_sum", &c.AssignedSum)
	dst = appendDigits(dst, "added_sum", &c.AddedSum)
	dst = appendDigits(dst, "corrected_sum", &c.CorrectedSum)
	dst = appendDigits(dst, "late_sum", &c.LateSum)
	return append(dst, '}')
}

// appendDigits needs no escaping.
func appendDigits(dst []byte, name string, n *big.Int) []byte {
	dst = append(appendName(dst, name), '"')
	return append(n.Append(dst, 10), '"')
}

// CountLines packs PCollection<gmv.Count> into lines for package sink: one for
// each window and currency of a bundle, with what the bundle has of every kind.
// Lines are deltas, as counts are, and to be added up.
func CountLines(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &countLinesFn{}, col)
}

type countKey struct {
	startMs, endMs int64
	currency       string
}

// maxCounts bounds the windows and currencies that a bundle gathers before it
// writes them.
const maxCounts = 1 << 14

type countLinesFn struct {
	liner
	counts map[countKey]*Count
}

func (f *countLinesFn) StartBundle(emitLines) {
	f.reset()
	f.counts = map[countKey]*Count{}
}

func (f *countLinesFn) ProcessElement(d gmv.Count, emit emitLines) error {
	k := countKey{d.StartMs, d.EndMs, d.Currency}
	c := f.counts[k]
	if c == nil {
		if len(f.counts) >= maxCounts {
			f.write(emit)
		}
		c = &Count{StartMs: d.StartMs, EndMs: d.EndMs, Currency: d.Currency}
		f.counts[k] = c
	}
	return c.Add(&d)
}

func (f *countLinesFn) FinishBundle(emit emitLines) {
	f.write(emit)
	f.flush(emit)
}

// write packs the lines of what was gathered.
func (f *countLinesFn) write(emit emitLines) {
	for _, c := range f.counts {
		f.order, f.text = OrderCount(f.order[:0], c), AppendCount(f.text[:0], c)
		f.add(mtime.Time(c.EndMs-1), emit)
	}
	clear(f.counts)
}
