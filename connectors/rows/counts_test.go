package rows

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
)

func TestAppendCount(t *testing.T) {
	c := Count{StartMs: 0, EndMs: 60_000, Money: true, Currency: "EUR"}
	for _, d := range []gmv.Count{
		{Kind: "assigned", Elements: 3, Sum: "123"},
		{Kind: "added", Elements: 1, Sum: "-9223372036854775809"},
		{Kind: "added", Elements: 1, Sum: "9223372036854775909"},
		{Kind: "corrected", Elements: 1, Sum: "0"},
		{Kind: "late", Elements: 1, Sum: "23"},
	} {
		if err := c.addMoney(&d); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		count Count
		want  string
	}{
		{c, `{"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:01:00Z","currency":"EUR",` +
			`"assigned":3,"added":2,"corrected":1,"late":1,"assigned_sum":"123","added_sum":"100","corrected_sum":"0","late_sum":"23"}`},
		{Count{StartMs: -1, Money: true, Currency: `"`, Late: 1, LateSum: *big.NewInt(-5)}, `{"window_start":"1969-12-31T23:59:59.999Z","window_end":"1970-01-01T00:00:00Z","currency":"\"",` +
			`"assigned":0,"added":0,"corrected":0,"late":1,"assigned_sum":"0","added_sum":"0","corrected_sum":"0","late_sum":"-5"}`},
		{Count{EndMs: 1, Assigned: 4, Added: 3, Corrected: 2, Late: 1, AddedSum: *big.NewInt(7)}, `{"window_start":"1970-01-01T00:00:00Z",` +
			`"window_end":"1970-01-01T00:00:00.001Z","assigned":4,"added":3,"corrected":2,"late":1}`},
	} {
		got := AppendCount([]byte("before"), &tc.count)
		if string(got) != "before"+tc.want || !json.Valid(got[len("before"):]) {
			t.Errorf("AppendCount\n got %s\nwant %s", got, tc.want)
		}
	}
}

func TestCountAddErrors(t *testing.T) {
	for _, d := range []gmv.Count{{Kind: "lost", Sum: "1"}, {Kind: "late"}, {Kind: "late", Sum: "1.5"}} {
		if err := new(Count).addMoney(&d); err == nil {
			t.Errorf("no error for %+v", d)
		}
	}
	if _, err := new(Count).add("lost", 1); err == nil {
		t.Error("no error for elements of an unknown kind")
	}
}

func TestOrderCount(t *testing.T) {
	count := rapid.Custom(func(t *rapid.T) Count {
		return Count{
			EndMs:    rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, "end"),
			StartMs:  rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, "start"),
			Currency: orderedText.Draw(t, "currency"),
			Late:     rapid.Int64().Draw(t, "late"), // has no effect
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := count.Draw(t, "a"), count.Draw(t, "b")
		want := cmp.Or(cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.StartMs, b.StartMs), strings.Compare(a.Currency, b.Currency))
		if got := bytes.Compare(OrderCount([]byte("x"), &a), OrderCount([]byte("x"), &b)); got != want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	})
}

