package intake

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// TestLateRecords adds records out of memory that is used again each time, as packing
// DoFns do, and flushes where it is time to: all come out once, as they were, under
// the oldest of their times.
func TestLateRecords(t *testing.T) {
	var want, got []routing.LateRecord
	var late LateRecords
	flushes := 0
	emit := func(et beam.EventTime, _ int64, packed []byte) {
		flushes++
		from := len(got)
		if err := routing.ReadLate(packed, func(rec *routing.LateRecord) error {
			c := *rec
			c.Missed, c.Raw = slices.Clone(rec.Missed), bytes.Clone(rec.Raw)
			got = append(got, c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		oldest := slices.MinFunc(got[from:], func(a, b routing.LateRecord) int { return int(a.TimeMs - b.TimeMs) })
		if int64(et) != oldest.TimeMs {
			t.Errorf("records from %d ms on stamped with %d ms", oldest.TimeMs, et)
		}
	}
	windows, raw := make([]windowfns.Window, 3), make([]byte, lateFlushBytes/4)
	for i := range 10 {
		for w := range windows {
			windows[w] = windowfns.Window{StartMs: int64(10*i + w), EndMs: int64(20*i + w + 1)}
		}
		for b := range raw {
			raw[b] = byte(i)
		}
		rec := routing.LateRecord{TimeMs: int64(7 * i % 5), Missed: windows[:1+i%3], All: i%2 == 0, Raw: raw}
		want = append(want, routing.LateRecord{TimeMs: rec.TimeMs, Missed: slices.Clone(rec.Missed), All: rec.All, Raw: bytes.Clone(raw)})
		full := late.Add(&rec)
		if full != (i%4 == 3) {
			t.Errorf("full behind record %d: %v", i, full)
		}
		if full {
			late.Flush(emit)
		}
	}
	late.Flush(emit)
	late.Flush(emit) // nothing
	if diff := cmp.Diff(want, got); diff != "" || flushes != 3 {
		t.Errorf("%d flushes, want 3; mismatch (-want +got):\n%s", flushes, diff)
	}
}
