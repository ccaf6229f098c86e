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

	"tidemark/internal/portable"
	"tidemark/internal/routing"
)

func init() {
	register.DoFn3x1[string, []byte, emitBlock, error](&noticeFn{})
	register.DoFn3x1[string, func(*[]byte) bool, emitBlock, error](&showFn{})
	register.DoFn4x1[beam.PaneInfo, string, func(*[]byte) bool, emitBlock, error](&askFn{})
	register.Iter1[[]byte]()
}

// early turns blocks on time into messages that ask for EARLY rows, delay of
// processing time after the first element of a key and window that none has asked
// for yet. It has the timers that the fold cannot have: Flink's portable runner
// hangs with two families in one DoFn, and only the runner knows the processing
// time of a test.
//
// A notice for each key and window waits in a trigger. What the trigger drops
// behind the end of the window is a notice only: there are no EARLY rows then.
func early(s beam.Scope, windows portable.Value, delay time.Duration, blocks beam.PCollection) beam.PCollection {
	notices := beam.WindowInto(s, window.NewFixedWindows(time.Millisecond), beam.ParDo(s, &noticeFn{Windows: windows}, blocks),
		beam.Trigger(trigger.Repeat(trigger.AfterProcessingTime().PlusDelay(delay))), beam.PanesDiscard())
	shows := beam.ParDo(s, &showFn{}, beam.GroupByKey(s, notices))

	// The trigger fires at the end of the window as well, with a pane that Prism
	// calls early. So a second one lets nothing pass from there on.
	open := beam.GroupByKey(s, beam.WindowInto(s, window.NewFixedWindows(time.Millisecond), shows,
		beam.Trigger(trigger.Always()), beam.PanesDiscard()))
	return beam.WindowInto(s, window.NewGlobalWindows(), beam.ParDo(s, &askFn{Windows: windows}, open))
}

// noticeFn says for which keys and windows there is something new: KV<notice,
// nothing>, at the last millisecond of the window. A notice is
//
//	len(cell) uvarint | cell | end varint | key
type noticeFn struct {
	Windows portable.Value

	layout layout
}

func (f *noticeFn) Setup() (err error) {
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *noticeFn) ProcessElement(cell string, msg []byte, emit emitBlock) error {
	s, err := f.layout.parse(cell)
	if err != nil {
		return err
	}
	return eachBlock(msg, func(h header, entries []byte) error {
		if h.kind != blockOnTime {
			return nil
		}
		return eachEntry(entries, func(key []byte, _ int64, _ []byte) error {
			for end := h.firstMs; end <= h.lastMs; end += s.stepMs {
				notice := binary.AppendVarint(routing.AppendPrefixed(nil, cell), end)
				emit(mtime.Time(end-1), string(append(notice, key...)), nil)
			}
			return nil
		})
	})
}

// showFn turns a notice whose delay has passed into a message to its cell, at the
// last millisecond of the window.
type showFn struct{}

func (*showFn) ProcessElement(notice string, _ func(*[]byte) bool, emit emitBlock) error {
	r := routing.NewReader([]byte(notice))
	cell, end := string(r.Prefixed()), r.Varint()
	key := r.Bytes(r.Len())
	if r.Err() != nil {
		return r.Err()
	}
	entry := appendEntry(nil, key, 0, nil)
	emit(mtime.Time(end-1), cell, appendBlock(nil, header{kind: blockShow, firstMs: end, lastMs: end}, entry))
	return nil
}

// askFn sends messages of windows that are open to their cells, stamped such that
// no timer holds them up: see emitMarked.
type askFn struct {
	Windows portable.Value

	layout layout
}

func (f *askFn) Setup() (err error) {
	f.layout, err = shippedLayout(f.Windows)
	return err
}

func (f *askFn) ProcessElement(pane beam.PaneInfo, cell string, messages func(*[]byte) bool, emit emitBlock) error {
	s, err := f.layout.parse(cell)
	if err != nil || pane.Timing == typex.PaneLate {
		return err
	}
	for msg := []byte(nil); messages(&msg); msg = nil {
		emit(mtime.Time(s.firstMs-1), cell, msg)
	}
	return nil
}
