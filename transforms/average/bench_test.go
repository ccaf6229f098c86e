package average

import (
	"math"
	"testing"

	"tidemark/transforms/aggregate"
)

// benchValues are values of one magnitude, of several, and from end to end.
var benchValues = map[string]func(i int) float64{
	"prices": func(i int) float64 { return float64(i*7919%100_000) / 100 },
	"1e±6":   func(i int) float64 { return 1.1 * math.Pow10(i%13-6) },
	"1e±300": func(i int) float64 { return 1.1 * math.Pow10(i*50%601-300) },
}

// BenchmarkLiftMerge is what an element costs on top of finding its window and
// key.
func BenchmarkLiftMerge(b *testing.B) {
	agg := degreesAggregator()
	var elem any = reading{"s-4711", "mild"}
	_, total, err := agg.Lift(elem, 0, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	var key, acc []byte
	b.ReportAllocs()
	for b.Loop() {
		if key, acc, err = agg.Lift(elem, 17, key[:0], acc[:0]); err != nil {
			b.Fatal(err)
		}
		if total, err = agg.Merge(total, acc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	for name, of := range benchValues {
		b.Run("values="+name, func(b *testing.B) {
			one := make([][]byte, 256)
			for i := range one {
				one[i] = appendTotal(nil, of(i), int64(i))
			}
			total := appendTotal(nil, 0, 0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var err error
				if total, err = mergeTotals(total, one[i&255]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	for name, of := range benchValues {
		b.Run("values="+name, func(b *testing.B) {
			row := aggregate.Row{Key: "s-4711", Pane: aggregate.Late, Revision: 1, Total: appendTotal(nil, of(0), 0)}
			for i := range 1000 {
				row.Previous = append([]byte(nil), row.Total...)
				row.Total, _ = mergeTotals(row.Total, appendTotal(nil, of(i), int64(i)))
			}
			agg := &aggregator{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := agg.Render(&row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
