package routing

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

func init() {
	register.DoFn3x1[int64, []byte, Emit, error](&expandFn{})
}

// Lateness is monotone in the end of windows, so that an element that is in time
// for the first of its windows is in time for all of them. A probe asks for the
// first one only; what is late there goes on to the gates with a copy for each
// window.
//
// On the way from the probe to the gates the element holds the watermark below
// the deadline of none of its windows, so that one that is late for the first can
// be judged by a watermark that is higher by what it has moved meanwhile. Where
// windows are few, copies go to all deadlines at once.
func probe(s beam.Scope, cfg Config, batches beam.PCollection) (pass, rest beam.PCollection) {
	pass, late, _ := gate(s, forever, &splitFn{}, batches)
	return pass, beam.ParDo(s, &expandFn{Windows: cfg.Windows}, late)
}

// expandFn makes a copy for each of the windows that an item stands for.
type expandFn struct {
	Windows portable.Value

	grid   windowfns.Grid
	packer Packer
}

func (f *expandFn) Setup() (err error) {
	f.grid, err = portable.As[windowfns.Grid](f.Windows)
	return err
}

func (f *expandFn) StartBundle(Emit) { f.packer = Packer{} }

func (f *expandFn) ProcessElement(shard int64, packed []byte, emit Emit) error {
	batch, err := ReadBatch(packed)
	if err != nil {
		return err
	}
	var it Item
	for batch.Next(&it) {
		raw, last := it.Raw, it.LastMs
		it.Run, it.Probes = false, it.Windows
		it.Seq = f.packer.NextSeq()
		full := false
		for end := batch.Window.EndMs; end <= last; end += f.grid.StepMs() {
			full = f.packer.Add(shard, f.grid.EndingAt(end), &it) || full
			it.Raw = nil // the earliest copy has it
		}
		it.Raw = raw
		if full {
			f.packer.Flush(0, emit)
		}
	}
	return batch.Err()
}

func (f *expandFn) FinishBundle(emit Emit) { f.packer.Flush(0, emit) }
