package gmv

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/transforms/aggregate"
)

// amounts are int64s, often near the limits.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-5, 5),
		rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}),
	)
}

// TestTotalIsExact adds amounts up in a random tree and compares with big.Int:
// the sum in 128 bits is exact at every size, and only a sum outside int64 is
// refused, with its exact value.
func TestTotalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minors := rapid.SliceOfN(amounts(), 1, 60).Draw(t, "minors")
		want := new(big.Int)
		var parts []total
		latest := int64(math.MinInt64)
		for i, m := range minors {
			at := int64(i*7919%101) - 50
			latest = max(latest, at)
			parts = append(parts, totalOf(m, at))
			want.Add(want, big.NewInt(m))
		}
		for len(parts) > 1 {
			i := rapid.IntRange(0, len(parts)-2).Draw(t, "i")
			parts[i] = parts[i].plus(parts[len(parts)-1])
			parts = parts[:len(parts)-1]
		}
		got, err := readTotal(parts[0].appendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got.exact() != want.String() || got.count != int64(len(minors)) || got.maxMs != latest {
			t.Fatalf("sum %s of %d up to %d, want %s of %d up to %d", got.exact(), got.count, got.maxMs, want, len(minors), latest)
		}
		minor, ok := got.minor()
		if ok != want.IsInt64() || ok && minor != want.Int64() {
			t.Fatalf("minor = %d, %v, want %s", minor, ok, want)
		}
		if err := got.check(); (err == nil) != want.IsInt64() {
			t.Fatalf("check: %v, want %s", err, want)
		} else if err != nil && !strings.Contains(err.Error(), "overflow: the sum "+want.String()+" is outside int64") {
			t.Fatalf("check: %v", err)
		}
	})
}

// TestMergeIsCommutativeToTheByte merges encoded totals in two orders.
func TestMergeIsCommutativeToTheByte(t *testing.T) {
	agg := &aggregator{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		encoded := make([][]byte, n)
		for i := range encoded {
			at := rapid.Int64Range(-1e12, 7e12).Draw(t, "at")
			encoded[i] = totalOf(amounts().Draw(t, "minor"), at).appendTo(nil)
		}
		merge := func(order []int) string {
			var acc []byte
			for _, i := range order {
				if acc == nil {
					acc = append(acc, encoded[i]...)
					continue
				}
				was := string(encoded[i])
				var err error
				if acc, err = agg.Merge(acc, encoded[i]); err != nil {
					t.Fatal(err)
				}
				if string(encoded[i]) != was {
					t.Fatal("Merge changed its source")
				}
			}
			return string(acc)
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		if a, b := merge(order), merge(rapid.Permutation(order).Draw(t, "order")); a != b {
			t.Fatalf("%x in order, %x in another", a, b)
		}
	})
}

func TestMalformedTotals(t *testing.T) {
	agg := &aggregator{}
	good := totalOf(1, 2).appendTo(nil)
	for _, bad := range [][]byte{nil, {}, good[:31], append(good[:32:32], 0)} {
		if _, err := readTotal(bad); err == nil {
			t.Errorf("no error for %d bytes", len(bad))
		}
		if _, err := agg.Merge(append([]byte(nil), good...), bad); err == nil {
			t.Errorf("merge: no error for a source of %d bytes", len(bad))
		}
		if _, err := agg.Merge(bad, good); err == nil {
			t.Errorf("merge: no error for a target of %d bytes", len(bad))
		}
		if err := agg.Check(bad); err == nil {
			t.Errorf("check: no error for %d bytes", len(bad))
		}
	}
}

