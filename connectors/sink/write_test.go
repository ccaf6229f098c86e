package sink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
)

func init() {
	register.DoFn2x0[int64, func(beam.EventTime, []byte)](&squaresFn{})
	register.Emitter2[beam.EventTime, []byte]()
	register.Function1x1(oneSquare)
}

// squares is the squares of 0 to 999 in batches, with their roots as the order.
func squares(s beam.Scope) beam.PCollection {
	var from []int64
	for i := range 20 {
		from = append(from, int64(i)*50)
	}
	return beam.ParDo(s, &squaresFn{Each: 50}, beam.CreateList(s, from))
}

// squaresFn packs the squares of numbers, as any DoFn that makes lines would.
type squaresFn struct {
	Each int64

	packer Packer
}

func (f *squaresFn) ProcessElement(from int64, emit func(beam.EventTime, []byte)) {
	for i := from; i < from+f.Each; i++ {
		f.packer.Add(fmt.Appendf(nil, "%04d", i), fmt.Appendf(nil, "%d", i*i))
		if f.packer.Len() > 200 {
			f.FinishBundle(emit)
		}
	}
}

func (f *squaresFn) FinishBundle(emit func(beam.EventTime, []byte)) {
	if f.packer.Len() > 0 {
		emit(0, f.packer.Bytes())
	}
	f.packer.Reset()
}

func oneSquare(n int64) []byte {
	var p Packer
	p.Add(fmt.Appendf(nil, "%04d", n), fmt.Appendf(nil, "%d", n*n))
	return p.Bytes()
}

func wantSquares() string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&b, i*i)
	}
	return b.String()
}

// TestWrite runs a pipeline into a spool, also into one that goes to disk.
func TestWrite(t *testing.T) {
	for _, memory := range []int{memoryBytes, 1000} {
		var sp *Spool
		streamtest.Run(t, func(s beam.Scope) {
			Forget("squares") // of an attempt that the runner has failed
			sp = NewSpool(t.TempDir(), true)
			sp.memory = memory
			Open("squares", sp)
			Write(s, "squares", squares(s))
		})
		Forget("squares")
		if spilled := len(sp.disk.levels) > 0; spilled != (memory == 1000) {
			t.Errorf("memory %d: went to disk: %v", memory, spilled)
		}
		var out bytes.Buffer
		must(t, Commit(parse(t, "-"), Layout{}, sp, &out))
		if out.String() != wantSquares() {
			t.Errorf("memory %d: wrote %d lines, want the squares of 0 to 999 in order", memory, sp.Lines())
		}
		must(t, sp.Close())
	}
}

// TestWriteSeveral writes two outputs, one of them flattened with itself.
func TestWriteSeveral(t *testing.T) {
	var one, two *Spool
	streamtest.Run(t, func(s beam.Scope) {
		Forget("one")
		Forget("two")
		one, two = NewSpool(t.TempDir(), true), NewSpool(t.TempDir(), true)
		Open("one", one)
		Open("two", two)
		col := beam.ParDo(s, oneSquare, beam.CreateList(s, []int64{3, 1, 2}))
		Write(s, "one", col)
		Write(s, "two", beam.Flatten(s, col, col))
	})
	Forget("one")
	Forget("two")
	if got := release(t, one); got != "1\n4\n9\n" {
		t.Errorf("one: %q", got)
	}
	if got := release(t, two); got != "1\n1\n4\n4\n9\n9\n" {
		t.Errorf("two: %q", got)
	}
}

func TestWriteNothing(t *testing.T) {
	sp := NewSpool(t.TempDir(), true)
	Open("nothing", sp)
	defer Forget("nothing")
	streamtest.Run(t, func(s beam.Scope) {
		Write(s, "nothing", beam.ParDo(s, oneSquare, beam.CreateList(s, []int64{})))
	})
	if got := release(t, sp); got != "" {
		t.Errorf("released %q", got)
	}
}

// TestWriteFails covers what fails a pipeline: an id that nobody has opened, a
// batch of another make, a spool that is broken.
func TestWriteFails(t *testing.T) {
	closed := NewSpool(t.TempDir(), true)
	must(t, closed.Close())
	Open("closed", closed)
	defer Forget("closed")
	Open("fine", NewSpool(t.TempDir(), true))
	defer Forget("fine")
	for _, tc := range []struct{ id, batch, want string }{
		{"unheard of", "", `no output "unheard of" in this process, want a worker in the process that submits the pipeline`},
		{"fine", "\x01", "malformed batch"},
		{"closed", "\x00\x00", "the spool is closed"},
	} {
		_, err := streamtest.TryRun(func(s beam.Scope) { Write(s, tc.id, beam.Create(s, []byte(tc.batch))) })
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.id, err, tc.want)
		}
	}
}

func TestWritePanics(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	for want, f := range map[string]func(){
		"sink.Write: lines = PCollection<string>, want": func() { Write(s, "x", beam.Create(s, "text")) },
		"sink.Write: invalid lines, want":               func() { Write(s, "x", beam.PCollection{}) },
		"sink.Write: lines in windows of FIX[1s], want": func() {
			Write(s, "x", beam.WindowInto(s, window.NewFixedWindows(time.Second), beam.Create(s, []byte("a"))))
		},
		`sink.Open: id "twice" is open already`: func() { defer Forget("twice"); Open("twice", nil); Open("twice", nil) },
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("panic with %v, want %s", err, want)
				}
			}()
			f()
		}()
	}
}

// Prism would wait actively for a step that has no output which another step
// takes; see Write.
func TestWriteHasConsumer(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	Write(s, "x", beam.Create(s, []byte("a")))
	edges, _, err := p.Build()
	must(t, err)
	last := edges[len(edges)-1]
	if last.Op != graph.CoGBK || fmt.Sprint(last.Input[0].From.Type()) != "KV<int64,int64>" {
		t.Errorf("the last step is %v, want a GroupByKey of KV<int64,int64>", last)
	}
	for _, e := range edges {
		if e.Op == graph.ParDo && len(e.Output) == 0 {
			t.Errorf("%v has no output", e)
		}
	}
}

// What a worker gets of a DoFn is its JSON.
func TestWriteFnTravels(t *testing.T) {
	doc, err := json.Marshal(&writeFn{ID: "a\x00b", to: &Spool{}})
	must(t, err)
	var got writeFn
	must(t, json.Unmarshal(doc, &got))
	if got != (writeFn{ID: "a\x00b"}) {
		t.Errorf("got %+v from %s", got, doc)
	}
}
