package aggregate

import (
	"bytes"
	"context"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"tidemark/internal/intake"
	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

// emitBlock sends a block to the cell of its key.
type emitBlock = func(beam.EventTime, string, []byte)

func init() {
	register.DoFn5x1[beam.EventTime, beam.X, emitBlock, routing.Emit, emitCount, error](&packFn{})
	register.DoFn6x1[beam.EventTime, int64, beam.X, emitBlock, routing.Emit, emitCount, error](&packMarkedFn{})
	register.DoFn6x1[beam.EventTime, intake.Origin, beam.X, emitBlock, routing.Emit, emitCount, error](&packPlacedFn{})
	register.Emitter3[beam.EventTime, string, []byte]()
}

// pack returns blocks of what is surely in time, KV<string cell, []byte>, batches
// for the gate or, where marks decide, late records, and, where counted is set,
// counts of what was assigned.
func pack(s beam.Scope, plan intake.Plan, agg portable.Value, counted, delayed bool) (direct, suspects, assigned beam.PCollection) {
	p := packer{Intake: intake.NewReader(plan), Agg: agg, Counted: counted, Delayed: delayed}
	switch plan.Form {
	case intake.Marked:
		return beam.ParDo3(s, &packMarkedFn{packer: p}, plan.Col)
	case intake.Placed:
		return beam.ParDo3(s, &packPlacedFn{packer: p}, plan.Col)
	default:
		return beam.ParDo3(s, &packFn{packer: p}, plan.Col)
	}
}

type packFn struct{ packer }

func (f *packFn) ProcessElement(et beam.EventTime, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	runs, err := f.runsOf(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, intake.Unmarked, runs, direct, suspects, count)
}

type packMarkedFn struct{ packer }

func (f *packMarkedFn) ProcessElement(et beam.EventTime, mark int64, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	if err := intake.CheckMark(mark); err != nil {
		return err
	}
	runs, err := f.runsOf(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, mark, runs, direct, suspects, count)
}

// packPlacedFn takes an element once for each of its windows, as Beam hands
// them out, and puts them together again.
type packPlacedFn struct {
	packer
	whole intake.Regrouper
}

func (f *packPlacedFn) ProcessElement(et beam.EventTime, o intake.Origin, v beam.X, direct emitBlock, suspects routing.Emit, count emitCount) error {
	done, err := f.whole.Add(&f.Intake, int64(et), o, v)
	if err != nil || done == nil {
		return err
	}
	return f.add(done.TimeMs, done.Elem, done.MarkMs, f.together(done.Windows), direct, suspects, count)
}

func (f *packPlacedFn) StartBundle(direct emitBlock, suspects routing.Emit, count emitCount) {
	f.whole = intake.Regrouper{}
	f.packer.StartBundle(direct, suspects, count)
}

func (f *packPlacedFn) FinishBundle(ctx context.Context, direct emitBlock, suspects routing.Emit, count emitCount) error {
	if e := f.whole.Flush(); e != nil {
		if err := f.add(e.TimeMs, e.Elem, e.MarkMs, f.together(e.Windows), direct, suspects, count); err != nil {
			return err
		}
	}
	return f.packer.FinishBundle(ctx, direct, suspects, count)
}

// packer aggregates and packs the elements of a bundle.
type packer struct {
	Intake  intake.Reader
	Agg     portable.Value
	Counted bool
	Delayed bool // EARLY rows are asked for by delay

	agg      Aggregator
	layout   layout
	key, acc []byte
	body     []byte
	raw      bytes.Buffer
	runs     []run
	doubtful []run
	windows  []windowfns.Window
	gated    routing.Packer
	late     intake.LateRecords // instead, where marks decide
	messages messages
	mark     int64 // the lowest in the bundle
	assigned int64
	counts   counter
}

// flushBytes is how much a packer aggregates before it flushes, so that a
// bundle as large as a file does not grow with it.
const flushBytes = 32 << 20

func (p *packer) Setup() (err error) {
	if p.agg, err = portable.As[Aggregator](p.Agg); err != nil {
		return err
	}
	if p.layout, err = shippedLayout(p.Intake.Fn); err != nil {
		return err
	}
	p.messages = p.layout.newMessages(p.Delayed)
	return p.Intake.Setup()
}

func (p *packer) StartBundle(emitBlock, routing.Emit, emitCount) {
	p.messages.reset()
	p.gated, p.late = routing.Packer{}, intake.LateRecords{}
	p.assigned, p.mark = 0, math.MaxInt64
	if p.Counted {
		p.counts = newCounter(p.agg, p.layout)
	}
}

func (p *packer) FinishBundle(ctx context.Context, direct emitBlock, suspects routing.Emit, count emitCount) error {
	p.flush(direct)
	p.Intake.FlushSuspects(&p.gated, suspects)
	p.late.Flush(suspects)
	p.Intake.Tally.Inc(ctx, tally.Assigned, p.assigned)
	return p.counts.flush(count)
}

// runsOf are the windows of an element with timestamp tMs, in runs by ascending
// end. They are valid until the next call.
func (p *packer) runsOf(tMs int64) ([]run, error) {
	p.runs = p.runs[:0]
	if p.layout.grid != nil {
		first, last, err := p.Intake.Ends(p.layout.grid, tMs)
		p.runs = append(p.runs, run{0, first, last})
		return p.runs, err
	}
	windows, err := p.Intake.Windows(tMs)
	for _, w := range windows {
		p.runs = append(p.runs, runOf(w))
	}
	return p.runs, err
}

// together are windows in as few runs as they make.
func (p *packer) together(windows []windowfns.Window) []run {
	p.runs = p.runs[:0]
	for _, w := range windows {
		n := len(p.runs) - 1
		switch {
		case p.layout.grid == nil:
			p.runs = append(p.runs, runOf(w))
		case n >= 0 && p.runs[n].lastMs+p.layout.stepMs == w.EndMs:
			p.runs[n].lastMs = w.EndMs
		default:
			p.runs = append(p.runs, run{0, w.EndMs, w.EndMs})
		}
	}
	return p.runs
}

// size is how many windows r has.
func (l layout) size(r run) int64 { return (r.lastMs-r.firstMs)/l.stepMs + 1 }

// window is that of r which ends at endMs.
func (l layout) window(r run, endMs int64) windowfns.Window {
	if l.grid == nil {
		return windowfns.Window{StartMs: r.startMs, EndMs: endMs}
	}
	return l.grid.EndingAt(endMs)
}

// after cuts r behind the windows whose end plus delayMs a watermark has reached,
// and returns the end of the first one that is left.
func (l layout) after(r run, delayMs, watermark int64) int64 {
	switch {
	case watermark < r.firstMs+delayMs:
		return r.firstMs
	case watermark >= r.lastMs+delayMs:
		return r.lastMs + l.stepMs
	default:
		return r.firstMs + ((watermark-r.firstMs-delayMs)/l.stepMs+1)*l.stepMs
	}
}

// add adds an element, which has the windows of runs.
func (p *packer) add(tMs int64, v any, mark int64, runs []run, direct emitBlock, suspects routing.Emit, count emitCount) (err error) {
	if p.key, p.acc, err = p.agg.Lift(v, tMs, p.key[:0], p.acc[:0]); err != nil {
		return err
	}
	shard := int64(xxhash.Sum64(p.key) % uint64(p.Intake.Shards))
	p.mark = min(p.mark, mark)
	windows := int64(0)
	p.doubtful = p.doubtful[:0]
	for _, r := range runs {
		windows += p.layout.size(r)
		if p.counts.on() {
			if err := p.counts.add(KindAssigned, r, p.key, p.acc, 1); err != nil {
				return err
			}
		}
		// By the mark, the windows from open on are in time, and those from closing
		// on are corrected; the others are doubtful.
		open, closing := p.layout.after(r, 0, mark), p.layout.after(r, p.Intake.Routing.LatenessMs, mark)
		if open <= r.lastMs {
			err = p.aggregate(blockOnTime, shard, run{r.startMs, open, r.lastMs})
		}
		if closing < open && err == nil {
			err = p.aggregate(blockCorrection, shard, run{r.startMs, closing, min(r.lastMs, open-p.layout.stepMs)})
		}
		if err != nil {
			return err
		}
		if closing > r.firstMs {
			p.doubtful = append(p.doubtful, run{r.startMs, r.firstMs, min(r.lastMs, closing-p.layout.stepMs)})
		}
	}
	p.assigned += windows
	if err := p.counts.flushIfFull(count); err != nil {
		return err
	}
	if p.messages.size >= flushBytes {
		p.flush(direct)
	}
	if len(p.doubtful) == 0 {
		return nil
	}

	p.raw.Reset()
	if err := p.Intake.Encode(v, &p.raw); err != nil {
		return err
	}
	if p.Intake.MarksDecide {
		missed := p.missed()
		if p.late.Add(&routing.LateRecord{TimeMs: tMs, Missed: missed, All: int64(len(missed)) == windows, Raw: p.raw.Bytes()}) {
			p.late.Flush(suspects)
		}
		return nil
	}
	p.body = append(routing.AppendPrefixed(p.body[:0], p.key), p.acc...)
	if p.gate(shard, routing.Item{TimeMs: tMs, Windows: int(windows), Body: p.body, Raw: p.raw.Bytes()}) {
		p.Intake.FlushSuspects(&p.gated, suspects)
	}
	return nil
}

// gate gets an element ready for the gate of its doubtful windows, and reports
// whether it is time to send what there is.
func (p *packer) gate(shard int64, it routing.Item) (full bool) {
	if p.Intake.Routing.Probe {
		for _, r := range p.doubtful {
			full = p.Intake.GateRun(&p.gated, shard, p.layout.window(r, r.firstMs), int(p.layout.size(r)), r.lastMs, it) || full
		}
		return full
	}
	return p.Intake.Gate(&p.gated, shard, p.missed(), it)
}

// missed are the doubtful windows, by ascending end. They are valid until the next
// call.
func (p *packer) missed() []windowfns.Window {
	p.windows = p.windows[:0]
	for _, r := range p.doubtful {
		for end := r.firstMs; end <= r.lastMs; end += p.layout.stepMs {
			p.windows = append(p.windows, p.layout.window(r, end))
		}
	}
	return p.windows
}

func (p *packer) flush(direct emitBlock) {
	p.messages.emitMarked(p.mark, p.Intake.Routing.LatenessMs, direct)
}

func (p *packer) aggregate(kind byte, shard int64, r run) error {
	return p.messages.add(p.agg, blockKey{kind, shard, r.startMs, r.firstMs, r.lastMs}, p.key, p.acc)
}
