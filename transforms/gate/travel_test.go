package gate

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// TestDoFnsTravel sends every DoFn the way that workers get it, as JSON, and
// sets it up there.
func TestDoFnsTravel(t *testing.T) {
	windows, err := portable.Of(windowfns.Calendar{Unit: windowfns.Day, Zone: "Asia/Kathmandu"})
	if err != nil {
		t.Fatal(err)
	}
	grid, err := portable.Of(windowfns.Sliding{Size: 3e9, Period: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	packer := packer{Intake: intake.Reader{
		Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Fn: windows, Shards: 3, Routing: routing.Config{LatenessMs: 5, Layered: true},
		MarksDecide: true,
	}}
	for _, fn := range []any{
		&packFn{packer: packer}, &packMarkedFn{packer: packer}, &packPlacedFn{packer: packer},
		&unpackFn{Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Late: true},
		&unpackFn{Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Windows: grid},
	} {
		doc, err := json.Marshal(fn)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(fn).Elem()).Interface()
		if err := json.Unmarshal(doc, back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fn, back) {
			t.Errorf("%+v came back as %+v", fn, back)
		}
		if s, ok := back.(interface{ Setup() error }); ok {
			if err := s.Setup(); err != nil {
				t.Errorf("%T: %v", back, err)
			}
		}
	}
}
