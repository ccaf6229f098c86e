package streamtest

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Element is an element of a PCollection and what Beam knows about it.
type Element[T any] struct {
	Value  T
	TimeMs int64 // the timestamp

	// The window is [StartMs, EndMs). In the global window, Global is set and
	// both are 0.
	StartMs int64
	EndMs   int64
	Global  bool

	Pane beam.PaneInfo
}

// KV is an element of a PCollection<KV<K, V>>: read those with
// Values[KV[K, V]] or Elements[KV[K, V]].
type KV[K, V any] struct {
	Key   K
	Value V
}

// decoder is how a *KV is told from other types.
type decoder interface {
	decode(c *Captured, parts [][]byte)
}

func (kv *KV[K, V]) decode(c *Captured, parts [][]byte) {
	want(c, reflect.TypeFor[K](), reflect.TypeFor[V]())
	kv.Key = decodeAs[K](parts[0])
	kv.Value = decodeAs[V](parts[1])
}

// Values returns the elements that were captured, in the order in which they
// arrived, which is up to the runner where steps of a [Timeline] do not settle
// it. It panics if T is not their type; for KVs, T is [KV].
func Values[T any](c *Captured) []T {
	elems := Elements[T](c)
	values := make([]T, len(elems))
	for i, e := range elems {
		values[i] = e.Value
	}
	return values
}

// Elements is [Values] with timestamps, windows and panes.
func Elements[T any](c *Captured) []Element[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	elems := make([]Element[T], len(c.elems))
	for i, e := range c.elems {
		elems[i] = Element[T]{
			TimeMs: e.at.TimeMs, StartMs: e.at.StartMs, EndMs: e.at.EndMs, Global: e.at.Global, Pane: e.at.Pane,
		}
		if kv, ok := any(&elems[i].Value).(decoder); ok {
			kv.decode(c, e.parts)
			continue
		}
		want(c, reflect.TypeFor[T]())
		elems[i].Value = decodeAs[T](e.parts[0])
	}
	return elems
}

// want panics if the types of c are not these.
func want(c *Captured, types ...reflect.Type) {
	if len(types) != len(c.types) || types[0] != c.types[0] || types[len(types)-1] != c.types[len(types)-1] {
		panic(fmt.Errorf("streamtest: captured elements of type %v, want %v", c.types, types))
	}
}

func decodeAs[T any](raw []byte) T {
	v, err := beam.NewElementDecoder(reflect.TypeFor[T]()).Decode(bytes.NewReader(raw))
	if err != nil {
		panic(fmt.Errorf("streamtest: decoding a captured element: %w", err))
	}
	return v.(T)
}
