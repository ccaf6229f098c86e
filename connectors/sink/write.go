package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// Write panics on a bad input, as Beam's constructors do.
func Write(s beam.Scope, id string, lines beam.PCollection) { WriteTo(s, To{ID: id}, lines) }

// To says where lines go: to the receiver with an id, or to a place.
type To struct {
	ID    string
	Place Place

	// Done is the absolute path of an empty file that is made when all lines are
	// written and none can come any more, that is, when their watermark is at its
	// end. Its folder has to be there when the job begins, and need not be there any
	// more then. It is for a runner that keeps a stream running whose sources have
	// ended, as Flink does. After a failure the file can be made again. None is made
	// where it is empty.
	Done string
}

// IsZero reports whether lines go nowhere.
func (t To) IsZero() bool { return t.ID == "" && t.Place.IsZero() }

// WriteTo is [Write] for workers in any process: each opens a place once. A runner
// that goes back to a checkpoint writes again what it had written since.
func WriteTo(s beam.Scope, to To, lines beam.PCollection) {
	s = s.Scope("sink.Write")
	switch {
	case !lines.IsValid():
		panic(errors.New("sink.Write: invalid lines, want a PCollection"))
	case lines.Type().Type() != reflect.TypeFor[[]byte]():
		panic(fmt.Errorf("sink.Write: lines = PCollection<%v>, want PCollection<[]byte>", lines.Type()))
	case lines.WindowingStrategy().Fn.Kind != window.GlobalWindows:
		panic(fmt.Errorf("sink.Write: lines in windows of %v, want them in the global window", lines.WindowingStrategy().Fn))
	}
	if to.Done != "" {
		if !filepath.IsAbs(to.Done) {
			panic(fmt.Errorf("sink.Write: Done = %q, want an absolute path: workers have folders of their own", to.Done))
		}
		lines = beam.Flatten(s, lines, beam.ParDo(s, &reachFn{Path: to.Done}, beam.Impulse(s)))
	}
	// There is no Reshuffle in front: it would hold all lines of a bundle in the
	// runner, several times over.
	written := beam.ParDo(s, &writeFn{ID: to.ID, Place: to.Place}, lines)

	// Prism keeps a core busy while it waits for a bundle of a stage that has
	// no outputs. An output counts if another stage takes it, even if nothing
	// ever comes.
	grouped := beam.GroupByKey(s, written)
	if to.Done != "" {
		// What is grouped in the global window comes out at its end. (Flink's runner
		// cannot have a Flatten behind writeFn, with a second source.)
		beam.ParDo0(s, &doneFn{Path: to.Done}, grouped)
	}
}

func init() {
	register.DoFn2x1[[]byte, func(int64, int64), error](&writeFn{})
	register.DoFn1x2[[]byte, []byte, error](&reachFn{})
	register.DoFn2x1[int64, func(*int64) bool, error](&doneFn{})
	register.Emitter2[int64, int64]()
	register.Iter1[int64]()
}

// reachFn makes a batch without lines, once, when the job begins. It fails where the
// folder of doneFn's file is not within reach: later it cannot be told from one that
// has gone, and whoever waits for the file would wait for ever.
type reachFn struct{ Path string }

func (f *reachFn) ProcessElement([]byte) ([]byte, error) {
	if _, err := os.Stat(folder(f.Path)); err != nil {
		return nil, fmt.Errorf("sink: the folder for word that all is written: %w", err)
	}
	return []byte{}, nil
}

// doneFn makes a file.
type doneFn struct{ Path string }

func (f *doneFn) ProcessElement(int64, func(*int64) bool) error {
	err := os.WriteFile(f.Path, nil, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // whoever wanted to know has gone
	}
	return err
}

// writeFn hands lines on. It emits something for a batch without lines only.
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

func (f *writeFn) ProcessElement(batch []byte, written func(int64, int64)) error {
	if len(batch) == 0 {
		written(0, 0)
		return nil
	}
	return f.to.AddBatch(batch)
}
