// Package ledger adds up counts in Beam's state. Where a runner goes back to
// a checkpoint its state goes back too, so that what is repeated is counted once;
// numbers that are put out, or that a process holds, are not undone.
//
// Counts come as deltas, by page: a page is what one piece of state holds. [Totals]
// puts out what all of a page's deltas so far come to. Of two totals of the same
// thing the larger number is the later one, also after a failure, where the amounts
// count things that each are there once: so whoever writes them down keeps
// the larger one.
//
// State is never freed: an entry takes its key and about 10 bytes.
package ledger

import (
	"math/big"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Emit sends deltas on: the page, and packed amounts.
type Emit = func(beam.EventTime, int64, []byte)

func init() {
	register.DoFn4x1[state.Provider, int64, []byte, func([]byte), error](&totalsFn{})
	register.DoFn2x0[beam.X, Emit](&countFn{})
	register.DoFn3x0[beam.X, beam.Y, Emit](&countKeyedFn{})
	register.Emitter3[beam.EventTime, int64, []byte]()
	register.Emitter1[[]byte]()
}

// maxEntries bounds what a bundle gathers before it sends it on.
const maxEntries = 1 << 14

// Deltas gather what a bundle counts. The zero value is ready.
type Deltas struct {
	pages   map[int64]book
	entries int
}

// Add adds n, and sum where it is not nil, to what key counts on a page.
func (d *Deltas) Add(page int64, key []byte, n int64, sum *big.Int, emit Emit) {
	b := d.pages[page]
	if b == nil {
		if d.pages == nil {
			d.pages = map[int64]book{}
		}
		b = book{}
		d.pages[page] = b
	}
	before := len(b)
	more := Amount{N: n}
	if sum != nil {
		more.Sum = *sum
	}
	b.add(key, &more)
	if d.entries += len(b) - before; d.entries >= maxEntries {
		d.Flush(emit)
	}
}

// Flush sends on what was gathered. When, in event time, does not matter.
func (d *Deltas) Flush(emit Emit) {
	for page, b := range d.pages {
		emit(mtime.ZeroTimestamp, page, b.pack(nil))
	}
	*d = Deltas{}
}

// Totals adds up PCollection<KV<int64, []byte>>, the packed deltas of pages, all of
// them in the global window. It puts out PCollection<[]byte>: of each element the
// totals of what it has changed or, where whole is set, of all that is on its page.
func Totals(s beam.Scope, whole bool, deltas ...beam.PCollection) beam.PCollection {
	s = s.Scope("totals")
	col := deltas[0]
	if len(deltas) > 1 {
		col = beam.Flatten(s, deltas...)
	}
	return beam.ParDo(s, &totalsFn{Whole: whole, Page: state.MakeValueState[[]byte]("page")}, col)
}

// totalsFn keeps the totals of pages.
type totalsFn struct {
	Whole bool
	Page  state.Value[[]byte]
}

func (f *totalsFn) ProcessElement(sp state.Provider, _ int64, deltas []byte, emit func([]byte)) error {
	was, _, err := f.Page.Read(sp)
	if err != nil {
		return err
	}
	now, out, err := addUp(was, deltas, f.Whole)
	if err != nil {
		return err
	}
	emit(out)
	return f.Page.Write(sp, now)
}

// addUp adds deltas to a page, and returns it with what is to be put out.
func addUp(page, deltas []byte, whole bool) (now, out []byte, err error) {
	all, changed := book{}, book{}
	if err := Each(page, func(key []byte, a *Amount) error {
		all.add(key, a)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	if err := Each(deltas, func(key []byte, a *Amount) error {
		all.add(key, a)
		changed[string(key)] = all[string(key)]
		return nil
	}); err != nil {
		return nil, nil, err
	}
	now = all.pack(nil)
	if whole {
		return now, now, nil
	}
	return now, changed.pack(nil), nil
}

// Count counts the elements of a collection under each of the names, all on one
// page.
func Count(s beam.Scope, col beam.PCollection, names ...string) beam.PCollection {
	s = s.Scope("count_" + strings.Join(names, "_"))
	if typex.IsKV(col.Type()) {
		return beam.ParDo(s, &countKeyedFn{counting{Names: names}}, col)
	}
	return beam.ParDo(s, &countFn{counting{Names: names}}, col)
}

// counting counts the elements of a bundle.
type counting struct {
	Names []string

	n      int64
	deltas Deltas
}

// StartBundle begins a bundle.
func (c *counting) StartBundle(Emit) { c.n = 0 }

// FinishBundle sends on how many there were.
func (c *counting) FinishBundle(emit Emit) {
	if c.n == 0 {
		return
	}
	for _, name := range c.Names {
		c.deltas.Add(0, []byte(name), c.n, nil, emit)
	}
	c.deltas.Flush(emit)
}

type countFn struct{ counting }

func (f *countFn) ProcessElement(beam.X, Emit) { f.n++ }

type countKeyedFn struct{ counting }

func (f *countKeyedFn) ProcessElement(beam.X, beam.Y, Emit) { f.n++ }
