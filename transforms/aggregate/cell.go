package aggregate

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// cell is what the fold holds of one key of its state, in memory. It is built
// from a log and knows nothing of Beam.
//
// The watermark of a cell is the highest time that one of its timers has
// reached. What is due at a time is never shown before that, whatever arrives,
// because elements on time may still be on their way.
type cell interface {
	// take adds a block. With again, the block comes from the log, and what it
	// gave cause to was shown before.
	take(h header, entries []byte, again bool) error

	// settle shows what is due at the watermark ms, and what was taken since for
	// windows that have fired.
	settle(ms int64, to outlet) error

	// appendState appends what a log of blocks does not say: the watermark, and
	// what was shown that does not follow from it. Without whole, only what has
	// changed since the last call.
	appendState(dst []byte, whole bool) []byte

	// appendBlocks appends the blocks that are left, as one record.
	appendBlocks(dst []byte) []byte

	// restore undoes them.
	restore(kind byte, r *routing.Reader) error

	// deadlines appends the next times at which there is something to do, in
	// ascending order, and none in between is left out. It stops at most of them.
	deadlines(dst []int64, most int) []int64

	// absolute reports whether appendState says all that take has changed, so that
	// messages need not be logged.
	absolute() bool

	// reached is the watermark of the cell.
	reached() int64

	// empty reports whether there is nothing left to keep, and busy whether there
	// are windows that have not fired.
	empty() bool
	busy() bool

	// use makes agg the aggregator of the cell.
	use(agg Aggregator)
}

// nowhere is an outlet for what was shown before.
type nowhere struct{}

func (nowhere) row(*Row) error   { return nil }
func (nowhere) unshown(*Unshown) {}

// outlet takes what is due.
type outlet interface {
	row(r *Row) error
	unshown(u *Unshown)
}

// rules are what the cells of a fold have in common.
type rules struct {
	agg        Aggregator
	latenessMs int64
	early      bool // some EARLY rows are asked for
	earlyCount int64
	final      bool

	scratch Row // memory for the row that is emitted
}

func (ru *rules) use(agg Aggregator) { ru.agg = agg }

// A log is a sequence of records,
//
//	kind byte | len uvarint | payload
//
// and what a cell is follows from them in their order.
const (
	logMessage = 'M' // what came to the cell
	logState   = 'W' // the watermark, and what was shown
	logBlocks  = 'B' // all that came before, compacted; it comes first
	logTimers  = 'T' // the time up to which the timers of the cell are set
)

func appendRecord(dst []byte, kind byte, payload []byte) []byte {
	return routing.AppendPrefixed(append(dst, kind), payload)
}

// replay brings a fresh cell to where its log ends, and returns up to where its
// timers are set.
func replay(c cell, log [][]byte) (timersMs int64, err error) {
	timersMs = noWatermark
	for _, part := range log {
		r := routing.NewReader(part)
		for !r.Done() {
			kind, payload := r.Byte(), r.Prefixed()
			if r.Err() != nil {
				break
			}
			if kind == logTimers {
				at := routing.NewReader(payload)
				timersMs = at.Varint()
				err = at.Err()
			} else {
				err = replayRecord(c, kind, payload)
			}
			if err != nil {
				return timersMs, err
			}
		}
		if r.Err() != nil {
			return timersMs, r.Err()
		}
	}
	return timersMs, nil
}

func replayRecord(c cell, kind byte, payload []byte) error {
	switch kind {
	case logMessage:
		return eachBlock(payload, func(h header, entries []byte) error { return c.take(h, entries, true) })
	case logState, logBlocks:
		r := routing.NewReader(payload)
		if err := c.restore(kind, &r); err != nil {
			return err
		}
		return r.Err()
	default:
		return fmt.Errorf("aggregate: record of unknown kind %q", kind)
	}
}

// compact is a log that says all that c knows.
func compact(c cell) []byte {
	return appendRecord(appendRecord(nil, logBlocks, c.appendBlocks(nil)), logState, c.appendState(nil, true))
}

// rowState is what was shown of a key and window.
type rowState struct {
	rows  int64  // how many rows there were
	shown []byte // the total in the last one; empty if it withdrew the window
	ever  bool   // there was a row
}

const (
	stateRows = 1 << iota
	stateShown
	stateTotal
	stateSame // the total is what was shown
	stateUnshown
)

// appendUnshown appends how many elements no row of a window has shown, and the
// ids of their blocks.
func appendUnshown(dst []byte, elements int64, ids []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(elements))
	dst = binary.AppendUvarint(dst, uint64(len(ids)))
	for _, id := range ids {
		dst = binary.AppendUvarint(dst, id)
	}
	return dst
}

func readUnshown(r *routing.Reader) (elements int64, ids []uint64) {
	elements = int64(r.Uvarint())
	for range r.Uvarint() {
		if r.Err() != nil {
			break
		}
		ids = append(ids, r.Uvarint())
	}
	return elements, ids
}

// show emits a row, or says why there is none. It reports whether there was one.
func (ru *rules) show(to outlet, pane Pane, key string, w windowfns.Window, total []byte, was *rowState) (bool, error) {
	if err := ru.agg.Check(total); err != nil {
		to.unshown(&Unshown{Key: key, StartMs: w.StartMs, EndMs: w.EndMs, Pane: pane, Total: total, Reason: err.Error()})
		return false, nil
	}
	ru.scratch = Row{Key: key, StartMs: w.StartMs, EndMs: w.EndMs, Pane: pane, Revision: was.rows, Total: total, Previous: was.shown}
	return true, to.row(&ru.scratch)
}

// repeat emits a FINAL row.
func repeat(to outlet, key string, w windowfns.Window, was *rowState) error {
	return to.row(&Row{Key: key, StartMs: w.StartMs, EndMs: w.EndMs, Pane: Final, Revision: was.rows, Total: was.shown, Previous: was.shown})
}

// merge returns the accumulator of dst and src in memory of its own.
func (ru *rules) merge(dst, src []byte) ([]byte, error) {
	if dst == nil {
		return src, nil
	}
	own := make([]byte, len(dst), len(dst)+8)
	copy(own, dst)
	return ru.mergeInto(own, src)
}

// mergeInto is merge where nobody else has dst.
func (ru *rules) mergeInto(dst, src []byte) ([]byte, error) {
	if dst == nil {
		return append([]byte(nil), src...), nil
	}
	out, err := ru.agg.Merge(dst, src)
	if err != nil {
		return nil, fmt.Errorf("aggregate: merging: %w", err)
	}
	return out, nil
}

// noWatermark is the watermark of a cell whose timers have not fired.
const noWatermark = math.MinInt64
