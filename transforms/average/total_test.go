package average

import (
	"encoding/binary"
	"math"
	"math/big"
	"reflect"
	"slices"
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

// reading is an element of its own.
type reading struct{ Sensor, Celsius string }

func init() {
	beam.RegisterType(reflect.TypeFor[reading]())
	register.Function1x1(degrees)
}

// degrees knows a few readings.
func degrees(r reading) Entry {
	return Entry{Key: r.Sensor, Value: map[string]float64{"cold": -3.5, "mild": 10.25, "broken": math.NaN(), "fire": math.Inf(1)}[r.Celsius]}
}

func degreesAggregator() *aggregator {
	return &aggregator{ValueOf: intake.EntryFunc[Entry]{Fn: beam.EncodedFunc{Fn: reflectx.MakeFunc(degrees)}}}
}

// TestAnyOrder merges encoded totals in two random trees: they are equal to the
// byte, and so are the rows, which are those of big.Rat.
func TestAnyOrder(t *testing.T) {
	agg := &aggregator{}
	values := rapid.OneOf(
		rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
		rapid.Float64Range(-100, 100),
		rapid.SampledFrom([]float64{1e300, 1, -1e300, 0, 0.1, -0.1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}),
	)
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(values, 1, 30).Draw(t, "values")
		exact, latest := new(big.Rat), int64(math.MinInt64)
		order := make([]int, len(xs))
		encoded := make([][]byte, len(xs))
		for i, x := range xs {
			at := rapid.Int64Range(-1e12, 7e12).Draw(t, "at")
			order[i], encoded[i] = i, appendTotal(nil, x, at)
			exact.Add(exact, new(big.Rat).SetFloat64(x))
			latest = max(latest, at)
		}
		merged := func() []byte {
			var parts [][]byte
			for _, i := range rapid.Permutation(order).Draw(t, "order") {
				parts = append(parts, slices.Clone(encoded[i]))
			}
			for len(parts) > 1 {
				last := parts[len(parts)-1]
				parts = parts[:len(parts)-1]
				i := rapid.IntRange(0, len(parts)-1).Draw(t, "into")
				was := string(last)
				var err error
				if parts[i], err = agg.Merge(slices.Clip(parts[i]), last); err != nil {
					t.Fatal(err)
				}
				if string(last) != was {
					t.Fatal("Merge changed its source")
				}
			}
			return parts[0]
		}
		acc := merged()
		if other := merged(); string(acc) != string(other) {
			t.Fatalf("%x and %x", acc, other)
		}
		got, err := agg.Render(&aggregate.Row{Key: "k", Total: acc, Pane: aggregate.OnTime})
		if err != nil {
			t.Fatal(err)
		}
		row := got.(Row)
		mean, _ := new(big.Rat).Quo(exact, new(big.Rat).SetInt64(int64(len(xs)))).Float64()
		sum, _ := exact.Float64()
		switch {
		case math.Float64bits(*row.Average) != math.Float64bits(mean+0):
			t.Fatalf("average %v, want %v", *row.Average, mean)
		case (row.Sum == nil) != math.IsInf(sum, 0), row.Sum != nil && math.Float64bits(*row.Sum) != math.Float64bits(sum+0):
			t.Fatalf("sum %v, want %v", row.Sum, sum)
		case row.Count != int64(len(xs)) || *row.MaxTimeMs != latest:
			t.Fatalf("count %d up to %d, want %d up to %d", row.Count, *row.MaxTimeMs, len(xs), latest)
		}
	})
}

