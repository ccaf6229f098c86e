package sink

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// A Receiver takes the lines of an output as the pipeline makes them: a [Spool],
// an [Appender]. Batches come concurrently.
type Receiver interface {
	AddBatch(Batch) error
}

// receivers holds the open receivers of this process by id: a DoFn is shipped as
// JSON and cannot point to one.
var receivers sync.Map // string to Receiver

// Open makes [Write] hand what it gets under id to r. It panics if the id is in
// use.
func Open(id string, r Receiver) {
	if _, taken := receivers.LoadOrStore(id, r); taken {
		panic(fmt.Errorf("sink.Open: id %q is open already", id))
	}
}

// Forget ends what [Open] has begun. It does not close the receiver.
func Forget(id string) { receivers.Delete(id) }

// Write hands the lines of batches to the receiver that is open under id in the
// worker's process, and fails the pipeline if there is none.
//
// Input: PCollection<[]byte> in the global window, each element a batch made by
// a [Packer]. Timestamps have no effect.
//
// Written is PCollection<KV<int64, int64>> and has no elements; where its watermark
// is, everything is written (see [Done]).
//
// Write panics on a bad input, as Beam's constructors do.
func Write(s beam.Scope, id string, lines beam.PCollection) (written beam.PCollection) {
	return write(s, &writeFn{ID: id}, lines)
}

// WriteTo is [Write] for workers in any process: each opens place once. A runner
// that goes back to a checkpoint writes again what it had written since.
func WriteTo(s beam.Scope, place Place, lines beam.PCollection) (written beam.PCollection) {
	return write(s, &writeFn{Place: place}, lines)
}

func write(s beam.Scope, fn *writeFn, lines beam.PCollection) beam.PCollection {
	s = s.Scope("sink.Write")
	switch {
	case !lines.IsValid():
		panic(errors.New("sink.Write: invalid lines, want a PCollection"))
	case lines.Type().Type() != reflect.TypeFor[[]byte]():
		panic(fmt.Errorf("sink.Write: lines = PCollection<%v>, want PCollection<[]byte>", lines.Type()))
	case lines.WindowingStrategy().Fn.Kind != window.GlobalWindows:
		panic(fmt.Errorf("sink.Write: lines in windows of %v, want them in the global window", lines.WindowingStrategy().Fn))
	}
	// There is no Reshuffle in front: it would hold all lines of a bundle in the
	// runner, several times over.
	nothing := beam.ParDo(s, fn, lines)

	// Prism keeps a core busy while it waits for a bundle of a stage that has
	// no outputs. An output counts if another stage takes it, even if nothing
	// ever comes.
	beam.GroupByKey(s, nothing)
	return nothing
}

func init() {
	register.DoFn2x1[[]byte, func(int64, int64), error](&writeFn{})
	register.Emitter2[int64, int64]()
}

// writeFn hands lines on and emits nothing.
type writeFn struct {
	ID    string // of a receiver in this process
	Place Place  // or where to open one

	to Receiver
}

func (f *writeFn) StartBundle(func(int64, int64)) (err error) {
	if !f.Place.IsZero() {
		f.to, err = f.Place.open()
		return err
	}
	to, ok := receivers.Load(f.ID)
	if !ok {
		return fmt.Errorf("sink.Write: no output %q in this process, want a worker in the process that submits the pipeline: "+
			"use Prism, or --environment_type=LOOPBACK", f.ID)
	}
	f.to = to.(Receiver)
	return nil
}

func (f *writeFn) ProcessElement(batch []byte, _ func(int64, int64)) error {
	return f.to.AddBatch(batch)
}
