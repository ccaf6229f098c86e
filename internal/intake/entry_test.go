package intake

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

type length struct{ Bytes int }

func init() { register.Function1x1(lengthOf) }

func lengthOf(s string) length { return length{len(s)} }

func generic[T any](T) length { return length{} }

type wordCounter struct{}

func (wordCounter) of(string) length { return length{} }

// TestEntryFuncTravels sends a function the way that workers get it.
func TestEntryFuncTravels(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	f, err := EntryFuncOf[length](s, false, beam.Create(s, "element"), "lengthOf", lengthOf)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back EntryFunc[length]
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := back.Entry("four"); err != nil || got.Bytes != 4 {
			t.Errorf("Entry = %v, %v, want 4 bytes", got, err)
		}
	}
	other := EntryFunc[int]{Fn: f.Fn}
	if _, err := other.Entry("four"); err == nil || !strings.HasSuffix(err.Error(), "lengthOf did not return a int") {
		t.Errorf("%v, want an error on the type", err)
	}
}

// Functions that workers could not find are refused, whatever their type.
func TestEntryFuncErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	col := beam.Create(s, "element")
	n := 3
	for _, c := range []struct {
		fn   any
		want string
	}{
		{nil, "f = <nil>, want func(string) intake.length"},
		{7, "f = int, want func(string) intake.length"},
		{strings.ToUpper, "f = func(string) string, want func(string) intake.length"},
		{(func(string) length)(nil), "f = nil, want a function"},
		{func(string) length { return length{n} }, "want a named function at package level"},
		{wordCounter{}.of, "want a named function at package level"},
		{generic[string], "want a named function at package level"},
	} {
		if _, err := EntryFuncOf[length](s, false, col, "f", c.fn); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want an error with %s", c.fn, err, c.want)
		}
	}
}
