package routing

import (
	"cmp"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/windowfns"
)

// Where each element is judged by its own timestamp, a batch for each window would be
// one for each millisecond, and a cell in the gate for each. But lateness is monotone:
// what is in time for the earliest element of a batch is in time for all. So elements
// go in bulk, as one batch that stands for the earliest of them, and only where that
// one is late the batch is cut into parts by time, and these into finer ones. Few
// elements are late, and those have to be judged one by one.
//
// A batch that is late holds the watermark no more for the elements in it that are
// not, on runners where what is behind the watermark holds nothing: they are judged by
// the watermark of a moment later. On Prism it holds it where it is.

func init() {
	register.DoFn6x1[beam.PaneInfo, int64, func(*[]byte) bool, Emit, Emit, Emit, error](&bulkFn{})
}

// instant is the window of an element that is judged by its own timestamp.
func instant(tMs int64) windowfns.Window { return windowfns.Window{StartMs: tMs, EndMs: tMs + 1} }

// Bulk collects elements that are judged by their own timestamps. The zero value is
// ready.
type Bulk struct {
	batches map[bulkKey]*bulkBatch
	size    int
	late    Packer // instead, where cfg.Layered is set: these are late already, and not in bulk
}

type bulkKey struct{ shard, deadlineMs int64 }

type bulkBatch struct {
	firstMs int64
	items   []byte
}

// Add adds an element, and reports whether it is time to [Bulk.Flush]. The element is
// both body and raw.
func (p *Bulk) Add(cfg Config, shard, tMs int64, element []byte) (full bool) {
	it := Item{TimeMs: tMs, Probes: 1, Windows: 1, Body: element, Raw: element}
	if cfg.Layered {
		return p.late.Add(shard, instant(tMs), &it)
	}
	k := bulkKey{shard: shard}
	if cfg.RetentionMs > 0 {
		// The gate that lets the others forget judges a batch as a whole.
		k.deadlineMs = ceilMultiple(instant(tMs).EndMs+cfg.LatenessMs+cfg.RetentionMs, cfg.grain())
	}
	b := p.batches[k]
	if b == nil {
		if p.batches == nil {
			p.batches = map[bulkKey]*bulkBatch{}
		}
		b = &bulkBatch{firstMs: tMs}
		p.batches[k] = b
	}
	b.firstMs = min(b.firstMs, tMs)
	was := len(b.items)
	b.items = appendItem(b.items, &it)
	p.size += len(b.items) - was
	return p.size >= flushBytes
}

// Flush sends what there is to [Route].
func (p *Bulk) Flush(cfg Config, emit Emit) {
	p.late.FlushSuspects(cfg, emit)
	for k, b := range p.batches {
		w := instant(b.firstMs)
		packed := appendHeader(make([]byte, 0, len(b.items)+32), w, 0)
		emit(stampOf(w.EndMs, 0), k.shard, append(packed, b.items...))
	}
	*p = Bulk{}
}

// bulkParts is how many parts a batch is cut into.
const bulkParts = 16

// sift sends bulky batches through gates. It returns what is in time, and batches of
// single instants for the exact gates.
func sift(s beam.Scope, cfg Config, batches beam.PCollection) (onTime []beam.PCollection, single beam.PCollection) {
	var singles []beam.PCollection
	for i, name := range []string{"bundle", "part", "part_of_part"} {
		fn := &bulkFn{Parts: bulkParts}
		if i == 2 {
			fn.Parts = 0
		}
		pass, rest, one := gate(s.Scope(name), cfg.memory(), fn, batches)
		onTime, singles = append(onTime, pass), append(singles, one)
		batches = rest
	}
	return onTime, flatten(s.Scope("single"), append(singles, batches))
}

// bulkFn stands behind the GroupByKey of a gate for bulky batches. What is late is cut
// into Parts, or into instants where that is 0.
type bulkFn struct {
	Parts int
}

func (f *bulkFn) ProcessElement(pane beam.PaneInfo, shard int64, batches func(*[]byte) bool, pass, rest, single Emit) error {
	late := pane.Timing == typex.PaneLate
	var b []byte
	for batches(&b) {
		batch, err := ReadBatch(b)
		switch {
		case err != nil:
		case !late:
			pass(stampOf(batch.Window.EndMs, 0), shard, b)
		default:
			err = f.cut(&batch, shard, rest, single)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cut emits the elements of a batch in parts, by time, those of an instant together.
func (f *bulkFn) cut(batch *Batch, shard int64, rest, single Emit) error {
	var items []Item
	var it Item
	for batch.Next(&it) {
		items = append(items, it)
	}
	if batch.Err() != nil {
		return batch.Err()
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.TimeMs, b.TimeMs) })
	size := 1
	if f.Parts > 0 {
		size = max(1, (len(items)+f.Parts-1)/f.Parts)
	}
	for len(items) > 0 {
		n := min(size, len(items))
		for n < len(items) && items[n].TimeMs == items[n-1].TimeMs {
			n++
		}
		w := instant(items[0].TimeMs)
		packed := appendHeader(nil, w, 0)
		for i := range items[:n] {
			packed = appendItem(packed, &items[i])
		}
		to := rest
		if items[n-1].TimeMs == items[0].TimeMs {
			to = single
		}
		to(stampOf(w.EndMs, 0), shard, packed)
		items = items[n:]
	}
	return nil
}
