package aggregate

import (
	"fmt"
	"testing"

	"tidemark/windowfns"
)

// manyKeys are n deltas of different keys.
func manyKeys(n, number int) []delta {
	var all []delta
	for i := range n {
		all = append(all, deltaOf(fmt.Sprint("key ", i), number%64))
	}
	return all
}

// TestTailIsCompacted brings thousands of messages of the same keys, in bundles and
// with a memory that is lost. What is in state stays a small multiple of one compact
// copy, and is read back only as often as it doubles: a window costs blind writes.
func TestTailIsCompacted(t *testing.T) {
	for _, forget := range []bool{false, true} {
		f := newFold(t, foldDays, 0, Config{})
		const keys, messages = 20, 3000
		msg := len(on(blockOnTime, manyKeys(keys, 0)...))
		taken, worst := 0, 0
		for i := range messages {
			if c := f.message(foldKey, on(blockOnTime, manyKeys(keys, i)...)); c != (calls{writes: 1}) {
				taken++
			}
			worst = max(worst, f.states[foldKey].bytes())
			if i%7 == 0 {
				f.finish()
				if forget {
					forgetAll()
				}
				f.begin()
			}
		}
		if limit := 3*compactBytes + 8*msg; worst > limit {
			t.Errorf("the state grew to %d bytes, want at most %d: a message has %d", worst, limit, msg)
		}
		if most := 2 * messages * msg / compactBytes; taken > most || taken == 0 {
			t.Errorf("the tail is read %d times in %d messages, want at most %d", taken, messages, most)
		}
		f.fire(foldKey, tagOf(foldEnd))
		if len(f.all) != keys {
			t.Errorf("%d rows, want %d", len(f.all), keys)
		}
		if left := f.left(); len(left) > 0 {
			t.Error(left)
		}
	}
}

// TestCompactionDoubles: a tail whose compact copy is large is compacted only after
// it has grown as much again.
func TestCompactionDoubles(t *testing.T) {
	f := newFold(t, foldDays, 0, Config{})
	f.message(foldKey, on(blockOnTime, manyKeys(5000, 0)...)) // some 400 kB
	f.message(foldKey, on(blockOnTime, manyKeys(5000, 1)...))
	whole := f.states[foldKey].bytes()
	taken := 0
	for i := range 1000 {
		if c := f.message(foldKey, on(blockOnTime, deltaOf("key 7", i%64))); c.reads > 0 {
			taken++
		}
	}
	if taken > 1 {
		t.Errorf("the tail is read %d times for 1000 small messages beside a log of %d bytes, want 1 at most", taken, whole)
	}
}

// TestCorrectionsAreCompacted: thousands of corrections of one key among many do not
// make the log grow for ever, whether the cell is in memory or not.
func TestCorrectionsAreCompacted(t *testing.T) {
	for _, forget := range []bool{false, true} {
		f := newFold(t, foldDays, 30, Config{})
		f.message(foldKey, on(blockOnTime, manyKeys(100, 1)...))
		f.fire(foldKey, tagOf(foldEnd))
		whole := f.states[foldKey].bytes()
		worst := 0
		for i := range 3000 {
			f.message(foldKey, on(blockCorrection, deltaOf("key 7", 2+i%62)))
			worst = max(worst, f.states[foldKey].bytes())
			f.finish()
			if forget {
				forgetAll()
			}
			f.begin()
		}
		if limit := 3*whole + 2*compactBytes; worst > limit {
			t.Errorf("forget=%v: the log grew to %d bytes, want at most %d: its compact copy has %d", forget, worst, limit, whole)
		}
		if n := len(f.all); n != 100+3000 {
			t.Errorf("%d rows, want %d", n, 100+3000)
		}
		f.fireDue(foldEnd + 30)
		if left := f.left(); len(left) > 0 {
			t.Error(left)
		}
	}
}

// TestHintsAreBounded: what a worker remembers of tails does not grow with the
// number of windows.
func TestHintsAreBounded(t *testing.T) {
	f := newFold(t, foldDays, 0, Config{})
	s := newFakeState()
	for i := range maxGrown + 100 {
		if _, err := f.fn.store.append(s, fmt.Sprint(i), single(foldWindow), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.fn.store.grown); n > maxGrown {
		t.Errorf("%d hints, want at most %d", n, maxGrown)
	}
}

// TestMemoryGivesTheSameRows: a cell that is in memory shows what one shows that is
// read from the log, and hardly a log is read for it, even where a timer with
// nothing to do has looked at it in between.
func TestMemoryGivesTheSameRows(t *testing.T) {
	run := func(forget bool) (rows []string, logReads int) {
		forgetAll()
		fn := windowfns.Sliding{Size: millis(40), Period: millis(10)}
		f := newFold(t, fn, 50, Config{FinalRows: true})
		l := layoutOf(fn)
		next := func() {
			f.finish()
			if forget {
				forgetAll()
			}
			f.begin()
		}
		for i := range int64(12) {
			first, last := l.grid.Ends(i * 10)
			s := l.spanOf(first)
			f.message(s.key(0), packMessage(blk{blockOnTime, first, min(last, s.lastMs), []delta{deltaOf("k", int(i))}}))
			f.fireDue(i*10 + 10)
			f.message(s.key(0), packMessage(blk{blockCorrection, first, first, []delta{deltaOf("k", int(i+20))}}))
			next()
			f.fire(s.key(0), tagOf(i*10+10))
			next()
			f.fireDue(i*10 + 10)
		}
		f.fireDue(1 << 40)
		if left := f.left(); len(left) > 0 {
			t.Error(left)
		}
		for _, s := range f.states {
			logReads += s.logReads
		}
		return f.all, logReads
	}
	kept, few := run(false)
	read, many := run(true)
	if fmt.Sprint(kept) != fmt.Sprint(read) || len(kept) < 30 {
		t.Errorf("from memory %q, from the log %q", kept, read)
	}
	// Only the cells that wait for corrections alone are read from their log.
	if few > many/4 || many < 12 {
		t.Errorf("the log is read %d times with a memory and %d times without, want few and many", few, many)
	}
}

// TestMemoryUsesTheAggregatorAtHand: a cell that one DoFn has put away is taken by
// another with an aggregator of its own: methods of one are never called by two.
func TestMemoryUsesTheAggregatorAtHand(t *testing.T) {
	mine, other := rules{agg: &tally64{Name: "mine"}}, &tally64{Name: "other"}
	for _, c := range []cell{newWindowCell(mine, span{lastMs: 1, stepMs: 1}), newSessionCell(mine, 5)} {
		c.use(other)
		switch c := c.(type) {
		case *windowCell:
			if c.agg != Aggregator(other) {
				t.Errorf("%v", c.agg)
			}
		case *sessionCell:
			if c.agg != Aggregator(other) {
				t.Errorf("%v", c.agg)
			}
		}
	}
}
