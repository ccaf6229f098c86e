package aggregate

import (
	"encoding/binary"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
)

func init() {
	register.DoFn3x1[string, []byte, emitNotice, error](&noticeFn{})
	register.DoFn5x1[beam.PaneInfo, beam.EventTime, []byte, func(*[]byte) bool, emitBlock, error](&showFn{})
	register.Emitter3[beam.EventTime, []byte, []byte]()
	register.Iter1[[]byte]()
}

// emitNotice emits a notice with nothing. It is bytes, not a string: runners in Java
// make valid UTF-8 of a string, and a notice is not.
type emitNotice = func(at beam.EventTime, notice, nothing []byte)

// early turns blocks on time into messages that ask for EARLY rows, each delay of
// processing time after it. It has the timers that the fold cannot have: Flink's
// portable runner hangs with two families in one DoFn, and only the runner knows
// the processing time of a test.
//
// Each key and window of a block has a notice of its own in a trigger, because
// Prism counts the delay of a trigger that repeats from its last firing. The cell
// drops those whose block an EARLY row has shown meanwhile, so that the first
// block that was not shown decides. What the trigger itself drops behind the end
// of a window is a notice only: there are no EARLY rows then.
//
// A session can end later than what a block has of it. Its notices wait in windows
// that end some time behind that, so that the trigger still has them; see
// noticeFn.SpareMs. If the watermark overtakes even that before the delay has
// passed, the fold is asked then, rather than never: it waits until its own
// watermark is there, and shows the session if that has not ended.
func early(s beam.Scope, plan intake.Plan, delay time.Duration, blocks beam.PCollection) beam.PCollection {
	windows, lateness := plan.Windows, plan.Routing.LatenessMs
	notices := beam.WindowInto(s, window.NewFixedWindows(time.Millisecond), beam.ParDo(s, &noticeFn{Windows: windows, LatenessMs: lateness, SpareMs: (delay + spare).Milliseconds()}, blocks),
		beam.Trigger(trigger.AfterProcessingTime().PlusDelay(delay)), beam.PanesDiscard())
	shows := beam.ParDo(s, &showFn{Windows: windows}, beam.GroupByKey(s, notices))
	return beam.WindowInto(s, window.NewGlobalWindows(), shows)
}

// spare is how much event time more than the delay a notice of a session waits for,
// from the end of what its block has of it. It costs state for as long.
const spare = time.Minute

// noticeFn says for which keys and windows there is something new: KV<notice,
// nothing>, at the last millisecond of the window. A notice is
//
//	len(cell) uvarint | cell | end varint | id uvarint | key
//
// That of a session is a gap and SpareMs behind, and behind the deadline of a
// correction, which can be part of a session that has not ended.
type noticeFn struct {
	Windows    portable.Value
	LatenessMs int64
	SpareMs    int64

	layout layout
}

func (f *noticeFn) Setup() (err error) {
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *noticeFn) ProcessElement(cell string, msg []byte, emit emitNotice) error {
	s, err := f.layout.parse(cell)
	if err != nil {
		return err
	}
	return eachBlock(msg, func(h header, entries []byte) error {
		if s.gapMs > 0 {
			return eachStretch(entries, func(key []byte, st stretch) error {
				end := st.startMs + s.gapMs
				at := end + s.gapMs + f.SpareMs
				if h.kind == blockCorrection {
					at += f.LatenessMs
				}
				emit(mtime.Time(at-1), notice(cell, end, h.id, key), nil)
				return nil
			})
		}
		if h.kind != blockOnTime {
			return nil
		}
		return eachEntry(entries, func(key []byte, _ int64, _ []byte) error {
			for end := h.firstMs; end <= h.lastMs; end += s.stepMs {
				emit(mtime.Time(end-1), notice(cell, end, h.id, key), nil)
			}
			return nil
		})
	})
}

func notice(cell string, endMs int64, id uint64, key []byte) []byte {
	b := binary.AppendVarint(routing.AppendPrefixed(nil, cell), endMs)
	b = binary.AppendUvarint(b, id)
	return append(b, key...)
}

// showFn turns a notice whose delay has passed into a message to its cell, stamped
// such that no timer holds it up: see emitMarked.
type showFn struct {
	Windows portable.Value

	layout layout
}

func (f *showFn) Setup() (err error) {
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *showFn) ProcessElement(pane beam.PaneInfo, at beam.EventTime, notice []byte, _ func(*[]byte) bool, emit emitBlock) error {
	if pane.Timing != typex.PaneEarly && f.layout.gapMs == 0 {
		return nil // the end of the window has come before
	}
	r := routing.NewReader(notice)
	cell, end, id := string(r.Prefixed()), r.Varint(), r.Uvarint()
	key := r.Bytes(r.Len())
	if r.Err() != nil {
		return r.Err()
	}
	s, err := f.layout.parse(cell)
	if err != nil {
		return err
	}
	entry := appendEntry(nil, key, 0, nil)
	if s.gapMs > 0 {
		st := stretch{startMs: end - s.gapMs, endMs: end}
		if pane.Timing != typex.PaneEarly {
			st.endMs = int64(at) + 1
		}
		entry = appendStretch(nil, key, st)
	}
	emit(mtime.Time(s.firstMs-1), cell, appendBlock(nil, header{kind: blockShow, firstMs: end, lastMs: end, id: id}, entry))
	return nil
}
