package rows

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/transforms/gmv"
)

// Few different texts, so that pairs are equal, begin alike, and have zero bytes
// where the other one ends.
var orderedText = rapid.Map(
	rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 'a', 0xFE, 0xFF}), 0, 4),
	func(b []byte) string { return string(b) },
)

var orderedInt = rapid.OneOf(
	rapid.SampledFrom([]int64{math.MinInt64, -256, -1, 0, 1, 255, 256, math.MaxInt64}), rapid.Int64(),
)

func TestOrderGMV(t *testing.T) {
	row := rapid.Custom(func(t *rapid.T) gmv.Row {
		return gmv.Row{
			EndMs:    rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, "end"),
			StartMs:  rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, "start"),
			Key:      orderedText.Draw(t, "key"),
			Currency: orderedText.Draw(t, "currency"),
			Revision: rapid.Int64Range(0, 1).Draw(t, "revision"),
			Minor:    rapid.Int64().Draw(t, "minor"), // has no effect
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := row.Draw(t, "a"), row.Draw(t, "b")
		// Equal so far, more often than by chance.
		equal := rapid.IntRange(0, 5).Draw(t, "equal")
		for i, copyField := range []func(){
			func() { b.EndMs = a.EndMs }, func() { b.StartMs = a.StartMs }, func() { b.Key = a.Key },
			func() { b.Currency = a.Currency }, func() { b.Revision = a.Revision },
		} {
			if i < equal {
				copyField()
			}
		}
		want := cmp.Or(
			cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.StartMs, b.StartMs), strings.Compare(a.Key, b.Key),
			strings.Compare(a.Currency, b.Currency), cmp.Compare(a.Revision, b.Revision),
		)
		if got := bytes.Compare(OrderGMV(nil, &a), OrderGMV(nil, &b)); got != want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	})
}

func TestOrderRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := orderedText.Draw(t, "source"), orderedText.Draw(t, "source")
		if rapid.Bool().Draw(t, "same") {
			b = a
		}
		i, j := orderedInt.Draw(t, "position"), orderedInt.Draw(t, "position")
		want := cmp.Or(strings.Compare(a, b), cmp.Compare(i, j))
		// Appended to something, not in its place.
		if got := bytes.Compare(OrderRecord([]byte("x"), a, i), OrderRecord([]byte("x"), b, j)); got != want {
			t.Fatalf("%q, %d and %q, %d compare as %d, want %d", a, i, b, j, got, want)
		}
	})
}

func TestOrderAppends(t *testing.T) {
	if got := OrderRecord([]byte("x"), "a\x00", -1); string(got) != "xa\x00\xff\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff" {
		t.Errorf("OrderRecord = %q", got)
	}
	if got := OrderGMV([]byte("x"), &gmv.Row{}); len(got) != 1+3*8+2*2 || got[0] != 'x' {
		t.Errorf("OrderGMV = %q", got)
	}
}
