package exactsum

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	tiny = math.SmallestNonzeroFloat64
	huge = math.MaxFloat64
)

// sumOf adds values up, left to right.
func sumOf(values ...float64) []byte {
	var sum []byte
	for _, x := range values {
		sum = Add(sum, 0, Append(nil, x))
	}
	return sum
}

func TestSums(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		sum    float64
		mean   float64
		exact  string
	}{
		{"nothing", nil, 0, 0, "0"},
		{"one", []float64{12.5}, 12.5, 12.5, "12.5"},
		{"cancelling", []float64{1e300, 1, -1e300}, 1, 1.0 / 3, "1"},
		{"to nothing", []float64{0.1, -0.1}, 0, 0, "0"},
		{"minus zero", []float64{math.Copysign(0, -1)}, 0, 0, "0"},
		// 0.1 is a little more than a tenth, and ten of them round to 1.
		{"tenths", slices.Repeat([]float64{0.1}, 10), 1, 0.1, "1.000000000000000055511151231257827021181583404541015625"},
		{"far apart", []float64{1, tiny}, 1, 0.5, ""},
		// 2^53 + 1 is a tie, and 2^53 is even; anything more tips it over.
		{"tie", []float64{1 << 53, 1}, 1 << 53, 1 << 52, "9007199254740993"},
		{"tie and a little", []float64{1 << 53, 1, tiny}, 1<<53 + 2, 3002399751580331, ""},
		{"tie to odd", []float64{1<<53 + 2, 1}, 1<<53 + 4, 1<<52 + 2, "9007199254740995"},
		{"negative tie", []float64{-1 << 53, -1}, -1 << 53, -1 << 52, "-9007199254740993"},
		{"too large", []float64{huge, huge}, math.Inf(1), huge, ""},
		{"too small", []float64{-huge, -huge, -huge}, math.Inf(-1), -huge, ""},
		// The largest float64 and half a unit in its last place is a tie with 2^1024.
		{"rounds out of range", []float64{huge, 0x1p970}, math.Inf(1), 0x1p1023, ""},
		{"just in range", []float64{huge, 0x1p970, -tiny}, huge, huge / 3, ""},
		{"largest and smallest", []float64{huge, tiny, -huge}, tiny, 0, ""},
		{"subnormal", []float64{tiny, tiny, tiny}, 3 * tiny, tiny, ""},
		{"half of the smallest", []float64{tiny, 0}, tiny, 0, ""},
		{"three quarters of it", []float64{3 * tiny, 0, 0, 0}, 3 * tiny, tiny, ""},
		{"a half and a half", []float64{3 * tiny, 0}, 3 * tiny, 2 * tiny, ""},
		{"negative half", []float64{-tiny, 0}, -tiny, 0, ""},
		{"to the smallest normal", []float64{0x1p-1022, 0x1p-1022 - tiny}, 0x1p-1021 - tiny, 0x1p-1022, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum := sumOf(c.values...)
			if err := Check(sum); err != nil {
				t.Fatal(err)
			}
			mean := Mean(sum, max(1, int64(len(c.values))))
			if math.Float64bits(Float64(sum)) != math.Float64bits(c.sum) || math.Float64bits(mean) != math.Float64bits(c.mean) {
				t.Errorf("sum %v and mean %v, want %v and %v", Float64(sum), mean, c.sum, c.mean)
			}
			if got := Exact(sum); c.exact != "" && got != c.exact {
				t.Errorf("exactly %s, want %s", got, c.exact)
			}
		})
	}
}

