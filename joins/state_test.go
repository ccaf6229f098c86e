package joins

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
)

// longScript is n rows of 5 keys, about a millisecond apart. Every 97th is far ahead,
// so that it outlives thousands of others and keeps their slot from being cleared.
func longScript(rng *rand.Rand, n int) (steps []oracle.JoinStep) {
	for i := range n {
		at := int64(i)
		e := oracle.JoinElement{Key: fmt.Sprint(rng.IntN(5)), ID: fmt.Sprint(i), TimeMs: at + rng.Int64N(30)}
		if i%97 == 0 {
			e.TimeMs += rng.Int64N(1_000_000)
		}
		if rng.IntN(2) == 0 {
			steps = append(steps, oracle.Left(e))
		} else {
			steps = append(steps, oracle.Right(e))
		}
		if i%3 == 0 {
			steps = append(steps, oracle.JoinWatermark(at))
		}
	}
	return steps
}

// liveBytes is about what the rows of a cell are in its log.
func liveBytes(c *cell) (n int) {
	for i := range c.slots {
		n += c.slots[i].liveBytes
	}
	return n
}

// TestLog plays long scripts of rows of 4 KB, and lets go of the memory from time to
// time. Rows come out as the oracle says, and the log is a small multiple of what is
// live, however long it goes on: it writes again what keeps slots from being cleared.
func TestLog(t *testing.T) {
	for seed, kind := range []string{"full", "left_anti", "inner"} {
		t.Run(kind, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 7))
			cfg := oracle.JoinConfig{Type: kind, LowerMs: -20, UpperMs: 40, LatenessMs: 5}
			steps := longScript(rng, 3000)
			want := cfg.Play(steps)
			d := newDriver(cfg)
			d.pad = bytes.Repeat([]byte("p"), 4000)
			moved, most, written := false, 0, 0
			for i, st := range append(steps, oracle.JoinWatermark(math.MaxInt64)) {
				if err := d.do(st); err != nil {
					t.Fatal(err)
				}
				if st.Left != nil || st.Right != nil {
					written += len(d.pad)
				}
				if rng.IntN(40) == 0 {
					if err := d.forget(); err != nil {
						t.Fatal(err)
					}
				}
				if h := d.needed(); h != want.Held[i] {
					t.Fatalf("step %d: needs %+v, want %+v", i, h, want.Held[i])
				}
				size, live := d.stateBytes(), liveBytes(d.cell)
				most = max(most, size)
				if limit := 4*live + slackBytes + slots*slotBytes; size > limit {
					t.Fatalf("step %d: %d bytes of log for %d that are live, want at most %d", i, size, live, limit)
				}
				for _, b := range d.state.bags {
					moved = moved || len(b) > 0 && b[0][0] == logRows
				}
			}
			d.checkEmpty(t)
			if diff := cmp.Diff(sortedRows(want.Rows), sortedRows(d.rows)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if !moved || most*2 > written {
				t.Errorf("rows moved: %v, and at most %d bytes of log of %d written: the script says too little", moved, most, written)
			}
		})
	}
}

// TestLogAfterABurst: what a burst has left in the log goes with the rows that come
// after it, though a few rows of it are still live, in each slot.
func TestLogAfterABurst(t *testing.T) {
	d := newDriver(oracle.JoinConfig{Type: "full", UpperMs: 10})
	d.pad = bytes.Repeat([]byte("p"), 4000)
	add := func(id, at int64) {
		t.Helper()
		if err := d.do(oracle.Left(oracle.JoinElement{Key: "k", ID: fmt.Sprint(id), TimeMs: at})); err != nil {
			t.Fatal(err)
		}
	}
	const n = 2000
	for i := range int64(n) {
		at := i
		if i%100 == 0 {
			at += 1_000_000
		}
		add(i, at)
	}
	burst := d.stateBytes()
	if err := d.do(oracle.JoinWatermark(n + 10)); err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		add(n+i, 500_000)
	}
	size, live := d.stateBytes(), liveBytes(d.cell)
	if limit := 4*live + slots*slotBytes; size > limit || burst < 2*limit {
		t.Errorf("%d bytes of log for %d that are live, after %d in the burst; want at most %d", size, live, burst, limit)
	}
	if err := d.do(oracle.JoinWatermark(math.MaxInt64)); err != nil {
		t.Fatal(err)
	}
	if len(d.rows) != n+100 {
		t.Errorf("%d rows, want %d", len(d.rows), n+100)
	}
	d.checkEmpty(t)
}
