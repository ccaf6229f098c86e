package routing

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

func windows() *rapid.Generator[windowfns.Window] {
	return rapid.Custom(func(t *rapid.T) windowfns.Window {
		start := rapid.Int64Range(-3e12, 7e12).Draw(t, "start")
		return windowfns.Window{StartMs: start, EndMs: start + rapid.Int64Range(1, 4e12).Draw(t, "size")}
	})
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func blobs() *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), 0, 40) }

// items draws elements as packers make them: one with several windows has a
// number, only some copies carry the raw element, and some stand for a run.
func items(w windowfns.Window) *rapid.Generator[Item] {
	return rapid.Custom(func(t *rapid.T) Item {
		it := Item{
			TimeMs:  rapid.Int64().Draw(t, "time"),
			Windows: rapid.IntRange(1, 4).Draw(t, "windows"),
			Probes:  1,
			OtherMs: w.EndMs,
			Body:    blobs().Draw(t, "body"),
		}
		if it.Windows > 1 {
			it.Seq = rapid.Uint64().Draw(t, "seq")
			it.Probes = rapid.IntRange(1, it.Windows).Draw(t, "probes")
		}
		if it.Run = rapid.Bool().Draw(t, "run"); it.Run {
			it.OtherMs = rapid.Int64().Draw(t, "other")
		}
		switch rapid.IntRange(0, 2).Draw(t, "raw") {
		case 1:
			it.Raw = append([]byte{}, blobs().Draw(t, "raw")...)
		case 2:
			it.Raw = it.Body
		}
		return it
	})
}

