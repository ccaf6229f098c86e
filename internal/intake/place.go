package intake

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/windowfns"
)

func init() {
	register.DoFn4x1[beam.Window, beam.EventTime, beam.X, func(Origin, beam.X), error](&placeFn{})
	register.DoFn5x1[beam.Window, beam.EventTime, int64, beam.X, func(Origin, beam.X), error](&placeMarkedFn{})
	register.Emitter2[Origin, beam.X]()
	beam.RegisterType(reflect.TypeFor[Origin]())
}

// Origin is what the input said of an element: one of its windows, and the
// watermark of its source in ms, or [Unmarked].
type Origin struct {
	StartMs int64
	EndMs   int64
	MarkMs  int64
}

// Window is the window of o.
func (o Origin) Window() windowfns.Window {
	return windowfns.Window{StartMs: o.StartMs, EndMs: o.EndMs}
}

// placeFn turns the window of an element into data. It asks for the window, so
// that Beam calls it once for each (element, window), however many windows
// travel with the element.
type placeFn struct {
	Sliding bool
}

func (f *placeFn) ProcessElement(w beam.Window, et beam.EventTime, v beam.X, emit func(Origin, beam.X)) error {
	o, ok, err := place(w, int64(et), Unmarked, f.Sliding)
	if ok {
		emit(o, v)
	}
	return err
}

// placeMarkedFn is placeFn for elements with the watermark of their source.
type placeMarkedFn struct {
	Sliding bool
}

func (f *placeMarkedFn) ProcessElement(w beam.Window, et beam.EventTime, mark int64, v beam.X, emit func(Origin, beam.X)) error {
	if err := CheckMark(mark); err != nil {
		return err
	}
	o, ok, err := place(w, int64(et), mark, f.Sliding)
	if ok {
		emit(o, v)
	}
	return err
}

// place reads a window of Beam's. Beam divides towards zero, so that before
// 1970 an element of fixed windows can lie one window below the one that it was
// given, and an element of sliding windows has one window too many, which
// starts after it. place mends both.
func place(w beam.Window, tMs, markMs int64, sliding bool) (o Origin, ok bool, err error) {
	if err := CheckTime(tMs); err != nil {
		return Origin{}, false, err
	}
	iw, isInterval := w.(window.IntervalWindow)
	if !isInterval {
		return Origin{}, false, fmt.Errorf("intake: element in %v, want an interval window", w)
	}
	o = Origin{StartMs: int64(iw.Start), EndMs: int64(iw.End), MarkMs: markMs}
	if tMs < 0 && tMs < o.StartMs {
		if sliding {
			return Origin{}, false, nil
		}
		size := o.EndMs - o.StartMs
		o.StartMs, o.EndMs = o.StartMs-size, o.StartMs
	}
	return o, true, nil
}
