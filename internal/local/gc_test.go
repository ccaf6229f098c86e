package local

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestTuner lets the heap grow and shrink: a large one is collected more often.
func TestTuner(t *testing.T) {
	was := debug.SetGCPercent(rareGC)
	t.Cleanup(func() { debug.SetGCPercent(was) })
	var tuned tuner
	percent := func() int {
		runtime.GC()
		tuned.tune()
		p := debug.SetGCPercent(rareGC)
		debug.SetGCPercent(p)
		return p
	}
	small := percent()
	grown := func() int {
		large := make([]byte, 2*smallBytes)
		defer runtime.KeepAlive(large)
		return percent()
	}()
	if again := percent(); small != rareGC || grown != usualGC || again != rareGC {
		t.Errorf("%d, %d with a large heap, %d behind it, want %d, %d, %d", small, grown, again, rareGC, usualGC, rareGC)
	}
}
