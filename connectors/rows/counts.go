package rows

import (
	"fmt"
	"math/big"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/aggregate"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
)

func init() {
	register.DoFn2x1[gmv.Count, emitLines, error](&gmvCountLinesFn{})
	register.DoFn2x1[average.Count, emitLines, error](&averageCountLinesFn{})
}

// Count is what became of the elements of a window, and of a currency where they
// have money, in numbers of elements and in money. The zero value counts none.
type Count struct {
	StartMs int64 // the window is [StartMs, EndMs)
	EndMs   int64

	Assigned, Added, Corrected, Late int64

	// Money says that the elements have money; else what follows is not there.
	Money                                        bool
	Currency                                     string
	AssignedSum, AddedSum, CorrectedSum, LateSum big.Int // minor units
}

// of is the number and the sum of a kind.
func (c *Count) of(kind aggregate.Kind) (n *int64, sum *big.Int, err error) {
	switch kind {
	case aggregate.KindAssigned:
		return &c.Assigned, &c.AssignedSum, nil
	case aggregate.KindAdded:
		return &c.Added, &c.AddedSum, nil
	case aggregate.KindCorrected:
		return &c.Corrected, &c.CorrectedSum, nil
	case aggregate.KindLate:
		return &c.Late, &c.LateSum, nil
	default:
		return nil, nil, fmt.Errorf("rows: count of unknown kind %q", kind)
	}
}

// add adds elements of a kind to c, and returns the sum that they belong to.
func (c *Count) add(kind string, elements int64) (sum *big.Int, err error) {
	n, sum, err := c.of(aggregate.Kind(kind))
	if err == nil {
		*n += elements
	}
	return sum, err
}

// addMoney adds a count of the same window and currency to c.
func (c *Count) addMoney(d *gmv.Count) error {
	v, ok := new(big.Int).SetString(d.Sum, 10)
	if !ok {
		return errSum(d.Sum)
	}
	sum, err := c.add(d.Kind, d.Elements)
	if err != nil {
		return err
	}
	sum.Add(sum, v)
	return nil
}

// AppendCount appends the row of a count: window_start, window_end, currency
// (empty where there is none), the numbers assigned, added, corrected and late,
// and assigned_sum, added_sum, corrected_sum and late_sum, which are strings of
// decimal digits, because they can be larger than decoders keep exact. The
// currency and the sums are there only where c has money.
func AppendCount(dst []byte, c *Count) []byte {
	dst = append(dst, '{')
	dst = appendWindow(dst, c.StartMs, c.EndMs)
	if c.Money {
		dst = appendText(dst, "currency", c.Currency)
	}
	dst = appendInt(dst, "assigned", c.Assigned)
	dst = appendInt(dst, "added", c.Added)
	dst = appendInt(dst, "corrected", c.Corrected)
	dst = appendInt(dst, "late", c.Late)
	if c.Money {
		dst = appendDigits(dst, "assigned_sum", &c.AssignedSum)
		dst = appendDigits(dst, "added_sum", &c.AddedSum)
		dst = appendDigits(dst, "corrected_sum", &c.CorrectedSum)
		dst = appendDigits(dst, "late_sum", &c.LateSum)
	}
	return append(dst, '}')
}

// appendDigits needs no escaping.
func appendDigits(dst []byte, name string, n *big.Int) []byte {
	dst = append(appendName(dst, name), '"')
	return append(n.Append(dst, 10), '"')
}

// GMVCountLines packs PCollection<gmv.Count> into lines for package sink: one for
// each window and currency of a bundle, with what the bundle has of every kind.
// Lines are deltas, as counts are, and to be added up.
func GMVCountLines(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &gmvCountLinesFn{}, col)
}

// AverageCountLines packs PCollection<average.Count> into lines for package sink,
// as [GMVCountLines] does. They count elements only: there is no money, and what
// values come to is not kept.
func AverageCountLines(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &averageCountLinesFn{}, col)
}

type countKey struct {
	startMs, endMs int64
	currency       string
}

// maxCounts bounds the windows and currencies that a bundle gathers before it
// writes them.
const maxCounts = 1 << 14

// countLiner gathers the counts of a bundle, and packs their lines.
type countLiner struct {
	liner
	counts map[countKey]*Count
}

func (l *countLiner) StartBundle(emitLines) {
	l.reset()
	l.counts = map[countKey]*Count{}
}

// at is the count to add to.
func (l *countLiner) at(k countKey, money bool, emit emitLines) *Count {
	c := l.counts[k]
	if c == nil {
		if len(l.counts) >= maxCounts {
			l.write(emit)
		}
		c = &Count{StartMs: k.startMs, EndMs: k.endMs, Money: money, Currency: k.currency}
		l.counts[k] = c
	}
	return c
}

func (l *countLiner) FinishBundle(emit emitLines) {
	l.write(emit)
	l.flush(emit)
}

// write packs the lines of what was gathered.
func (l *countLiner) write(emit emitLines) {
	for _, c := range l.counts {
		l.order, l.text = OrderCount(l.order[:0], c), AppendCount(l.text[:0], c)
		l.add(mtime.Time(c.EndMs-1), emit)
	}
	clear(l.counts)
}

type gmvCountLinesFn struct{ countLiner }

func (f *gmvCountLinesFn) ProcessElement(d gmv.Count, emit emitLines) error {
	return f.at(countKey{d.StartMs, d.EndMs, d.Currency}, true, emit).addMoney(&d)
}

type averageCountLinesFn struct{ countLiner }

func (f *averageCountLinesFn) ProcessElement(d average.Count, emit emitLines) error {
	_, err := f.at(countKey{startMs: d.StartMs, endMs: d.EndMs}, false, emit).add(d.Kind, d.Elements)
	return err
}
