package aggregate

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// spans draws cells: of a window that is alone, and of several windows of a grid,
// which need not be all that layouts would put there.
func spans() *rapid.Generator[span] {
	return rapid.Custom(func(t *rapid.T) span {
		end := rapid.Int64Range(-100, 100).Draw(t, "end")
		if rapid.IntRange(0, 4).Draw(t, "single") == 0 {
			return single(windowfns.Window{StartMs: end - 30, EndMs: end})
		}
		step := rapid.Int64Range(1, 10).Draw(t, "step")
		n := rapid.Int64Range(1, 9).Draw(t, "windows")
		return span{firstMs: end, lastMs: end + (n-1)*step, stepMs: step, grid: windowfns.Sliding{Size: millis(3*step + 1), Period: millis(step)}}
	})
}

func someRules(t *rapid.T) rules {
	ru := rules{
		agg: tally64{}, latenessMs: rapid.SampledFrom([]int64{0, 0, 1, 7, 40}).Draw(t, "lateness"),
		final: rapid.Bool().Draw(t, "final"), early: rapid.Bool().Draw(t, "early"),
	}
	if ru.early {
		ru.earlyCount = rapid.Int64Range(0, 4).Draw(t, "count")
	}
	return ru
}

func deltas() *rapid.Generator[[]delta] {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) delta {
		key := rapid.SampledFrom([]string{"", "a", "b", "\x00\xff"}).Draw(t, "key")
		return deltaOf(key, rapid.SliceOfN(rapid.IntRange(0, 3), 1, 3).Draw(t, "numbers")...)
	}), 1, 4, func(d delta) string { return d.key })
}

// blockFor draws a block for windows of s that are not closed at the watermark.
// Runs reach anywhere, and mostly to where those of grids do. What is on time can
// be for windows that have fired, which no runner should let through.
func blockFor(t *rapid.T, ru rules, s span, watermark int64) (blk, bool) {
	open := 0
	for open < s.size() && watermark >= s.end(open)+ru.latenessMs {
		open++
	}
	if open == s.size() {
		return blk{}, false
	}
	kinds := []byte{blockOnTime, blockOnTime, blockOnTime}
	if ru.latenessMs > 0 {
		kinds = append(kinds, blockCorrection)
	}
	if ru.early {
		kinds = append(kinds, blockShow)
	}
	b := blk{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), deltas: deltas().Draw(t, "deltas")}
	first := rapid.IntRange(open, s.size()-1).Draw(t, "first")
	last := min(first+2, s.size()-1)
	if rapid.IntRange(0, 2).Draw(t, "part") == 0 {
		last = rapid.IntRange(first, s.size()-1).Draw(t, "last")
	}
	b.first, b.last = s.end(first), s.end(last)
	if b.kind == blockShow {
		for i := range b.deltas {
			b.deltas[i].elements, b.deltas[i].acc = 0, nil
		}
	}
	return b, true
}

// logged is a cell with its log.
type logged struct {
	*windowCell
	log [][]byte
}

func (l *logged) take(t *rapid.T, b blk) {
	msg := packMessage(b)
	l.log = append(l.log, appendRecord(nil, logMessage, bytes.Clone(msg)))
	if err := eachBlock(msg, func(h header, entries []byte) error { return l.windowCell.take(h, entries, false) }); err != nil {
		t.Fatal(err)
	}
}

