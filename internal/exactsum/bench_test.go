package exactsum

import (
	"fmt"
	"math"
	"testing"
)

// benchValues are values of one magnitude, of several, and from end to end.
var benchValues = []struct {
	name string
	of   func(i int) float64
}{
	{"prices", func(i int) float64 { return float64(i*7919%100_000) / 100 }},
	{"mixed signs", func(i int) float64 { return float64(i*7919%100_000-50_000) / 100 }},
	{"1e±6", func(i int) float64 { return 1.1 * math.Pow10(i%13-6) }},
	{"1e±300", func(i int) float64 { return 1.1 * math.Pow10(i*50%601-300) }},
}

func BenchmarkAdd(b *testing.B) {
	for _, v := range benchValues {
		b.Run("values="+v.name, func(b *testing.B) {
			one := make([][]byte, 256)
			for i := range one {
				one[i] = Append(nil, v.of(i))
			}
			sum := make([]byte, 0, 300)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				sum = Add(sum, 0, one[i&255])
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 32)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf = Append(buf[:0], float64(i&0xFFFF)/100)
	}
}

func BenchmarkMean(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			var sum []byte
			for i := range n {
				sum = Add(sum, 0, Append(nil, benchValues[2].of(i)))
			}
			b.ReportAllocs()
			for b.Loop() {
				Mean(sum, int64(n))
			}
		})
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	sum := make([]byte, 0, 300)
	for _, v := range benchValues {
		one := Append(nil, v.of(7))
		if n := testing.AllocsPerRun(100, func() { sum = Add(sum, 0, one) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", v.name, n)
		}
	}
}
