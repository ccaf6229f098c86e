package windowfns

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Tumbling]())
	beam.RegisterType(reflect.TypeFor[Sliding]())
	beam.RegisterType(reflect.TypeFor[Cumulative]())
	beam.RegisterType(reflect.TypeFor[Calendar]())
	beam.RegisterType(reflect.TypeFor[Session]())
}

// FromBeam returns the window function that assigns the windows of fn: a
// [Tumbling] for fixed windows, a [Sliding] for sliding windows. It returns an
// error for global windows and sessions, and for parameters that Validate
// refuses.
//
// Times before 1970 get the windows that contain them. Beam Go 2.77 itself
// truncates towards zero and can give them windows that do not.
func FromBeam(fn *window.Fn) (Fn, error) {
	if fn == nil {
		return nil, errors.New("windowfns.FromBeam: got nil, " + wantBeam)
	}
	var f Fn
	switch fn.Kind {
	case window.FixedWindows:
		f = Tumbling{Size: fn.Size}
	case window.SlidingWindows:
		f = Sliding{Size: fn.Size, Period: fn.Period}
	case window.GlobalWindows:
		return nil, errors.New("windowfns.FromBeam: got global windows, " + wantBeam)
	case window.Sessions:
		return nil, fmt.Errorf("windowfns.FromBeam: got sessions with gap %v, %s", fn.Gap, wantBeam)
	default:
		return nil, fmt.Errorf("windowfns.FromBeam: got window kind %q, %s", fn.Kind, wantBeam)
	}
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("windowfns.FromBeam: %w", err)
	}
	return f, nil
}

const wantBeam = "want fixed or sliding windows, or a windowfns.Fn in the Config"
