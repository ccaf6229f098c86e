package routing

import (
	"encoding/binary"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
)

// parcelKey is the key of every parcel: a layer needs no shards, because what
// passes through one pane of it is cheap to look at.
const parcelKey = 0

// parcels are packed batches by the deadline that a layer judges them by. Each
// is
//
//	(shard varint | len(batch) uvarint | batch)*
type parcels map[int64][]byte

// add puts a batch into the parcel of deadlineMs.
func (p parcels) add(deadlineMs, shard int64, batch []byte) {
	p[deadlineMs] = AppendPrefixed(binary.AppendVarint(p[deadlineMs], shard), batch)
}

// emit sends the parcels on, each stamped with the last millisecond before its
// deadline.
func (p parcels) emit(emit Emit) {
	for deadlineMs, b := range p {
		emit(mtime.Time(deadlineMs-1), parcelKey, b)
	}
}

// readParcel calls f for each batch of a parcel.
func readParcel(b []byte, f func(shard int64, batch []byte) error) error {
	r := NewReader(b)
	for !r.Done() {
		shard, batch := r.Varint(), r.Prefixed()
		if r.Err() != nil {
			break
		}
		if err := f(shard, batch); err != nil {
			return err
		}
	}
	return r.Err()
}

// regroup packs the batches of a parcel anew, by deadlines rounded up to grainMs.
// Where copies of one element part, the first in each parcel gets to carry the
// element for its late record, because from here on they may be judged one by
// one and any of them may be the first that is late.
func (p parcels) regroup(parcel []byte, cfg Config, grainMs int64) error {
	type entry struct {
		shard  int64
		packed []byte
		batch  Batch
	}
	var all []entry
	err := readParcel(parcel, func(shard int64, packed []byte) error {
		batch, err := ReadBatch(packed)
		all = append(all, entry{shard, packed, batch})
		return err
	})
	if err != nil {
		return err
	}
	if cfg.Many {
		slices.SortStableFunc(all, func(a, b entry) int { return a.batch.Window.Compare(b.batch.Window) })
	}
	raws := raws{}
	for i := range all {
		e := &all[i]
		deadlineMs := ceilMultiple(e.batch.Window.EndMs+cfg.LatenessMs, grainMs)
		if cfg.Many {
			if e.packed, err = raws.hand(deadlineMs, &e.batch); err != nil {
				return err
			}
		}
		p.add(deadlineMs, e.shard, e.packed)
	}
	return nil
}

// raws are elements as they came in, with the last parcel that got a copy of
// each: parcels are filled by ascending deadline.
type raws map[elementID]*handed

type handed struct {
	raw        []byte
	deadlineMs int64
}

// hand packs a batch anew for the parcel of deadlineMs.
func (r raws) hand(deadlineMs int64, batch *Batch) ([]byte, error) {
	var it Item
	b := appendHeader(nil, batch.Window, batch.nonce)
	for batch.Next(&it) {
		if it.Probes > 1 {
			id := elementID{batch.nonce, it.Seq}
			h := r[id]
			switch {
			case h == nil:
				r[id] = &handed{it.Raw, deadlineMs}
			case h.deadlineMs != deadlineMs:
				it.Raw, h.deadlineMs = h.raw, deadlineMs
			}
		}
		b = appendItem(b, &it)
	}
	return b, batch.Err()
}