// TestEncodings pins the bytes: they lie in state and travel.
func TestEncodings(t *testing.T) {
	for x, want := range map[float64]string{
		0:              "",
		tiny:           "\x00\x01\x00\x00\x00",
		-tiny:          "\x00\xff\xff\xff\xff",
		0x1p31 * tiny:  "\x00\x00\x00\x00\x80\x00\x00\x00\x00", // a bit that looks like a sign
		-0x1p31 * tiny: "\x00\x00\x00\x00\x80",
		0x1p32 * tiny:  "\x01\x01\x00\x00\x00",
		1:              "\x21\x00\x00\x04\x00",
	} {
		if got := Append([]byte("x"), x); string(got) != "x"+want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %v", x)
				}
			}()
			Append(nil, x)
		}()
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{
		"\x00", "\x00\x01\x00\x00", "\x00\x01\x00\x00\x00\x00", "\x44\x01\x00\x00\x00", "\x00" + strings.Repeat("\x01", 69*4),
		"\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x01\x00\x00\x00", "\x00\x01\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x80\xff\xff\xff\xff",
	} {
		if err := Check([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestNothingOverflows doubles the largest sums of one sign up to 2^62 values.
func TestNothingOverflows(t *testing.T) {
	for _, x := range []float64{huge, -huge} {
		sum := Append(nil, x)
		for range 62 {
			sum = Add(sum, 0, bytes.Clone(sum))
		}
		if err := Check(sum); err != nil || !math.IsInf(Float64(sum), int(math.Copysign(1, x))) || Mean(sum, 1<<62) != x {
			t.Errorf("%v: sum %v, mean %v, %v", x, Float64(sum), Mean(sum, 1<<62), err)
		}
		if sum = Add(sum, 0, Append(nil, -x)); Mean(sum, 1<<62-1) != x {
			t.Errorf("%v: mean %v of one less", x, Mean(sum, 1<<62-1))
		}
	}
}

// values are float64s of any size, of one magnitude, subnormal ones, neighbours
// of powers of two, and those that cancel.
func values() *rapid.Generator[float64] {
	finite := rapid.Map(rapid.Uint64(), func(b uint64) float64 {
		if x := math.Float64frombits(b); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
		return math.Float64frombits(b &^ (1 << 62))
	})
	power := rapid.Map(rapid.IntRange(-1074, 1023), func(e int) float64 { return math.Ldexp(1, e) })
	signed := func(x float64, negative bool) float64 {
		if negative {
			return -x
		}
		return x
	}
	near := rapid.Custom(func(t *rapid.T) float64 {
		x := power.Draw(t, "power")
		switch rapid.IntRange(0, 2).Draw(t, "side") {
		case 0:
			x = math.Nextafter(x, 0)
		case 1:
			x = math.Nextafter(x, x*1.5)
		}
		return signed(x, rapid.Bool().Draw(t, "negative"))
	})
	return rapid.OneOf(
		finite, near,
		rapid.Map(rapid.Int64Range(-1e6, 1e6), func(n int64) float64 { return float64(n) / 100 }),
		rapid.Map(rapid.Int64Range(-9, 9), func(n int64) float64 { return float64(n) * tiny }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1e300, -1e300, huge, -huge, tiny, -tiny, 0x1p970, -0x1p970}),
	)
}

// rounded is x rounded to the nearest float64, without a negative zero.
func rounded(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f + 0 // -0 + 0 is 0
}

// TestAnyTree adds values up in two random trees: the bytes are the same, and
// the sum, the mean and the digits are those of big.Rat.
func TestAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(values(), 1, 40).Draw(t, "values")
		if rapid.Bool().Draw(t, "cancel") {
			for _, x := range xs[:len(xs)/2] {
				xs = append(xs, -x)
			}
		}
		want := new(big.Rat)
		for _, x := range xs {
			want.Add(want, new(big.Rat).SetFloat64(x))
		}
		tree := func() []byte {
			var parts [][]byte
			for _, i := range rapid.Permutation(indices(len(xs))).Draw(t, "order") {
				parts = append(parts, Append([]byte("head"), xs[i]))
			}
			for len(parts) > 1 {
				i := rapid.IntRange(0, len(parts)-2).Draw(t, "into")
				last := parts[len(parts)-1]
				was := string(last)
				parts[i] = Add(parts[i], len("head"), last[len("head"):])
				if string(last) != was || string(parts[i][:4]) != "head" {
					t.Fatal("Add changed what it must not")
				}
				if err := Check(parts[i][4:]); err != nil {
					t.Fatal(err)
				}
				parts = parts[:len(parts)-1]
			}
			return parts[0][4:]
		}
		sum := tree()
		if other := tree(); !bytes.Equal(sum, other) {
			t.Fatalf("%x and %x", sum, other)
		}
		if got := rounded(want); math.Float64bits(Float64(sum)) != math.Float64bits(got) {
			t.Fatalf("sum %v, want %v", Float64(sum), got)
		}
		n := rapid.OneOf(rapid.Just(int64(len(xs))), rapid.Int64Range(1, 9), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "n")
		mean := rounded(new(big.Rat).Quo(want, new(big.Rat).SetInt64(n)))
		if got := Mean(sum, n); math.Float64bits(got) != math.Float64bits(mean) {
			t.Fatalf("mean %v, want %v", got, mean)
		}
		exact, ok := new(big.Rat).SetString(Exact(sum))
		if !ok || exact.Cmp(want) != 0 {
			t.Fatalf("exactly %s, want %s", Exact(sum), want.RatString())
		}
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestHalfwayMeans makes means that lie on or just beside the middle between two
// float64s, subnormal ones among them.
func TestHalfwayMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Abs(values().Draw(t, "x"))
		next := math.Nextafter(x, math.Inf(1))
		if math.IsInf(next, 0) {
			x, next = 1, math.Nextafter(1, 2)
		}
		n := rapid.Int64Range(1, 1000).Draw(t, "n")
		aside := rapid.SampledFrom([]float64{0, tiny, -tiny}).Draw(t, "aside")
		sum := Append(nil, aside)
		for range n { // 2n values, n of each neighbour
			sum = Add(sum, 0, Append(nil, x))
			sum = Add(sum, 0, Append(nil, next))
		}
		middle := new(big.Rat).Add(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(next))
		middle.Mul(middle, new(big.Rat).SetInt64(n)).Add(middle, new(big.Rat).SetFloat64(aside))
		middle.Quo(middle, new(big.Rat).SetInt64(2*n))
		if got, want := Mean(sum, 2*n), rounded(middle); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