func TestMalformedTotals(t *testing.T) {
	agg := &aggregator{}
	good := appendTotal(nil, 1.5, 2)
	negative := slices.Clone(good)
	binary.LittleEndian.PutUint64(negative, 1<<63)
	for _, bad := range [][]byte{nil, {}, good[:15], append(slices.Clone(good), 0), append(slices.Clone(good), 0, 0, 0, 0), negative} {
		if _, err := agg.Merge(slices.Clone(good), bad); err == nil {
			t.Errorf("merge: no error for the source %x", bad)
		}
		if _, err := agg.Merge(slices.Clone(bad), good); err == nil {
			t.Errorf("merge: no error for the target %x", bad)
		}
		if err := (&countFn{}).ProcessElement(0, aggregate.Count{Total: bad}, nil); err == nil {
			t.Errorf("count: no error for %x", bad)
		}
		if len(bad) == 0 {
			continue // a row that withdraws its window
		}
		if _, err := agg.Render(&aggregate.Row{Total: bad}); err == nil {
			t.Errorf("render: no error for %x", bad)
		}
		if _, err := agg.Render(&aggregate.Row{Total: good, Previous: bad, Revision: 1}); err == nil {
			t.Errorf("render: no error for %x before", bad)
		}
	}
}

// TestRenderWithdrawals: a row without a total withdraws its window, and so may the
// row before it have.
func TestRenderWithdrawals(t *testing.T) {
	x, zero := 1.5, 0.0
	for _, c := range []struct {
		row  aggregate.Row
		want Row
	}{
		{
			aggregate.Row{Key: "k", Pane: aggregate.Late, Revision: 3, Previous: appendTotal(nil, x, 2)},
			Row{Key: "k", Pane: "LATE", Revision: 3, PreviousAverage: &x, Sum: &zero, PreviousCount: new(int64(1))},
		},
		{
			aggregate.Row{Key: "k", Pane: aggregate.Final, Revision: 4},
			Row{Key: "k", Pane: "FINAL", Revision: 4, Sum: &zero, PreviousCount: new(int64(0))},
		},
	} {
		got, err := (&aggregator{}).Render(&c.row)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
		}
	}
}

// TestAggregatorTravels sends the aggregator the way that workers get it.
func TestAggregatorTravels(t *testing.T) {
	shipped, err := portable.Of(degreesAggregator())
	if err != nil {
		t.Fatal(err)
	}
	agg, err := portable.As[aggregate.Aggregator](shipped)
	if err != nil {
		t.Fatal(err)
	}
	key, acc, err := agg.Lift(reading{"s", "cold"}, 17, []byte("k"), []byte("a"))
	if err != nil || string(key) != "ks" || acc[0] != 'a' {
		t.Fatalf("Lift: %q, %q, %v, want both appended to", key, acc, err)
	}
	got, err := agg.(aggregate.Renderer).Render(&aggregate.Row{Key: "s", Total: acc[1:], Pane: aggregate.OnTime})
	x, at := -3.5, int64(17)
	want := Row{Key: "s", Pane: "ON_TIME", Average: &x, Sum: &x, Count: 1, MaxTimeMs: &at}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Render: %+v, %v, want %+v", got, err, want)
	}
}

// Values that have no average fail the bundle.
func TestLiftErrors(t *testing.T) {
	agg := degreesAggregator()
	for celsius, want := range map[string]string{
		"broken": "average: value NaN, want a finite number", "fire": "average: value +Inf, want a finite number",
	} {
		if _, _, err := agg.Lift(reading{"s", celsius}, 0, nil, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A total without elements has no average and no latest time, but a sum.
func TestRenderNothing(t *testing.T) {
	one, none := appendTotal(nil, 2, 3), make([]byte, sumAt)
	agg := &aggregator{}
	for _, c := range []struct {
		row  aggregate.Row
		want Row
	}{
		{
			aggregate.Row{Total: none, Previous: one, Revision: 1},
			Row{Revision: 1, PreviousAverage: of(2.0), Sum: of(0.0), PreviousCount: of(int64(1))},
		},
		{
			aggregate.Row{Total: one, Previous: none, Revision: 2},
			Row{Revision: 2, Average: of(2.0), Sum: of(2.0), Count: 1, PreviousCount: of(int64(0)), MaxTimeMs: of(int64(3))},
		},
	} {
		if got, err := agg.Render(&c.row); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
	}
}

func of[T any](v T) *T { return &v }
