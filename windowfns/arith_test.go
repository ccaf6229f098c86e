package windowfns

import (
	"math"
	"testing"
)

func TestFloorDiv(t *testing.T) {
	cases := []struct{ a, b, want int64 }{
		{0, 7, 0},
		{6, 7, 0},
		{7, 7, 1},
		{8, 7, 1},
		{-1, 7, -1},
		{-6, 7, -1},
		{-7, 7, -1},
		{-8, 7, -2},
		{-14, 7, -2},
		{5, 1, 5},
		{-5, 1, -5},
		{math.MaxInt64, math.MaxInt64, 1},
		{math.MinInt64, math.MaxInt64, -2},
		{math.MinInt64, 1, math.MinInt64},
	}
	for _, c := range cases {
		if got := floorDiv(c.a, c.b); got != c.want {
			t.Errorf("floorDiv(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestGridFloor(t *testing.T) {
	// The grid is ..., -17, -7, 3, 13, ...; an offset of -7 gives the same.
	cases := []struct{ tMs, want int64 }{
		{-18, -27}, {-17, -17}, {-8, -17}, {-7, -7}, {0, -7}, {2, -7}, {3, 3}, {12, 3}, {13, 13},
	}
	for _, c := range cases {
		for _, offset := range []int64{3, -7} {
			if got := gridFloor(c.tMs, 10, offset); got != c.want {
				t.Errorf("gridFloor(%d, 10, %d) = %d, want %d", c.tMs, offset, got, c.want)
			}
		}
	}
}