// TestCountLinesFn writes the counts of two bundles: a line for each window and
// currency that a bundle has something of, and one more for what came after the
// limit on what it gathers.
func TestCountLinesFn(t *testing.T) {
	fn := &gmvCountLinesFn{}
	var batches [][]byte
	emit := func(_ beam.EventTime, b []byte) { batches = append(batches, bytes.Clone(b)) }
	bundle := func(counts ...gmv.Count) []Count {
		t.Helper()
		batches = nil
		fn.StartBundle(emit)
		for _, c := range counts {
			if err := fn.ProcessElement(c, emit); err != nil {
				t.Fatal(err)
			}
		}
		fn.FinishBundle(emit)
		return readCounts(t, batches)
	}
	for range 2 {
		got := bundle(
			gmv.Count{EndMs: 1000, Currency: "EUR", Kind: "assigned", Elements: 2, Sum: "5"},
			gmv.Count{EndMs: 2000, Currency: "EUR", Kind: "late", Elements: 1, Sum: "1"},
			gmv.Count{EndMs: 1000, Currency: "USD", Kind: "assigned", Elements: 1, Sum: "-7"},
			gmv.Count{EndMs: 1000, Currency: "EUR", Kind: "assigned", Elements: 1, Sum: "6"},
			gmv.Count{EndMs: 1000, Currency: "EUR", Kind: "late", Elements: 1, Sum: "4"},
		)
		want := []Count{
			{Currency: "EUR", Assigned: 3, AssignedSum: *big.NewInt(11), Late: 1, LateSum: *big.NewInt(4)},
			{Currency: "EUR", Late: 1, LateSum: *big.NewInt(1)},
			{Currency: "USD", Assigned: 1, AssignedSum: *big.NewInt(-7)},
		}
		if diff := gocmp.Diff(len(want), len(got)); diff != "" {
			t.Fatalf("lines: mismatch (-want +got):\n%s", diff)
		}
		for _, w := range want {
			found := false
			for _, g := range got {
				found = found || g.Currency == w.Currency && g.Assigned == w.Assigned && g.Late == w.Late &&
					g.AssignedSum.Cmp(&w.AssignedSum) == 0 && g.LateSum.Cmp(&w.LateSum) == 0
			}
			if !found {
				t.Errorf("no line %+v among %+v", w, got)
			}
		}
	}
	if got := bundle(); len(got) != 0 {
		t.Errorf("%d lines of an empty bundle", len(got))
	}
	many := make([]gmv.Count, maxCounts+1)
	for i := range many {
		many[i] = gmv.Count{EndMs: int64(i), Kind: "late", Elements: 1, Sum: "1"}
	}
	if got := bundle(append(many, many[0])...); len(got) != len(many)+1 {
		t.Errorf("%d lines of %d windows, want one twice", len(got), len(many))
	}
}

// TestAverageCountLines writes the counts of a bundle, in elements only.
func TestAverageCountLines(t *testing.T) {
	fn := &averageCountLinesFn{}
	var batches [][]byte
	emit := func(_ beam.EventTime, b []byte) { batches = append(batches, bytes.Clone(b)) }
	fn.StartBundle(emit)
	for _, c := range []average.Count{
		{EndMs: 1000, Kind: "assigned", Elements: 2, Sum: "5"},
		{EndMs: 1000, Kind: "late", Elements: 1, Sum: "0.1"},
		{EndMs: 1000, Kind: "assigned", Elements: 1, Sum: "-7"},
	} {
		if err := fn.ProcessElement(c, emit); err != nil {
			t.Fatal(err)
		}
	}
	fn.FinishBundle(emit)
	got := readCounts(t, batches)
	if len(got) != 1 || got[0].Assigned != 3 || got[0].Late != 1 {
		t.Errorf("%+v, want one line with 3 assigned and 1 late", got)
	}
	if err := fn.ProcessElement(average.Count{Kind: "lost"}, emit); err == nil {
		t.Error("no error for an unknown kind")
	}
}

// readCounts reads the lines of batches.
func readCounts(t *testing.T, batches [][]byte) (counts []Count) {
	t.Helper()
	for _, b := range batches {
		for len(b) > 0 {
			order, n := binary.Uvarint(b)
			line, m := binary.Uvarint(b[n:])
			b = b[n+m+int(order):]
			var c struct {
				Currency              string
				Assigned, Added, Late int64
				AssignedSum           string `json:"assigned_sum"`
				LateSum               string `json:"late_sum"`
			}
			if err := json.Unmarshal(b[:line], &c); err != nil {
				t.Fatal(err)
			}
			b = b[line:]
			out := Count{Currency: c.Currency, Assigned: c.Assigned, Added: c.Added, Late: c.Late}
			out.AssignedSum.SetString(c.AssignedSum, 10)
			out.LateSum.SetString(c.LateSum, 10)
			counts = append(counts, out)
		}
	}
	return counts
}
