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
	days, err := portable.Of(windowfns.Calendar{Unit: windowfns.Day})
	if err != nil {
		t.Fatal(err)
	}
	unset := &packFn{packer{Agg: agg}}
	packer := packer{Agg: agg, Counted: true, Intake: intake.Reader{
		Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Fn: windows, Shards: 3, Routing: routing.Config{LatenessMs: 5, Layered: true, Probe: true, Windows: windows},
		MarksDecide: true,
	}}
	for _, fn := range []interface{ Setup() error }{
		&packFn{packer: packer}, &packMarkedFn{packer: packer}, &packPlacedFn{packer: packer},
		&foldInFn{Agg: agg, Windows: windows, Kind: blockCorrection, DelayMs: 7},
		newFoldFn(agg, intake.Plan{Windows: windows, Routing: routing.Config{LatenessMs: 9}}, Config{EarlyCount: 3, FinalRows: true}, true),
		newFoldFn(agg, intake.Plan{Windows: days}, Config{EarlyDelay: 5e6}, false),
		&lateCountFn{Agg: agg, Windows: windows},
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
	for _, fn := range []interface{ Setup() error }{
		&foldFn{}, &foldFn{Agg: agg}, &foldInFn{}, &foldInFn{Agg: agg}, &lateCountFn{}, &lateCountFn{Agg: agg}, &packFn{}, unset,
	} {
		if err := fn.Setup(); err == nil {
			t.Errorf("%T is set up without its aggregator or its windows: %+v", fn, fn)
		}
	}
}
