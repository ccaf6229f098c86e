// Package portable ships values behind an interface to workers. Beam turns a
// DoFn into JSON and back, which loses the dynamic type of an interface field;
// a [Value] keeps it.
package portable

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Value is a value together with its type. The zero Value holds nothing.
type Value struct {
	Type beam.EncodedType
	JSON []byte
}

// wire is the JSON form of a Value that holds something.
type wire struct {
	Type beam.EncodedType
	JSON []byte
}

// MarshalJSON encodes w; the zero Value, which Beam's type codec cannot take, is
// null.
func (w Value) MarshalJSON() ([]byte, error) {
	if w.Type.T == nil {
		return []byte("null"), nil
	}
	return json.Marshal(wire(w))
}

// UnmarshalJSON undoes MarshalJSON.
func (w *Value) UnmarshalJSON(doc []byte) error {
	if string(doc) == "null" {
		*w = Value{}
		return nil
	}
	return json.Unmarshal(doc, (*wire)(w))
}

// Of wraps v, which must be a struct (or a pointer to one) of a type registered
// with beam.RegisterType, whose exported fields say all there is to say. An
// error tells what is missing: a worker in another process could not rebuild v.
func Of(v any) (Value, error) {
	t := reflect.TypeOf(v)
	if t == nil {
		return Value{}, fmt.Errorf("nil, want a value")
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return Value{}, fmt.Errorf("a nil %v, want a value", t)
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return Value{}, fmt.Errorf("%v cannot be shipped to workers: %w", t, err)
	}
	w := Value{Type: beam.EncodedType{T: t}, JSON: doc}

	// Rehearse the journey: the type of an unregistered struct comes back
	// without its name and methods.
	doc, err = json.Marshal(w)
	if err != nil {
		return Value{}, fmt.Errorf("%v cannot be shipped to workers: %w", t, err)
	}
	var back Value
	if err := json.Unmarshal(doc, &back); err != nil {
		return Value{}, fmt.Errorf("%v cannot be shipped to workers: %w", t, err)
	}
	if back.Type.T != t {
		return Value{}, fmt.Errorf("type %v is not known to workers, want beam.RegisterType(reflect.TypeFor[%v]()) in an init function", t, t)
	}
	if f, ok := hidden(reflect.ValueOf(v)); ok {
		return Value{}, fmt.Errorf("field %s of %v would be lost on the way to workers, want exported fields only", f, t)
	}
	got, err := back.Get()
	if err != nil {
		return Value{}, err
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(w.JSON) {
		return Value{}, fmt.Errorf("%v does not survive a JSON round trip: %s became %s", t, w.JSON, again)
	}
	return w, nil
}

// hidden names a set field that JSON would leave out, of v or of what is in it.
// Types that encode themselves are taken at their word.
func hidden(v reflect.Value) (string, bool) {
	if v.IsValid() && v.CanInterface() {
		if _, ok := v.Interface().(json.Marshaler); ok {
			return "", false
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return hidden(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if f, ok := hidden(v.Index(i)); ok {
				return f, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			lost := !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-"
			if lost && !v.Field(i).IsZero() {
				return f.Name, true
			}
			if inner, ok := hidden(v.Field(i)); ok && !lost {
				return inner, true
			}
		}
	default:
	}
	return "", false
}

// Get returns a fresh copy of the wrapped value.
func (w Value) Get() (any, error) {
	if w.Type.T == nil {
		return nil, fmt.Errorf("portable: empty value")
	}
	p := reflect.New(w.Type.T)
	if err := json.Unmarshal(w.JSON, p.Interface()); err != nil {
		return nil, fmt.Errorf("portable: %v: %w", w.Type.T, err)
	}
	return p.Elem().Interface(), nil
}

// As returns the wrapped value as a T.
func As[T any](w Value) (T, error) {
	var zero T
	v, err := w.Get()
	if err != nil {
		return zero, err
	}
	t, ok := v.(T)
	if !ok {
		return zero, fmt.Errorf("portable: %v is not a %v", w.Type.T, reflect.TypeFor[T]())
	}
	return t, nil
}
