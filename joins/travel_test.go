package joins

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/routing"
	"tidemark/joins/interval"
)

func init() { register.Function3x1(travelRow) }

func travelRow(k string, _ *int64, _ *bool) string { return k }

// TestDoFnsTravel sends every DoFn the way that workers get it, as JSON, and sets it
// up there.
func TestDoFnsTravel(t *testing.T) {
	types := elementTypes{
		Key:  beam.EncodedType{T: reflect.TypeFor[string]()},
		Left: beam.EncodedType{T: reflect.TypeFor[int64]()}, Right: beam.EncodedType{T: reflect.TypeFor[bool]()},
	}
	join := newJoinFn(types, beam.EncodedFunc{Fn: reflectx.MakeFunc(travelRow)},
		Config{Type: LeftAnti, AllowedLateness: 3 * time.Second, MaxRowsPerKey: 7}, interval.Interval{LowerMs: -5, UpperMs: 6})
	for _, fn := range []any{
		&packFn{Side: 1, Types: types, Shards: 3, Routing: routing.Config{LatenessMs: 5, Layered: true}, Marked: true, MarksDecide: true},
		&unpackFn{DelayMs: 9},
		&recordsFn{Types: types, Late: true},
		join,
	} {
		doc, err := json.Marshal(fn)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(fn).Elem()).Interface()
		if err := json.Unmarshal(doc, back); err != nil {
			t.Fatal(err)
		}
		if j, ok := back.(*joinFn); ok {
			if j.Fn.Fn.Name() != join.Fn.Fn.Name() {
				t.Errorf("the function came back as %s", j.Fn.Fn.Name())
			}
			j.Fn = join.Fn // functions cannot be compared
		}
		if !reflect.DeepEqual(fn, back) {
			t.Errorf("%+v came back as %+v", fn, back)
		}
		switch s := back.(type) {
		case interface{ Setup() error }:
			if err := s.Setup(); err != nil {
				t.Errorf("%T: %v", back, err)
			}
		case interface{ Setup() }:
			s.Setup()
		default:
			t.Errorf("%T is not set up", back)
		}
	}
}
