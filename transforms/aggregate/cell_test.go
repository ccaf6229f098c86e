package aggregate

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// op is one thing that happens to a cell: a block, or a firing where it has no
// deltas.
type op struct {
	kind   byte
	deltas []delta
}

// history draws what can happen to a cell: blocks on time and corrections, then
// the end of the window, then corrections that show at once, with a block on
// time now and then that no runner should let through.
func history() *rapid.Generator[[]op] {
	deltas := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) delta {
		key := rapid.SampledFrom([]string{"", "a", "b", "\x00\xff"}).Draw(t, "key")
		return delta{key, totalOf(rapid.SliceOfN(rapid.IntRange(0, 3), 1, 3).Draw(t, "numbers")...)}
	}), 1, 4)
	kinds := rapid.SampledFrom([]byte{blockOnTime, blockOnTime, blockCorrection})
	return rapid.Custom(func(t *rapid.T) []op {
		var ops []op
		for range rapid.IntRange(0, 6).Draw(t, "before") {
			ops = append(ops, op{kinds.Draw(t, "kind"), deltas.Draw(t, "deltas")})
		}
		ops = append(ops, op{})
		for range rapid.IntRange(0, 4).Draw(t, "after") {
			ops = append(ops, op{kinds.Draw(t, "kind"), deltas.Draw(t, "deltas")}, op{})
		}
		return ops
	})
}

// cellRun applies ops to a log, block by block.
type cellRun struct {
	log   [][]byte
	lines []string
}

// read reads the log as state gives it: in memory of its own.
func (r *cellRun) read(t *rapid.T) *cell {
	log := make([][]byte, len(r.log))
	for i, b := range r.log {
		log[i] = bytes.Clone(b)
	}
	c, err := readCell(tally64{}, log)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *cellRun) fire(t *rapid.T, c *cell) {
	err := c.fire(
		func(pane Pane, e *entry) error {
			r.lines = append(r.lines, shown(pane, e.key, e.rows, e.acc, e.shown))
			return nil
		},
		func(pane Pane, e *entry, reason error) {
			if !errors.Is(reason, errOdd) {
				t.Fatal(reason)
			}
			r.lines = append(r.lines, refusal(pane, e.key, e.acc))
		})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogLaws: blocks may be split, and the log compacted, at any point. The
// rows are those of the plain model all the same.
func TestLogLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want model
		var got cellRun
		for _, o := range history().Draw(t, "history") {
			if o.deltas == nil {
				want.fire()
				c := got.read(t)
				got.fire(t, c)
				if whole := rapid.Bool().Draw(t, "rewrite"); whole {
					got.log = [][]byte{c.snapshot(false)}
				} else {
					got.log = append(got.log, c.snapshot(true))
				}
				continue
			}
			want.add(o.kind, o.deltas...)
			for rest := o.deltas; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "block")
				got.log = append(got.log, packBlock(o.kind, rest[:n]...))
				rest = rest[n:]
			}
			if c := got.read(t); !c.fired && rapid.Bool().Draw(t, "compact") {
				got.log = [][]byte{c.snapshot(false)}
			}
		}
		if diff := cmp.Diff(want.lines, got.lines); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestBlocksCommute: blocks on time and corrections that come before the end of
// the window can come in any order.
func TestBlocksCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := history().Draw(t, "history")
		ops = ops[:slices.IndexFunc(ops, func(o op) bool { return o.deltas == nil })]
		run := func(ops []op) []string {
			var r cellRun
			for _, o := range ops {
				r.log = append(r.log, packBlock(o.kind, o.deltas...))
			}
			r.fire(t, r.read(t))
			return r.lines
		}
		want, got := run(ops), run(rapid.Permutation(ops).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mismatch (-in order +in another):\n%s", diff)
		}
	})
}

// TestSnapshotRoundTrip: a snapshot of what was read from a snapshot is the same.
func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r cellRun
		for _, o := range history().Draw(t, "history") {
			if o.deltas == nil {
				c := r.read(t)
				r.fire(t, c)
				r.log = [][]byte{c.snapshot(false)}
				continue
			}
			r.log = append(r.log, packBlock(o.kind, o.deltas...))
		}
		first := r.read(t).snapshot(false)
		r.log = [][]byte{first}
		c := r.read(t)
		if again := c.snapshot(false); !bytes.Equal(first, again) {
			t.Fatalf("%x, read and written again %x", first, again)
		}
		if none := c.snapshot(true); len(none) != 2 {
			t.Fatalf("%x is touched, of a log that was only read", none)
		}
	})
}