// TestKeysStayApart packs keys and currencies of any bytes: they come back, and
// no two pairs look alike.
func TestKeysStayApart(t *testing.T) {
	text := rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`[ab\x00\x01\x02\x03\x04]{0,5}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		k1, c1 := text.Draw(t, "key"), text.Draw(t, "currency")
		k2, c2 := text.Draw(t, "other key"), text.Draw(t, "other currency")
		a, b := string(appendKey(nil, k1, c1)), string(appendKey([]byte("rest"), k2, c2)[4:])
		if (a == b) != (k1 == k2 && c1 == c2) {
			t.Fatalf("%q %q is %q, %q %q is %q", k1, c1, a, k2, c2, b)
		}
		if k, c, err := splitKey(a); err != nil || k != k1 || c != c1 {
			t.Fatalf("%q %q came back as %q %q: %v", k1, c1, k, c, err)
		}
	})
}

func TestMalformedKeys(t *testing.T) {
	for _, s := range []string{"", "abc", "\x01\x00\x00\x00", "ab\x03\x00\x00\x00", "a\xff\xff\xff\xff"} {
		if _, _, err := splitKey(s); err == nil {
			t.Errorf("no error for %q", s)
		}
	}
}

// refund is an element of its own.
type refund struct{ Cents int64 }

func init() {
	beam.RegisterType(reflect.TypeFor[refund]())
	register.Function1x1(negate)
}

func negate(r refund) Entry { return Entry{Key: "refunds", Currency: "EUR", Minor: -r.Cents} }

// TestAggregatorTravels sends the aggregator the way that workers get it.
func TestAggregatorTravels(t *testing.T) {
	shipped, err := portable.Of(&aggregator{EntryOf: intake.EntryFunc[Entry]{Fn: beam.EncodedFunc{Fn: reflectx.MakeFunc(negate)}}})
	if err != nil {
		t.Fatal(err)
	}
	agg, err := portable.As[aggregate.Aggregator](shipped)
	if err != nil {
		t.Fatal(err)
	}
	key, acc, err := agg.Lift(refund{Cents: 250}, 17, []byte("k"), []byte("a"))
	if err != nil || string(key[:1]) != "k" || string(acc[:1]) != "a" {
		t.Fatalf("Lift: %q, %q, %v, want both appended to", key, acc, err)
	}
	got, err := agg.(aggregate.Renderer).Render(&aggregate.Row{Key: string(key[1:]), Total: acc[1:], Pane: aggregate.OnTime})
	want := Row{Key: "refunds", Currency: "EUR", Pane: "ON_TIME", Minor: -250, Count: 1, MaxTimeMs: new(int64(17))}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Render: %v, mismatch (-want +got):\n%s", err, diff)
	}
}

// A row without a total withdraws its window, and so may the row before it have.
func TestRenderWithdrawals(t *testing.T) {
	key, acc := string(appendKey(nil, "k", "EUR")), totalOf(-7, 2).appendTo(nil)
	for _, c := range []struct {
		row  aggregate.Row
		want Row
	}{
		{
			aggregate.Row{Key: key, Pane: aggregate.Late, Revision: 3, Previous: acc},
			Row{Key: "k", Currency: "EUR", Pane: "LATE", Revision: 3, PreviousMinor: new(int64(-7)), PreviousCount: new(int64(1))},
		},
		{
			aggregate.Row{Key: key, Pane: aggregate.Final, Revision: 4},
			Row{Key: "k", Currency: "EUR", Pane: "FINAL", Revision: 4, PreviousMinor: new(int64(0)), PreviousCount: new(int64(0))},
		},
	} {
		got, err := (&aggregator{}).Render(&c.row)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
		}
	}
}

// Rows and reports need a key and a total that can be read.
func TestRenderErrors(t *testing.T) {
	key, acc := string(appendKey(nil, "k", "")), totalOf(1, 2).appendTo(nil)
	agg := &aggregator{}
	for _, r := range []aggregate.Row{{Key: key, Total: acc[1:]}, {Total: acc}, {Key: key, Total: acc, Revision: 1, Previous: acc[1:]}} {
		if _, err := agg.Render(&r); err == nil {
			t.Errorf("no error for %+v", r)
		}
	}
	report := &overflowFn{}
	report.Setup()
	for _, u := range []aggregate.Unshown{{Key: key}, {Total: acc}} {
		if err := report.ProcessElement(t.Context(), u, func(Overflow) {}); err == nil {
			t.Errorf("no error for %+v", u)
		}
	}
}