// read is the cell that the log says, read as state gives it: in memory of its own.
func (l *logged) read(t *rapid.T) *windowCell {
	log := make([][]byte, len(l.log))
	for i, b := range l.log {
		log[i] = bytes.Clone(b)
	}
	c := newWindowCell(l.rules, l.span)
	if _, err := replay(c, log); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCellLaws plays histories: blocks on time and corrections, in whatever order,
// and watermarks that leap over any number of windows. The cell is read from its
// log at any time, the log compacted at any time. The rows are those of the plain
// model all the same, and nobody changes a total that was shown.
func TestCellLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ru := spans().Draw(t, "span"), someRules(t)
		want := newModel(ru)
		var got lines
		c := logged{windowCell: newWindowCell(ru, s)}
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			for range rapid.IntRange(0, 3).Draw(t, "blocks") {
				if b, ok := blockFor(t, ru, s, want.watermark); ok {
					want.take(b, s.stepMs)
					c.take(t, b)
				}
			}
			ms := int64(noWatermark)
			if rapid.Bool().Draw(t, "go on") {
				ms = max(want.watermark, s.firstMs-5) + rapid.Int64Range(0, 3*s.stepMs+ru.latenessMs/2).Draw(t, "by")
			}
			want.settle(ms)
			if err := c.settle(ms, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.all, got.all); diff != "" {
				t.Fatalf("mismatch (-want +got):\n%s", diff)
			}
			if c.reached() != want.watermark || c.empty() != (len(want.windows) == 0) && c.empty() {
				t.Fatalf("at %d, empty %v, want %d and %d windows", c.reached(), c.empty(), want.watermark, len(want.windows))
			}
			c.log = append(c.log, appendRecord(nil, logState, c.appendState(nil, false)))
			switch rapid.IntRange(0, 4).Draw(t, "log") {
			case 0:
				c.windowCell = c.read(t)
			case 1:
				c.log = [][]byte{compact(c.windowCell)}
			case 2:
				c.log = [][]byte{compact(c.windowCell)}
				c.windowCell = c.read(t) // without corrections that have been shown
				c.log = [][]byte{compact(c.windowCell)}
				c.windowCell = c.read(t)
				if again := compact(c.windowCell); !bytes.Equal(c.log[0], again) {
					t.Fatalf("%x, read and written again %x", c.log[0], again)
				}
			}
			due := c.deadlines(nil, 1000)
			for i, at := range due {
				if at <= c.reached() || i > 0 && at <= due[i-1] {
					t.Fatalf("deadlines %v at %d", due, c.reached())
				}
			}
			if next, ok := want.next(); ok && (len(due) == 0 || due[0] > next) {
				t.Fatalf("deadlines %v, want %d first", due, next)
			}
		}
		// All that is left comes out at the last deadline, and then there is nothing.
		for due := c.deadlines(nil, 1000); len(due) > 0; due = c.deadlines(nil, 1000) {
			want.settle(due[0])
			if err := c.settle(due[0], &got); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want.all, got.all); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
		if !c.empty() {
			t.Fatalf("%d keys are left past the last deadline", len(c.keys))
		}
		got.unchanged(t)
	})
}

// next is the next time at which there is something to show.
func (m *model) next() (ms int64, ok bool) {
	for k, w := range m.windows {
		at := k.end
		if w.fired && m.final && w.rows > 0 {
			at += m.latenessMs
		} else if w.fired || w.onTime == nil && w.waiting == nil {
			continue
		}
		if !ok || at < ms {
			ms, ok = at, true
		}
	}
	return ms, ok
}

// TestBlocksCommute: blocks on time and corrections that come before the end of
// their windows can come in any order.
func TestBlocksCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spans().Draw(t, "span")
		ru := rules{agg: tally64{}, latenessMs: 30}
		var blocks []blk
		for range rapid.IntRange(0, 8).Draw(t, "blocks") {
			b, _ := blockFor(t, ru, s, noWatermark)
			blocks = append(blocks, b)
		}
		run := func(blocks []blk) []string {
			var got lines
			c := logged{windowCell: newWindowCell(ru, s)}
			for _, b := range blocks {
				c.take(t, b)
			}
			if err := c.settle(s.lastMs, &got); err != nil {
				t.Fatal(err)
			}
			return got.all
		}
		want, got := run(blocks), run(rapid.Permutation(blocks).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mismatch (-in order +in another):\n%s", diff)
		}
	})
}

