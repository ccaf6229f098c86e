package rows

import (
	"encoding/binary"
	"fmt"
	"math/big"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"tidemark/internal/ledger"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/joins"
	"tidemark/transforms/aggregate"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.DoFn3x1[gmv.Count, ledger.Emit, ledger.Emit, error](&gmvDeltasFn{})
	register.DoFn3x1[average.Count, ledger.Emit, ledger.Emit, error](&averageDeltasFn{})
	register.DoFn2x0[joins.Count, ledger.Emit](&joinDeltasFn{})
	register.DoFn2x1[[]byte, emitLines, error](&totalLinesFn{})
	register.DoFn2x1[[]byte, emitLines, error](&accountLinesFn{})
}

// GMVDeltas packs PCollection<gmv.Count> for [TotalLines], where windows are those of
// fn. account are the deltas of the counts of all windows, for [AccountLines].
func GMVDeltas(s beam.Scope, fn windowfns.Fn, col beam.PCollection) (windows, account beam.PCollection) {
	return beam.ParDo2(s, &gmvDeltasFn{deltasOf(fn)}, col)
}

// AverageDeltas is [GMVDeltas] for PCollection<average.Count>.
func AverageDeltas(s beam.Scope, fn windowfns.Fn, col beam.PCollection) (windows, account beam.PCollection) {
	return beam.ParDo2(s, &averageDeltasFn{deltasOf(fn)}, col)
}

// TotalLines makes lines for package sink, as [GMVCountLines] or, without money,
// [AverageCountLines] does, but of totals: each has all that was counted so far of what
// has changed, and 0 for the rest. Of several lines of a window and currency the larger
// number of a kind is the newer one, with the sum that is beside it. Totals are kept in
// state, so that they are right where a runner goes back to a checkpoint.
func TotalLines(s beam.Scope, money bool, windows beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &totalLinesFn{Money: money}, ledger.Totals(s, false, windows))
}

// pageWindows is how many windows in a row, of a kind and a currency, are on one page
// of the ledger.
const pageWindows = 64

// dayMs is about how far windows are apart that are no grid.
const dayMs = 24 * 60 * 60 * 1000

// windowDeltas gather the counts of windows of a bundle, and of all windows together.
type windowDeltas struct {
	StepMs int64 // about how far windows are apart

	key          []byte
	windows, all ledger.Deltas
}

func deltasOf(fn windowfns.Fn) windowDeltas {
	if g, ok := fn.(windowfns.Grid); ok {
		return windowDeltas{StepMs: g.StepMs()}
	}
	return windowDeltas{StepMs: dayMs}
}

// StartBundle begins a bundle.
func (d *windowDeltas) StartBundle(ledger.Emit, ledger.Emit) {
	d.windows, d.all = ledger.Deltas{}, ledger.Deltas{}
}

// FinishBundle sends on what the bundle has counted.
func (d *windowDeltas) FinishBundle(windows, all ledger.Emit) {
	d.windows.Flush(windows)
	d.all.Flush(all)
}

func (d *windowDeltas) add(kind string, startMs, endMs int64, currency string, n int64, sum *big.Int, windows, all ledger.Emit) {
	d.key = appendCountKey(d.key[:0], kind, startMs, endMs, currency)
	page := append(binary.AppendVarint([]byte(kind), endMs/(d.StepMs*pageWindows)), currency...)
	d.windows.Add(int64(xxhash.Sum64(page)), d.key, n, sum, windows)
	d.all.Add(0, []byte(kind), n, nil, all)
}

func appendCountKey(dst []byte, kind string, startMs, endMs int64, currency string) []byte {
	dst = routing.AppendPrefixed(dst, kind)
	dst = binary.AppendVarint(dst, startMs)
	dst = binary.AppendVarint(dst, endMs)
	return append(dst, currency...)
}