// TestMalformedLogs cuts blocks and snapshots short, and changes bytes in them:
// an error or another log, never a panic.
func TestMalformedLogs(t *testing.T) {
	var r cellRun
	rapid.Check(t, func(t *rapid.T) {
		for _, o := range history().Draw(t, "history") {
			if o.deltas != nil {
				r.log = append(r.log, packBlock(o.kind, o.deltas...))
			}
		}
		c := r.read(t)
		r.fire(t, c)
		for _, b := range append(r.log, c.snapshot(false)) {
			b = bytes.Clone(b)
			if rapid.Bool().Draw(t, "cut") {
				b = b[:rapid.IntRange(0, len(b)).Draw(t, "at")]
			} else {
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
			_, _ = readCell(tally64{}, [][]byte{b})
		}
		r.log = nil
	})
	kindOnly := []byte{blockOnTime}
	for name, b := range map[string][]byte{
		"empty": {}, "no count": kindOnly, "cut in the key": append(packBlock(blockOnTime), 5, 'a'),
		"no total": append(packBlock(blockOnTime), 1, 'a'), "unknown": packBlock('?', delta{"k", totalOf(1)}),
		"negative length": append(packBlock(blockOnTime), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%x panics: %v", b, r)
				}
			}()
			if c, err := readCell(tally64{}, [][]byte{b}); err == nil {
				t.Errorf("%x is read as %+v", b, c.entries)
			}
		})
	}
}

// An error of the aggregator is an error of the cell.
func TestMergeErrors(t *testing.T) {
	ok, bad := packBlock(blockOnTime, delta{"k", totalOf(1)}), packBlock(blockOnTime, delta{"k", []byte("short")})
	if _, err := readCell(tally64{}, [][]byte{ok, bad}); err == nil || !strings.Contains(err.Error(), "aggregate: merging: tally64: totals of 64 and 5 bytes") {
		t.Error(err)
	}
	c, err := readCell(tally64{}, [][]byte{ok, packBlock(blockCorrection, delta{"k", []byte("short")})})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(Pane, *entry) error { return nil }
	if err := c.fire(nothing, nil); err == nil {
		t.Error("no error for a correction that does not merge")
	}
	wrong := errors.New("wrong")
	if c, err = readCell(tally64{}, [][]byte{ok}); err != nil {
		t.Fatal(err)
	}
	if err := c.fire(func(Pane, *entry) error { return wrong }, nil); !errors.Is(err, wrong) {
		t.Errorf("%v, want the error of the row", err)
	}
}

func TestCellKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := windowfns.Window{StartMs: rapid.Int64().Draw(t, "start"), EndMs: rapid.Int64().Draw(t, "end")}
		got, err := cellWindow(cellKey(rapid.Int64Range(0, 1<<16).Draw(t, "shard"), w))
		if err != nil || got != w {
			t.Fatalf("%v came back as %v, %v", w, got, err)
		}
	})
	for _, s := range []string{"", "1", "1|2", "1|2|", "1||2", "1|2|!", "1|2|3|4"} {
		if w, err := cellWindow(s); err == nil {
			t.Errorf("%q is read as %v", s, w)
		}
	}
	if a, b := cellKey(1, windowfns.Window{StartMs: math.MinInt64}), cellKey(11, windowfns.Window{}); a == b {
		t.Errorf("two cells have the key %q", a)
	}
}

func TestBlockCount(t *testing.T) {
	if kind, n, err := blockCount(appendBlockHeader(nil, blockCorrection, 300)); kind != blockCorrection || n != 300 || err != nil {
		t.Errorf("%q, %d, %v", kind, n, err)
	}
	if _, _, err := blockCount(nil); err == nil {
		t.Error("no error for nothing")
	}
	if r := routing.NewReader(packBlock(blockOnTime)); r.Byte() != blockOnTime {
		t.Error("a block does not begin with its kind")
	}
}
