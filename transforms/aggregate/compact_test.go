package aggregate

import (
	"fmt"
	"testing"
)

// keys are n deltas of different keys.
func manyKeys(n, number int) []delta {
	var all []delta
	for i := range n {
		all = append(all, delta{fmt.Sprint("key ", i), totalOf(number % 64)})
	}
	return all
}

// TestLogIsCompacted brings thousands of blocks of the same keys. The log stays
// a small multiple of one compact copy, and is read back only as often as it
// doubles: a window costs blind writes.
func TestLogIsCompacted(t *testing.T) {
	f := newFold(t, 0)
	const keys, blocks = 20, 3000
	reads, worst := 0, 0
	for i := range blocks {
		c := f.block(blockOnTime, manyKeys(keys, i)...)
		reads += c.reads
		if c.adds != 1 || c.reads != c.clears {
			t.Fatalf("block %d: %+v", i, c)
		}
		worst = max(worst, f.state.bytes())
	}
	block := len(packBlock(blockOnTime, manyKeys(keys, 0)...))
	if limit := compactBytes + 4*block; worst > limit {
		t.Errorf("the log grew to %d bytes, want at most %d: a block has %d", worst, limit, block)
	}
	if most := 2 * blocks * block / compactBytes; reads > most || reads == 0 {
		t.Errorf("%d reads in %d blocks, want at most %d", reads, blocks, most)
	}
	f.fire("end")
	if len(f.lines) != keys {
		t.Errorf("%d rows, want %d", len(f.lines), keys)
	}
}

// TestCompactionDoubles: a log whose compact copy is large is compacted only
// after it has grown as much again.
func TestCompactionDoubles(t *testing.T) {
	f := newFold(t, 0)
	f.block(blockOnTime, manyKeys(5000, 0)...) // some 400 kB
	f.block(blockOnTime, manyKeys(5000, 1)...)
	whole := f.state.bytes()
	reads := 0
	for i := range 1000 {
		reads += f.block(blockOnTime, delta{"key 7", totalOf(i % 64)}).reads
	}
	if reads > 1 {
		t.Errorf("%d reads for 1000 small blocks beside a log of %d bytes, want 1 at most", reads, whole)
	}
}

// TestCorrectionsAreCompacted: a thousand corrections of one key among many do
// not make the log grow for ever.
func TestCorrectionsAreCompacted(t *testing.T) {
	f := newFold(t, 30)
	f.block(blockOnTime, manyKeys(100, 1)...)
	f.fire("end")
	whole := f.state.bytes()
	worst := 0
	for i := range 1000 {
		f.block(blockCorrection, delta{"key 7", totalOf(2 + i%62)})
		worst = max(worst, f.state.bytes())
	}
	if limit := 3*whole + 2*compactBytes; worst > limit {
		t.Errorf("the log grew to %d bytes, want at most %d: its compact copy has %d", worst, limit, whole)
	}
	if n := len(f.lines); n != 100+1000 {
		t.Errorf("%d rows, want %d", n, 100+1000)
	}
}

// TestHintsAreBounded: what a worker remembers of logs does not grow with the
// number of windows.
func TestHintsAreBounded(t *testing.T) {
	f := newFold(t, 0)
	for i := range maxGrown + 100 {
		if err := f.fn.append(&f.state, fmt.Sprint(i), packBlock(blockOnTime)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.fn.grown); n > maxGrown {
		t.Errorf("%d hints, want at most %d", n, maxGrown)
	}
}