func readCountKey(key []byte) (kind string, k countKey, err error) {
	r := routing.NewReader(key)
	kind = string(r.Prefixed())
	k = countKey{startMs: r.Varint(), endMs: r.Varint(), currency: string(r.Bytes(r.Len()))}
	return kind, k, r.Err()
}

type gmvDeltasFn struct{ windowDeltas }

func (f *gmvDeltasFn) ProcessElement(c gmv.Count, windows, all ledger.Emit) error {
	sum, ok := new(big.Int).SetString(c.Sum, 10)
	if !ok {
		return errSum(c.Sum)
	}
	f.add(c.Kind, c.StartMs, c.EndMs, c.Currency, c.Elements, sum, windows, all)
	return nil
}

type averageDeltasFn struct{ windowDeltas }

func (f *averageDeltasFn) ProcessElement(c average.Count, windows, all ledger.Emit) error {
	f.add(c.Kind, c.StartMs, c.EndMs, "", c.Elements, nil, windows, all)
	return nil
}

// totalLinesFn packs lines of totals of windows.
type totalLinesFn struct {
	Money bool
	countLiner
}

func (f *totalLinesFn) ProcessElement(totals []byte, emit emitLines) error {
	return ledger.Each(totals, func(key []byte, a *ledger.Amount) error {
		kind, k, err := readCountKey(key)
		if err != nil {
			return err
		}
		return f.at(k, f.Money, emit).raise(kind, a)
	})
}

// raise sets what c has of a kind, unless it has more.
func (c *Count) raise(kind string, to *ledger.Amount) error {
	n, sum, err := c.of(aggregate.Kind(kind))
	if err == nil && to.N >= *n {
		*n = to.N
		sum.Set(&to.Sum)
	}
	return err
}

// JoinDeltas are the deltas of PCollection<joins.Count>, for [AccountLines].
func JoinDeltas(s beam.Scope, counts beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &joinDeltasFn{}, counts)
}

type joinDeltasFn struct{ deltas ledger.Deltas }

func (f *joinDeltasFn) StartBundle(ledger.Emit) { f.deltas = ledger.Deltas{} }

func (f *joinDeltasFn) FinishBundle(emit ledger.Emit) { f.deltas.Flush(emit) }

func (f *joinDeltasFn) ProcessElement(c joins.Count, emit ledger.Emit) {
	side := &tally.Sides[0]
	if c.Right {
		side = &tally.Sides[1]
	}
	for _, n := range []struct {
		kind tally.Kind
		n    int64
	}{{side.Joined, c.Joined}, {side.Unmatched, c.Unmatched}, {tally.Added, c.Joined + c.Unmatched}} {
		f.deltas.Add(0, []byte(tally.Names[n.kind]), n.n, nil, emit)
	}
}

// CountAs are the deltas of how many elements a collection has, which are of the given
// kinds, for [AccountLines].
func CountAs(s beam.Scope, col beam.PCollection, kinds ...tally.Kind) beam.PCollection {
	var names []string
	for _, k := range kinds {
		names = append(names, tally.Names[k])
	}
	return ledger.Count(s, col, names...)
}

// AccountLines packs lines for package sink: each has all that the deltas come to so
// far, by name. The one with the most of all is the last one. Numbers are kept in
// state, as those of [TotalLines] are.
func AccountLines(s beam.Scope, deltas ...beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &accountLinesFn{}, ledger.Totals(s, true, deltas...))
}

type accountLinesFn struct{ liner }

func (f *accountLinesFn) ProcessElement(totals []byte, emit emitLines) error {
	f.order, f.text = f.order[:0], append(f.text[:0], '{')
	if err := ledger.Each(totals, func(key []byte, a *ledger.Amount) error {
		f.text = appendInt(f.text, string(key), a.N)
		return nil
	}); err != nil {
		return err
	}
	f.text = append(f.text, '}')
	f.add(mtime.ZeroTimestamp, emit)
	return nil
}

func errSum(text string) error {
	return fmt.Errorf("rows: count with the sum %q, want decimal digits", text)
}
