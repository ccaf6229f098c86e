package intake

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// EntryFunc is a user's function from an element to an entry of type E, in a
// form that survives a JSON round trip.
type EntryFunc[E any] struct {
	Fn beam.EncodedFunc

	fn reflectx.Func1x1
}

// EntryFuncOf checks that fn, which users know as name, makes an E of each
// element of col, and that workers can find it.
func EntryFuncOf[E any](s beam.Scope, watermarked bool, col beam.PCollection, name string, fn any) (f EntryFunc[E], err error) {
	t, err := ElementType(s, watermarked, col)
	if err != nil {
		return f, err
	}
	got := reflect.TypeOf(fn)
	want := reflect.FuncOf([]reflect.Type{t}, []reflect.Type{reflect.TypeFor[E]()}, false)
	if got != want {
		return f, fmt.Errorf("%s = %v, want %v", name, got, want)
	}
	f.Fn, err = NamedFunc(name, fn, "register.Function1x1")
	return f, err
}

// NamedFunc is the function fn, which users know as name, in a form that workers
// can find it by. Register is what readies such a function.
func NamedFunc(name string, fn any, register string) (beam.EncodedFunc, error) {
	if reflect.ValueOf(fn).IsNil() {
		return beam.EncodedFunc{}, fmt.Errorf("%s = nil, want a function", name)
	}
	if symbol := reflectx.FunctionName(fn); closure.MatchString(symbol) {
		return beam.EncodedFunc{}, fmt.Errorf("%s = %s, want a named function at package level, registered with %s: workers find it by its name", name, symbol, register)
	}
	return beam.EncodedFunc{Fn: reflectx.MakeFunc(fn)}, nil
}

// closure matches the names that the compiler gives to functions without one.
var closure = regexp.MustCompile(`\.func\d+(\.\d+)*$|-fm$|\[\.\.\.\]`)

// Entry is the entry of an element.
func (f *EntryFunc[E]) Entry(elem any) (E, error) {
	if f.fn == nil {
		f.fn = reflectx.ToFunc1x1(f.Fn.Fn)
	}
	e, ok := f.fn.Call1x1(elem).(E)
	if !ok {
		return e, fmt.Errorf("%v did not return a %v", f.Fn.Fn.Name(), reflect.TypeFor[E]())
	}
	return e, nil
}
