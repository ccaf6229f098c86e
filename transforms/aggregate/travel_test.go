package aggregate

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
	agg, err := portable.Of(tally64{Name: "travelling"})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := portable.Of(windowfns.Sliding{Size: 3e9, Period: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	packer := packer{Agg: agg, Counted: true, Intake: intake.Reader{
		Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Fn: windows, Shards: 3, Routing: routing.Config{LatenessMs: 5, Layered: true},
	}}
	for _, fn := range []interface{ Setup() error }{
		&packFn{packer: packer}, &packMarkedFn{packer: packer}, &packPlacedFn{packer: packer},
		&foldInFn{Agg: agg, Kind: blockCorrection, DelayMs: 7, Counted: true},
		newFoldFn(agg, 9, true),
		&lateCountFn{Agg: agg},
	} {
		doc, err := json.Marshal(fn)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(fn).Elem()).Interface().(interface{ Setup() error })
		if err := json.Unmarshal(doc, back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fn, back) {
			t.Errorf("%+v came back as %+v", fn, back)
		}
		if err := back.Setup(); err != nil {
			t.Errorf("%T: %v", back, err)
		}
	}
	if err := (&foldFn{}).Setup(); err == nil {
		t.Error("a fold without an aggregator is set up")
	}
}