// A block on time that comes for windows that have fired and for others gives both
// what is theirs, and what comes later for the others does not show in the ones.
func TestPartlyFiredBlocks(t *testing.T) {
	s := span{firstMs: 10, lastMs: 40, stepMs: 10, grid: windowfns.Sliding{Size: millis(40), Period: millis(10)}}
	var got lines
	c := newWindowCell(rules{agg: tally64{}, latenessMs: 100}, s)
	do := func(ms int64, blocks ...blk) {
		t.Helper()
		for _, b := range blocks {
			if err := c.take(b.header(), b.entries(), false); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.settle(ms, &got); err != nil {
			t.Fatal(err)
		}
	}
	do(10, blk{blockOnTime, 20, 20, []delta{deltaOf("other", 1)}})
	do(10, blk{blockOnTime, 10, 30, []delta{deltaOf("k", 2)}})
	do(10, blk{blockOnTime, 20, 30, []delta{deltaOf("k", 3)}})
	do(30)
	want := []string{
		"k@10 LATE #0 (2) was -",
		"k@20 ON_TIME #0 (2 3) was -", "other@20 ON_TIME #0 (1) was -", "k@30 ON_TIME #0 (2 3) was -",
	}
	if diff := cmp.Diff(want, got.all); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	got.unchanged(t)
}

// TestMalformedLogs cuts logs short, and changes bytes in them: an error or
// another cell, never a panic, nor does the cell that was read panic.
func TestMalformedLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ru := spans().Draw(t, "span"), someRules(t)
		c := logged{windowCell: newWindowCell(ru, s)}
		var got lines
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			if b, ok := blockFor(t, ru, s, c.reached()); ok {
				c.take(t, b)
			}
			if err := c.settle(max(c.reached(), s.firstMs-3)+rapid.Int64Range(0, 9).Draw(t, "by"), &got); err != nil {
				t.Fatal(err)
			}
			c.log = append(c.log, appendRecord(nil, logState, c.appendState(nil, false)))
		}
		if rapid.Bool().Draw(t, "compact") {
			c.log = [][]byte{compact(c.windowCell)}
		}
		b := bytes.Join(c.log, nil)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if rapid.Bool().Draw(t, "cut") {
			b = b[:rapid.IntRange(0, len(b)).Draw(t, "end")]
		}
		read := newWindowCell(ru, s)
		if _, err := replay(read, [][]byte{b}); err == nil {
			_ = read.settle(s.lastMs, &got)
			_ = compact(read)
		}
	})
	s := span{firstMs: 10, lastMs: 40, stepMs: 10, grid: windowfns.Tumbling{Size: millis(10)}}
	k := []delta{deltaOf("k", 1)}
	for name, b := range map[string][]byte{
		"a kind only": {logMessage}, "unknown record": {'?', 0}, "no watermark": {logState, 0},
		"cut block":      appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 10, 20, k})[:9]),
		"unknown block":  appendRecord(nil, logMessage, packMessage(blk{'?', 10, 20, k})),
		"too early":      appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 0, 20, k})),
		"too late":       appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 10, 50, k})),
		"between":        appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 15, 25, k})),
		"ends between":   appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 10, 25, k})),
		"last first":     appendRecord(nil, logMessage, packMessage(blk{blockOnTime, 20, 10, k})),
		"no such window": appendRecord(nil, logState, []byte{0, 1, 'k', 4, stateRows, 1}),
		"no total":       appendRecord(nil, logState, []byte{0, 1, 'k', 2, stateTotal}),
		"no such part":   appendRecord(nil, logBlocks, []byte{1, 'k', 1, 3, 1, 0, 0, 0}),
		"parts are cut":  appendRecord(nil, logBlocks, []byte{1, 'k', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
		"huge windows":   appendRecord(nil, logBlocks, []byte{1, 'k', 1, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0, 0, 0}),
	} {
		t.Run(name, func(t *testing.T) {
			c := newWindowCell(rules{agg: tally64{}}, s)
			if _, err := replay(c, [][]byte{b}); err == nil {
				t.Errorf("%x is read as %d keys", b, len(c.keys))
			}
		})
	}
	// A kind that is not known is an error even where all has fired.
	c := newWindowCell(rules{agg: tally64{}, latenessMs: 99}, s)
	if err := c.settle(40, &lines{}); err != nil {
		t.Fatal(err)
	}
	bad := blk{'?', 10, 20, k}
	if err := c.take(bad.header(), bad.entries(), false); err == nil {
		t.Error("no error for a block of an unknown kind")
	}
}

// outlets are outlets whose rows fail.
type failing struct{ lines }

var errRow = errors.New("wrong")

func (failing) row(*Row) error { return errRow }

// An error of the aggregator, or of the rows, is an error of the cell.
func TestCellErrors(t *testing.T) {
	s := single(windowfns.Window{StartMs: 0, EndMs: 10})
	cellOf := func(blocks ...blk) (*windowCell, error) {
		c := newWindowCell(rules{agg: tally64{}, latenessMs: 5, final: true}, s)
		for _, b := range blocks {
			if err := c.take(b.header(), b.entries(), false); err != nil {
				return c, err
			}
		}
		return c, nil
	}
	on := func(kind byte, acc []byte) blk { return blk{kind, 10, 10, []delta{{"k", 1, acc}}} }
	if _, err := cellOf(on(blockOnTime, totalOf(1)), on(blockOnTime, []byte("short"))); err == nil || !strings.Contains(err.Error(), "aggregate: merging: tally64: totals of 64 and 5 bytes") {
		t.Error(err)
	}
	c, err := cellOf(on(blockOnTime, totalOf(1)), on(blockCorrection, []byte("short")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.settle(10, &lines{}); err == nil {
		t.Error("no error for a correction that does not merge")
	}
	if c, err = cellOf(on(blockOnTime, totalOf(1))); err != nil {
		t.Fatal(err)
	}
	if err := c.settle(10, &failing{}); !errors.Is(err, errRow) {
		t.Errorf("%v, want the error of the row", err)
	}
}
