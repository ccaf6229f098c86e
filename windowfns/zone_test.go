package windowfns

import (
	"testing"

	"pgregory.net/rapid"
)

// TestZoneBruteForce runs a clock with changes a few milliseconds apart, more
// than one within a repeated stretch among them, and compares it with a walk
// through every millisecond.
func TestZoneBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lo, hi = -300, 300 // ms; offsets are at most 50 ms
		var z zone
		var offsets []int64 // by tMs - lo
		offset := rapid.Int64Range(-50, 50)
		now := offset.Draw(t, "first offset")
		z.add(lo, now)
		for tMs := int64(lo); tMs < hi; tMs++ {
			if tMs > -100 && tMs < 100 && rapid.IntRange(0, 19).Draw(t, "die") == 0 {
				now = offset.Draw(t, "offset")
				z.add(tMs, now)
			}
			offsets = append(offsets, now)
		}

		i, peak := 0, int64(lo)+offsets[0]
		firsts := map[int64]int64{} // clock reading -> first instant that shows it or more
		for tMs := int64(lo); tMs < hi; tMs++ {
			if k := tMs - lo; k > 0 && offsets[k] != offsets[k-1] {
				i++
			}
			if got := z.spanAt(tMs); got != i {
				t.Fatalf("spanAt(%d) = %d, want %d", tMs, got, i)
			}
			for reading := tMs + offsets[tMs-lo]; peak < reading; {
				peak++
				firsts[peak] = tMs
			}
			if got := z.clock(i, tMs); got != peak {
				t.Fatalf("clock(%d, %d) = %d, want %d", i, tMs, got, peak)
			}
		}
		for clockMs, want := range firsts {
			for i := range z.spans {
				if got := z.first(i, clockMs); got != want {
					t.Fatalf("first(%d, %d) = %d, want %d; spans %v", i, clockMs, got, want, z.spans)
				}
			}
		}
	})
}

// TestUTCHasOneSpan checks that a zone without changes is one span, so that
// lookups in it need no search.
func TestUTCHasOneSpan(t *testing.T) {
	z, err := loadZone("")
	if err != nil {
		t.Fatal(err)
	}
	if len(z.spans) != 1 || z.spans[0].offsetMs != 0 {
		t.Errorf("spans = %v, want one with offset 0", z.spans)
	}
}
