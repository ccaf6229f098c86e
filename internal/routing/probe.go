package routing

import (
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/portable"
	"tidemark/windowfns"
)

func init() {
	register.DoFn3x1[int64, []byte, Emit, error](&expandFn{})
	register.DoFn3x1[int64, []byte, Emit, error](&turnFn{})
}

// Lateness is monotone in the end of windows. So an element of many windows asks
// for the first of them only: in time for that one, it is in time for all. What is
// late there is cut into runs of windows, about as many as a run has windows. A
// run that is in time for its first window is in time as a whole, one that is late
// for its last one is late as a whole, and only the run in between asks for each
// of its windows.
//
// On the way from one gate to the next, an element holds the watermark below the
// deadline of none of the windows that are still to be judged, so that one that is
// late for its first window can be judged by a watermark that is higher by what it
// has moved meanwhile. So each run is judged by a watermark of its own, any of them
// can be the first that is late, and all carry the element. Where windows are few,
// copies go to all deadlines at once.

// narrowed are the outputs of [narrow].
type narrowed struct {
	onTime      []beam.PCollection
	corrections []beam.PCollection
	single      beam.PCollection // batches for the gates, a copy for each window
	late        []beam.PCollection
	verdicts    []beam.PCollection
}

func narrow(s beam.Scope, cfg Config, batches beam.PCollection) (out narrowed) {
	pass, rest, _ := gate(s.Scope("first"), forever, &splitFn{}, batches)
	out.onTime = append(out.onTime, pass)
	runs := beam.ParDo(s, &expandFn{Windows: cfg.Windows, Runs: true}, rest)

	var singles []beam.PCollection
	bracket := func(s beam.Scope, delayMs int64, last bool, runs beam.PCollection) (pass, past beam.PCollection) {
		pass, rest, verdict := gate(s.Scope("run_first"), forever, &splitFn{PassDelayMs: delayMs, RestDelayMs: delayMs, Final: true, Many: true, Windows: cfg.Windows}, runs)
		ends := beam.ParDo(s, &turnFn{Windows: cfg.Windows, DelayMs: delayMs}, rest)
		single, past, late := gate(s.Scope("run_last"), forever, &splitFn{PassDelayMs: delayMs, Last: last, Windows: cfg.Windows}, ends)
		out.verdicts = append(out.verdicts, verdict, late)
		singles = append(singles, beam.ParDo(s, &expandFn{Windows: cfg.Windows}, single))
		return pass, past
	}
	last := cfg.LatenessMs == 0
	pass, past := bracket(s.Scope("on_time"), 0, last, runs)
	out.onTime = append(out.onTime, pass)
	if !last {
		sc := s.Scope("within_lateness")
		pass, past = bracket(sc, cfg.LatenessMs, true, beam.ParDo(sc, &turnFn{Windows: cfg.Windows, DelayMs: cfg.LatenessMs}, past))
		out.corrections = append(out.corrections, pass)
	}
	out.late = append(out.late, past)
	out.single = flatten(s.Scope("single"), singles)
	return out
}

// expandFn cuts what an item stands for into runs, or into single windows.
type expandFn struct {
	Windows portable.Value
	Runs    bool

	grid windowfns.Grid
}

func (f *expandFn) Setup() (err error) {
	f.grid, err = portable.As[windowfns.Grid](f.Windows)
	return err
}

func (f *expandFn) ProcessElement(shard int64, packed []byte, emit Emit) error {
	batch, err := ReadBatch(packed)
	if err != nil {
		return err
	}
	var p Packer
	if !f.Runs {
		p = packerFor(batch.nonce)
	}
	var it Item
	for batch.Next(&it) {
		first, last := min(batch.Window.EndMs, it.OtherMs), max(batch.Window.EndMs, it.OtherMs)
		length := f.grid.StepMs()
		if f.Runs {
			it.Probes, it.Seq = it.Windows, p.NextSeq()
			length *= int64(math.Ceil(math.Sqrt(float64(it.Windows))))
		}
		full := false
		for ; first <= last; first += length {
			it.OtherMs = min(last, first+length-f.grid.StepMs())
			it.Run = it.OtherMs > first
			full = p.Add(shard, f.grid.EndingAt(first), &it) || full
			if !f.Runs {
				it.Raw = nil // the earliest of the windows that are judged together has it
			}
		}
		if full && f.Runs {
			p.Flush(0, emit)
		}
	}
	p.Flush(0, emit)
	return batch.Err()
}

// turnFn moves items from the one end of what they stand for to the other.
type turnFn struct {
	Windows portable.Value
	DelayMs int64

	grid windowfns.Grid
}

func (f *turnFn) Setup() (err error) {
	f.grid, err = portable.As[windowfns.Grid](f.Windows)
	return err
}

func (f *turnFn) ProcessElement(shard int64, packed []byte, emit Emit) error {
	batch, err := ReadBatch(packed)
	if err != nil {
		return err
	}
	p := packerFor(batch.nonce)
	var it Item
	for batch.Next(&it) {
		to := it.OtherMs
		it.OtherMs = batch.Window.EndMs
		p.Add(shard, f.grid.EndingAt(to), &it)
	}
	p.Flush(f.DelayMs, emit)
	return batch.Err()
}
