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
	register.DoFn4x1[beam.PaneInfo, beam.Window, beam.EventTime, beam.X, error](&captureFn{})
	register.DoFn5x1[beam.PaneInfo, beam.Window, beam.EventTime, beam.X, beam.Y, error](&capturePairFn{})
}

// Captured holds what came out of a PCollection. Read it with [Values] or
// [Elements] once the pipeline has run.
type Captured struct {
	types []reflect.Type // of the element, or of key and value

	mu    sync.Mutex
	elems []captured
}

// captured is an element as encoded, because the pipeline may go on to use the
// memory of what it has emitted.
type captured struct {
	parts [][]byte // the element, or key and value
	at    Element[struct{}]
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
		c := &Captured{types: []reflect.Type{k, v}}
		beam.ParDo0(s, &capturePairFn{ID: captures.add(c), Key: beam.EncodedType{T: k}, Value: beam.EncodedType{T: v}}, col)
		return c
	}
	t := col.Type().Type()
	if typex.IsComposite(t) {
		panic(fmt.Errorf("streamtest.Capture: PCollection<%v>, want single elements or KVs", col.Type()))
	}
	c := &Captured{types: []reflect.Type{t}}
	beam.ParDo0(s, &captureFn{ID: captures.add(c), Type: beam.EncodedType{T: t}}, col)
	return c
}

type captureFn struct {
	ID   int
	Type beam.EncodedType

	enc beam.ElementEncoder
}

func (f *captureFn) Setup() { f.enc = beam.NewElementEncoder(f.Type.T) }

func (f *captureFn) ProcessElement(pane beam.PaneInfo, w beam.Window, et beam.EventTime, v beam.X) error {
	raw, err := encode(f.enc, v)
	if err != nil {
		return err
	}
	return keep(f.ID, pane, w, et, raw)
}

type capturePairFn struct {
	ID         int
	Key, Value beam.EncodedType

	key, value beam.ElementEncoder
}

func (f *capturePairFn) Setup() {
	f.key, f.value = beam.NewElementEncoder(f.Key.T), beam.NewElementEncoder(f.Value.T)
}

func (f *capturePairFn) ProcessElement(pane beam.PaneInfo, w beam.Window, et beam.EventTime, k beam.X, v beam.Y) error {
	key, err := encode(f.key, k)
	if err != nil {
		return err
	}
	value, err := encode(f.value, v)
	if err != nil {
		return err
	}
	return keep(f.ID, pane, w, et, key, value)
}

func encode(enc beam.ElementEncoder, v any) ([]byte, error) {
	var b bytes.Buffer
	err := enc.Encode(v, &b)
	return b.Bytes(), err
}

func keep(id int, pane beam.PaneInfo, w beam.Window, et beam.EventTime, parts ...[]byte) error {
	c, ok := captures.get(id)
	if !ok {
		return errors.New("streamtest: Capture needs a worker in the process that submits the pipeline")
	}
	e := captured{parts: parts, at: Element[struct{}]{TimeMs: int64(et), Pane: pane}}
	if iw, ok := w.(window.IntervalWindow); ok {
		e.at.StartMs, e.at.EndMs = int64(iw.Start), int64(iw.End)
	} else {
		e.at.Global = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elems = append(c.elems, e)
	return nil
}
