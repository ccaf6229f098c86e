package intake

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func reader(t interface{ Fatal(...any) }, fn windowfns.Fn) *Reader {
	shipped, err := portable.Of(fn)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{Type: beam.EncodedType{T: reflect.TypeFor[string]()}, Fn: shipped, Shards: 4}
	if err := r.Setup(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRegrouper hands elements out once for each of their windows, as Beam does,
// twins among them. They come back whole, each once.
func TestRegrouper(t *testing.T) {
	sliding := windowfns.Sliding{Size: duration(30), Period: duration(10)}
	r := reader(t, sliding)
	elements := rapid.Custom(func(t *rapid.T) Element {
		at := rapid.Int64Range(-3, 3).Draw(t, "time")
		return Element{
			TimeMs: at, MarkMs: rapid.Int64Range(0, 1).Draw(t, "mark"),
			Elem: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "elem"), Windows: sliding.AppendWindows(nil, at),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(elements, 0, 8).Draw(t, "elements")
		var g Regrouper
		var got []Element
		keep := func(e *Element) {
			if e != nil {
				c := *e
				c.Windows = slices.Clone(e.Windows)
				got = append(got, c)
			}
		}
		for _, e := range want {
			for _, w := range rapid.Permutation(e.Windows).Draw(t, "order") {
				done, err := g.Add(r, e.TimeMs, Origin{w.StartMs, w.EndMs, e.MarkMs}, e.Elem)
				if err != nil {
					t.Fatal(err)
				}
				keep(done)
			}
		}
		keep(g.Flush())
		keep(g.Flush())
		if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// An element whose windows were torn apart becomes several with fewer windows,
// which have as many windows together.
func TestRegrouperOfTornElements(t *testing.T) {
	r := reader(t, windowfns.Tumbling{Size: 1e6})
	var g Regrouper
	var pairs int
	count := func(e *Element, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if e != nil {
			pairs += len(e.Windows)
		}
	}
	for _, elem := range []string{"a", "b", "a", "a", "b"} {
		count(g.Add(r, 5, Origin{StartMs: int64(pairs), EndMs: 100}, elem))
	}
	count(g.Flush(), nil)
	if pairs != 5 {
		t.Errorf("%d windows, want 5", pairs)
	}
}

func TestRegrouperEncodingError(t *testing.T) {
	defer func() { _ = recover() }() // encoders may panic on a wrong type, too
	var g Regrouper
	if _, err := g.Add(reader(t, windowfns.Tumbling{Size: 1e6}), 5, Origin{}, 17); err == nil {
		t.Error("an int is encoded as a string")
	}
}

// badFn gives windows as told.
type badFn struct{ Windows []windowfns.Window }

func init() { beam.RegisterType(reflect.TypeFor[badFn]()) }

func (f badFn) AppendWindows(dst []windowfns.Window, _ int64) []windowfns.Window {
	return append(dst, f.Windows...)
}
func (f badFn) Validate() error { return nil }
func (f badFn) String() string  { return "bad" }

func TestReaderChecksWindows(t *testing.T) {
	for _, c := range []struct {
		windows []windowfns.Window
		want    string
	}{
		{nil, "bad gives no window to the time 5 ms, want at least one"},
		{[]windowfns.Window{{StartMs: 6, EndMs: 9}}, "bad gives the window {6 9} to the time 5 ms, want windows around it"},
		{[]windowfns.Window{{StartMs: 0, EndMs: 5}}, "want windows around it"},
		{[]windowfns.Window{{StartMs: 0, EndMs: 9}, {StartMs: 0, EndMs: 8}}, "want distinct windows by ascending end"},
		{[]windowfns.Window{{StartMs: 0, EndMs: 9}, {StartMs: 0, EndMs: 9}}, "want distinct windows by ascending end"},
		{[]windowfns.Window{{StartMs: MinTimeMs - 2*maxSpanMs, EndMs: 9}}, "no more than 100 years past the accepted times"},
		{[]windowfns.Window{{StartMs: 0, EndMs: 9}, {StartMs: 1, EndMs: 9}}, ""},
	} {
		got, err := reader(t, badFn{c.windows}).Windows(5)
		switch {
		case c.want == "":
			if diff := cmp.Diff(c.windows, got); err != nil || diff != "" {
				t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%v: %v, want %s", c.windows, err, c.want)
		}
	}
}

// TestGate packs the doubtful windows of an element: one copy each, the first
// with the element itself, and all under one number.
func TestGate(t *testing.T) {
	r := reader(t, windowfns.Tumbling{Size: 1e6})
	windows := []windowfns.Window{{StartMs: 0, EndMs: 30}, {StartMs: 10, EndMs: 40}}
	var p routing.Packer
	for range 2 {
		r.Gate(&p, 3, windows, routing.Item{TimeMs: 25, Windows: 3, Body: []byte("body"), Raw: []byte("raw")})
	}
	seqs := map[uint64]int{}
	p.Flush(0, func(_ beam.EventTime, _ int64, b []byte) {
		batch, err := routing.ReadBatch(b)
		if err != nil {
			t.Fatal(err)
		}
		for it := (routing.Item{}); batch.Next(&it); {
			seqs[it.Seq]++
			if it.Probes != 2 || it.Windows != 3 || (it.Raw != nil) != (batch.Window == windows[0]) {
				t.Errorf("%+v in %v", it, batch.Window)
			}
		}
	})
	if len(seqs) != 2 {
		t.Errorf("numbers %v, want one for each element", seqs)
	}
	if r.Gate(&p, 3, nil, routing.Item{Windows: 3}) {
		t.Error("full with nothing")
	}
}

// TestDoFnsTravel sends every DoFn the way that workers get it: as JSON.
func TestDoFnsTravel(t *testing.T) {
	for _, fn := range []any{
		&placeFn{Sliding: true}, &placeMarkedFn{Sliding: true},
		&lateFn{Type: beam.EncodedType{T: reflect.TypeFor[Missed]()}},
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
	}
}