// TestBatchRoundTrip packs items and reads them back, whole and cut short: a
// batch that ends inside an item is an error, and what was before it is right.
func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := windows().Draw(t, "window")
		nonce := rapid.Uint64().Draw(t, "nonce")
		want := rapid.SliceOfN(items(w), 0, 5).Draw(t, "items")
		packed := appendHeader(nil, w, nonce)
		ends := []int{len(packed)}
		for i := range want {
			packed = appendItem(packed, &want[i])
			ends = append(ends, len(packed))
		}

		cut := rapid.IntRange(0, len(packed)).Draw(t, "cut")
		got, err := readBatch(packed[:cut], w, nonce)
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		switch {
		case whole == 0:
			if err == nil {
				t.Fatalf("no error for a header of %d bytes, %d of them there", ends[0], cut)
			}
			return
		case ends[whole-1] == cut && err != nil:
			t.Fatalf("%d items: %v", whole-1, err)
		case ends[whole-1] != cut && err == nil:
			t.Fatalf("no error for %d items and %d bytes", whole-1, cut-ends[whole-1])
		}
		if diff := cmp.Diff(want[:whole-1], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// readBatch returns the items that could be read, and the error.
func readBatch(packed []byte, w windowfns.Window, nonce uint64) ([]Item, error) {
	batch, err := ReadBatch(packed)
	if err != nil {
		return nil, err
	}
	if batch.Window != w || batch.nonce != nonce {
		return nil, errors.New("another header")
	}
	var got []Item
	var it Item
	for batch.Next(&it) {
		got = append(got, it)
	}
	return got, batch.Err()
}

// A body that is the raw element is stored once.
func TestBodyThatIsRaw(t *testing.T) {
	body := bytes.Repeat([]byte{7}, 1000)
	b := appendItem(nil, &Item{Windows: 1, Probes: 1, Body: body, Raw: body})
	if len(b) > 1010 {
		t.Errorf("%d bytes for a body of 1000", len(b))
	}
}

func TestLateRoundTrip(t *testing.T) {
	records := rapid.Custom(func(t *rapid.T) LateRecord {
		return LateRecord{
			TimeMs: rapid.Int64().Draw(t, "time"),
			Missed: rapid.SliceOfN(windows(), 1, 4).Draw(t, "missed"),
			All:    rapid.Bool().Draw(t, "all"),
			Raw:    blobs().Draw(t, "raw"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(records, 0, 5).Draw(t, "records")
		var packed []byte
		ends := map[int]int{0: 0}
		for i := range want {
			packed = AppendLate(packed, &want[i])
			ends[len(packed)] = i + 1
		}
		cut := rapid.IntRange(0, len(packed)).Draw(t, "cut")
		var got []LateRecord
		err := ReadLate(packed[:cut], func(rec *LateRecord) error {
			c := *rec
			c.Missed = append([]windowfns.Window(nil), rec.Missed...)
			got = append(got, c)
			return nil
		})
		if n, ok := ends[cut]; ok != (err == nil) || ok && n != len(got) {
			t.Fatalf("cut at %d of %d: %d records, %v", cut, len(packed), len(got), err)
		}
		if diff := cmp.Diff(want[:len(got)], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestReadLateStopsAtAnError(t *testing.T) {
	rec := LateRecord{Missed: []windowfns.Window{{StartMs: 1, EndMs: 2}}}
	packed := AppendLate(AppendLate(nil, &rec), &rec)
	calls, want := 0, errors.New("enough")
	err := ReadLate(packed, func(*LateRecord) error { calls++; return want })
	if !errors.Is(err, want) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestReader reads each primitive from too little and from nothing: zero values
// and one error that stays.
func TestReader(t *testing.T) {
	long := bytes.Repeat([]byte{0xff}, 11) // no varint has so many bytes
	for name, read := range map[string]func(*Reader) bool{
		"varint":           func(r *Reader) bool { return r.Varint() == 0 },
		"uvarint":          func(r *Reader) bool { return r.Uvarint() == 0 },
		"byte":             func(r *Reader) bool { r.Bytes(r.Len()); return r.Byte() == 0 },
		"bytes":            func(r *Reader) bool { return r.Bytes(12) == nil },
		"negative bytes":   func(r *Reader) bool { return r.Bytes(-1) == nil },
		"prefixed":         func(r *Reader) bool { return r.Prefixed() == nil },
		"too far prefixed": func(r *Reader) bool { r.b = append([]byte{200, 1}, r.b...); return r.Prefixed() == nil },
		"endless prefixed": func(r *Reader) bool {
			r.b = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
			return r.Prefixed() == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(long)
			if !read(&r) {
				t.Error("not a zero value")
			}
			err := r.Err()
			if err == nil || !strings.Contains(err.Error(), "cut short") || !r.Done() {
				t.Fatalf("err %v, done %v", err, r.Done())
			}
			if r.Varint() != 0 || r.Uvarint() != 0 || r.Byte() != 0 || r.Prefixed() != nil || r.Len() != 0 || r.Err() != err {
				t.Error("it goes on after an error")
			}
		})
	}
	r := NewReader(nil)
	if !r.Done() || r.Err() != nil {
		t.Errorf("nothing to read: done %v, err %v", r.Done(), r.Err())
	}
}

// FuzzBatch reads any bytes without panicking or running away.
func FuzzBatch(f *testing.F) {
	it := Item{TimeMs: -1, Windows: 3, Probes: 2, Seq: math.MaxUint64, Run: true, OtherMs: -7, Body: []byte("body"), Raw: []byte("raw")}
	f.Add(appendItem(appendHeader(nil, windowfns.Window{StartMs: -5, EndMs: 5}, 7), &it))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = readBatch(b, windowfns.Window{}, 0)
		_ = ReadLate(b, func(*LateRecord) error { return nil })
		_, _ = readCollector(b)
		_, _, _ = collector{}.add(b, nil, 0)
		batch, err := ReadBatch(b)
		if err != nil {
			return
		}
		n := 0
		for it := (Item{}); batch.Next(&it); n++ {
			if n > len(b) {
				t.Fatal("more items than bytes")
			}
		}
	})
}
