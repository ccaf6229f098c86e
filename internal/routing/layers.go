package routing

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Layers are coarse gates in front of the exact ones, for suspects only: for
// elements that are past their last deadline, end + L, by the watermark of their
// own source. The exact gates keep a cell for each (shard, window), and runners
// walk their cells again and again. A layer rounds deadlines up, so that many
// windows share a cell, and what is late by the rounded deadline is late by its
// own. The rest goes on to the next, finer layer:
//
//	deadline rounded up to    remembers
//	a day                     for ever
//	a minute                  a day and a slack
//	nothing: the exact gates  L, a minute and a slack
//
// Why nothing can be judged too harshly. In flight through a layer, an element
// holds the watermark below the rounded deadline only, and its own may go by. It
// is past its own by its source's word already, so that late is what it is by
// the rule; the runner's watermark can make it only less late than that. This is
// why unmarked elements must not come here.
//
// Why nothing is dropped, though the gates behind the first forget. What leaves
// a layer of grain g was found with the watermark below its deadline rounded up
// to g, and so less than g past its own. On its way to the next gate it holds the
// watermark where it is: an element that is not behind the watermark of a stage
// holds it at its own timestamp, and one that is behind keeps it from moving at
// all, because a runner's watermark of a stage is the minimum over what is on its
// way there and never goes back (Prism), or comes in line with the elements
// (Flink). So the next gate, whose deadline is at or after the element's own,
// meets it with the watermark less than g past that deadline, and remembers for g
// and more. The exact gates are reached less than a minute past end + L; the
// first of them judges by end, and remembers L longer for it. The slack is for
// what no one has thought of.
const (
	day    = 24 * time.Hour
	minute = time.Minute

	layerSlack = time.Minute
)

// layers takes parcels through the layers. It returns batches for the exact
// gates, what is late, and verdicts on elements of several windows.
func layers(s beam.Scope, cfg Config, parcels beam.PCollection) (batches beam.PCollection, late, verdicts []beam.PCollection) {
	days, late1, verdicts1 := gate(s.Scope("day"), forever,
		&layerFn{Routing: cfg, NextGrainMs: minute.Milliseconds()}, parcels)
	batches, late2, verdicts2 := gate(s.Scope("minute"), day+layerSlack,
		&layerFn{Routing: cfg}, days)
	return batches, []beam.PCollection{late1, late2}, []beam.PCollection{verdicts1, verdicts2}
}

func init() {
	register.DoFn6x1[beam.PaneInfo, int64, func(*[]byte) bool, Emit, Emit, Emit, error](&layerFn{})
}

// layerFn stands behind the GroupByKey of a layer. Parcels of a late pane become
// late records and verdicts; others are packed anew, by finer deadlines, or into
// single batches for the exact gates where there is no finer layer.
type layerFn struct {
	Routing     Config
	NextGrainMs int64 // of the next layer, 0 if there is none
}

func (f *layerFn) ProcessElement(pane beam.PaneInfo, _ int64, in func(*[]byte) bool, pass, record, verdict Emit) error {
	late := pane.Timing == typex.PaneLate
	var b []byte
	for in(&b) {
		var err error
		switch {
		case late:
			err = refuse(b, record, verdict)
		case f.NextGrainMs > 0:
			finer := parcels{}
			err = finer.regroup(b, f.Routing, f.NextGrainMs)
			finer.emit(pass)
		default:
			err = readParcel(b, func(shard int64, packed []byte) error {
				batch, err := ReadBatch(packed)
				pass(stampOf(batch.Window.EndMs, 0), shard, packed)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuse emits what is to be said of a parcel whose batches are all late.
func refuse(parcel []byte, record, verdict Emit) error {
	found := map[int64]*findings{} // by shard
	err := readParcel(parcel, func(shard int64, packed []byte) error {
		batch, err := ReadBatch(packed)
		if err != nil {
			return err
		}
		if found[shard] == nil {
			found[shard] = newFindings(nil)
		}
		return found[shard].judge(&batch, true)
	})
	for shard, f := range found {
		f.emit(shard, record, verdict)
	}
	return err
}
