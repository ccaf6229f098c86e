package streamtest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn5x1[beam.PaneInfo, beam.Window, beam.EventTime, beam.X, func(captured), error](&captureFn{})
	register.DoFn6x1[beam.PaneInfo, beam.Window, beam.EventTime, beam.X, beam.Y, func(captured), error](&capturePairFn{})
	register.DoFn1x1[captured, error](&keepFn{})
	register.Emitter1[captured]()
	beam.RegisterType(reflect.TypeFor[captured]())
}

// Captured holds what came out of a PCollection. Read it with [Values] or
// [Elements] once the pipeline has run.
type Captured struct {
	types []reflect.Type // of the element, or of key and value

	mu    sync.Mutex
	elems []captured
}

// captured is an element on its way to a Captured. It is encoded, because the
// pipeline may go on to use the memory of what it has emitted.
type captured struct {
	Parts  [][]byte // the element, or key and value
	TimeMs int64

	StartMs, EndMs int64
	Global         bool

	Timing                     int
	IsFirst, IsLast            bool
	Index, NonSpeculativeIndex int64
}

var captures registry[*Captured]

// Capture collects the elements of col, single ones or KVs, with their
// timestamps, windows and panes. An element that is in several windows is
// captured once for each.
//
// Panes are those of the last GroupByKey before col. Elements that have not
// been through one, or come from a timer, have the pane typex.PaneUnknown, and
// Beam's combiners lose the pane.
func Capture(s beam.Scope, col beam.PCollection) *Captured {
	s = s.Scope("streamtest.Capture")
	if typex.IsKV(col.Type()) {
		k, v := col.Type().Components()[0].Type(), col.Type().Components()[1].Type()
		fn := &capturePairFn{Key: beam.EncodedType{T: k}, Value: beam.EncodedType{T: v}}
		return keep(s, beam.ParDo(s, fn, col), k, v)
	}
	t := col.Type().Type()
	if typex.IsComposite(t) {
		panic(fmt.Errorf("streamtest.Capture: PCollection<%v>, want single elements or KVs", col.Type()))
	}
	return keep(s, beam.ParDo(s, &captureFn{Type: beam.EncodedType{T: t}}, col), t)
}

// keep collects what the capturing DoFns emit. The Reshuffle is there for Prism,
// which waits actively while a bundle runs in a stage that has no outputs, as
// the one of keepFn: so nothing else should be in that stage.
func keep(s beam.Scope, col beam.PCollection, types ...reflect.Type) *Captured {
	c := &Captured{types: types}
	beam.ParDo0(s, &keepFn{ID: captures.add(c)}, beam.Reshuffle(s, col))
	return c
}

type captureFn struct {
	Type beam.EncodedType

	enc beam.ElementEncoder
}

func (f *captureFn) Setup() { f.enc = beam.NewElementEncoder(f.Type.T) }

func (f *captureFn) ProcessElement(pane beam.PaneInfo, w beam.Window, et beam.EventTime, v beam.X, emit func(captured)) error {
	raw, err := encode(f.enc, v)
	if err != nil {
		return err
	}
	emit(reify(pane, w, et, raw))
	return nil
}

type capturePairFn struct {
	Key, Value beam.EncodedType

	key, value beam.ElementEncoder
}

func (f *capturePairFn) Setup() {
	f.key, f.value = beam.NewElementEncoder(f.Key.T), beam.NewElementEncoder(f.Value.T)
}

func (f *capturePairFn) ProcessElement(pane beam.PaneInfo, w beam.Window, et beam.EventTime, k beam.X, v beam.Y, emit func(captured)) error {
	key, err := encode(f.key, k)
	if err != nil {
		return err
	}
	value, err := encode(f.value, v)
	if err != nil {
		return err
	}
	emit(reify(pane, w, et, key, value))
	return nil
}

func encode(enc beam.ElementEncoder, v any) ([]byte, error) {
	var b bytes.Buffer
	err := enc.Encode(v, &b)
	return b.Bytes(), err
}

func reify(pane beam.PaneInfo, w beam.Window, et beam.EventTime, parts ...[]byte) captured {
	c := captured{
		Parts: parts, TimeMs: int64(et),
		Timing: int(pane.Timing), IsFirst: pane.IsFirst, IsLast: pane.IsLast,
		Index: pane.Index, NonSpeculativeIndex: pane.NonSpeculativeIndex,
	}
	if iw, ok := w.(window.IntervalWindow); ok {
		c.StartMs, c.EndMs = int64(iw.Start), int64(iw.End)
	} else {
		c.Global = true
	}
	return c
}

type keepFn struct {
	ID int
}

func (f *keepFn) ProcessElement(e captured) error {
	c, ok := captures.get(f.ID)
	if !ok {
		return errors.New("streamtest: Capture needs a worker in the process that submits the pipeline")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elems = append(c.elems, e)
	return nil
}
