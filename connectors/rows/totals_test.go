package rows

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/ledger"
	"tidemark/joins"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func TestCountKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"assigned", "late"}).Draw(t, "kind")
		k := countKey{rapid.Int64().Draw(t, "start"), rapid.Int64().Draw(t, "end"), rapid.String().Draw(t, "currency")}
		key := appendCountKey(nil, kind, k.startMs, k.endMs, k.currency)
		if gotKind, got, err := readCountKey(key); err != nil || gotKind != kind || got != k {
			t.Fatalf("%q %+v, %v, want %q %+v", gotKind, got, err, kind, k)
		}
	})
	for _, bad := range []string{"", "late", "late ", "late \x80"} {
		if _, _, err := readCountKey([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// sent are deltas by page.
type sent map[int64]map[string]string

func (s sent) emit(t *testing.T) ledger.Emit {
	return func(_ beam.EventTime, page int64, packed []byte) {
		if s[page] == nil {
			s[page] = map[string]string{}
		}
		if err := ledger.Each(packed, func(key []byte, a *ledger.Amount) error {
			if _, twice := s[page][string(key)]; twice {
				t.Errorf("%q twice in a bundle", key)
			}
			s[page][string(key)] = big.NewInt(a.N).String() + " " + a.Sum.String()
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestDeltasFn gathers a bundle: what windows have by page, and what all have.
func TestDeltasFn(t *testing.T) {
	f := &gmvDeltasFn{deltasOf(windowfns.Sliding{Size: 3_000_000_000, Period: 1_000_000_000})}
	for range 2 {
		windows, all := sent{}, sent{}
		f.StartBundle(nil, nil)
		for _, c := range []gmv.Count{
			{StartMs: 0, EndMs: 1000, Currency: "EUR", Kind: "assigned", Elements: 2, Sum: "5"},
			{StartMs: 0, EndMs: 1000, Currency: "EUR", Kind: "assigned", Elements: 1, Sum: "-7"},
			{StartMs: 0, EndMs: 63_000, Currency: "EUR", Kind: "assigned", Elements: 1, Sum: "1"},
			{StartMs: 0, EndMs: 64_000, Currency: "EUR", Kind: "assigned", Elements: 1, Sum: "1"},
			{StartMs: 0, EndMs: 1000, Currency: "EUR", Kind: "late", Elements: 1, Sum: "4"},
		} {
			if err := f.ProcessElement(c, windows.emit(t), all.emit(t)); err != nil {
				t.Fatal(err)
			}
		}
		f.FinishBundle(windows.emit(t), all.emit(t))
		if diff := gocmp.Diff(sent{0: {"assigned": "5 0", "late": "1 0"}}, all); diff != "" {
			t.Errorf("of all windows (-want +got):\n%s", diff)
		}
		together := map[string]string{}
		for _, page := range windows {
			for k, v := range page {
				together[k] = v
			}
		}
		key := func(kind string, end int64) string { return string(appendCountKey(nil, kind, 0, end, "EUR")) }
		want := map[string]string{key("assigned", 1000): "3 -2", key("assigned", 63_000): "1 1", key("assigned", 64_000): "1 1", key("late", 1000): "1 4"}
		if diff := gocmp.Diff(want, together); diff != "" || len(windows) != 3 {
			t.Errorf("%d pages, want 3; by window (-want +got):\n%s", len(windows), diff)
		}
	}
	if err := f.ProcessElement(gmv.Count{Sum: "1.5"}, nil, nil); err == nil {
		t.Error("no error for a sum of no digits")
	}
	if step := deltasOf(windowfns.Calendar{Unit: windowfns.Month}).StepMs; step != dayMs {
		t.Errorf("months are %d ms apart, want what a page can be made of", step)
	}
}

// TestJoinDeltasFn gathers the counts of both sides.
func TestJoinDeltasFn(t *testing.T) {
	f, got := &joinDeltasFn{}, sent{}
	f.StartBundle(nil)
	for _, c := range []joins.Count{{Joined: 2, Unmatched: 1}, {Right: true, Joined: 5}, {Joined: 1}} {
		f.ProcessElement(c, nil)
	}
	f.FinishBundle(got.emit(t))
	want := sent{0: {"left_joined": "3 0", "left_unmatched": "1 0", "right_joined": "5 0", "right_unmatched": "0 0", "added": "9 0"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTotalLinesFn writes a line for each window of a bundle, with the largest of what
// came, whatever came last.
func TestTotalLinesFn(t *testing.T) {
	packed := func(kind, currency, n, sum string) []byte {
		var d ledger.Deltas
		var out []byte
		elements, _ := new(big.Int).SetString(n, 10)
		money, _ := new(big.Int).SetString(sum, 10)
		d.Add(0, appendCountKey(nil, kind, 0, 1000, currency), elements.Int64(), money, nil)
		d.Flush(func(_ beam.EventTime, _ int64, b []byte) { out = b })
		return out
	}
	var batches [][]byte
	emit := func(_ beam.EventTime, b []byte) { batches = append(batches, bytes.Clone(b)) }
	f := &totalLinesFn{Money: true}
	f.StartBundle(emit)
	for _, b := range [][]byte{
		packed("assigned", "EUR", "3", "-30"), packed("assigned", "EUR", "2", "70"), packed("late", "EUR", "1", "8"), packed("assigned", "USD", "1", "1"),
	} {
		if err := f.ProcessElement(b, emit); err != nil {
			t.Fatal(err)
		}
	}
	f.FinishBundle(emit)
	got := map[string]Count{}
	for _, c := range readCounts(t, batches) {
		got[c.Currency] = c
	}
	if e, u := got["EUR"], got["USD"]; len(got) != 2 || e.Assigned != 3 || e.AssignedSum.Int64() != -30 || e.Late != 1 || e.LateSum.Int64() != 8 || u.Assigned != 1 {
		t.Errorf("%+v", got)
	}
	for _, bad := range [][]byte{packed("lost", "EUR", "1", "1"), {1}, append([]byte{1, 'x', 2, 0}, 0)[:4]} {
		if err := f.ProcessElement(bad, emit); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestAverageDeltas counts without money.
func TestAverageDeltas(t *testing.T) {
	f, windows, all := &averageDeltasFn{deltasOf(windowfns.Tumbling{Size: 1_000_000_000})}, sent{}, sent{}
	f.StartBundle(nil, nil)
	if err := f.ProcessElement(average.Count{EndMs: 1000, Kind: "added", Elements: 2, Sum: "1.5"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(windows.emit(t), all.emit(t))
	if diff := gocmp.Diff(sent{0: {"added": "2 0"}}, all); diff != "" || len(windows) != 1 {
		t.Errorf("windows %v, all (-want +got):\n%s", windows, diff)
	}
}
