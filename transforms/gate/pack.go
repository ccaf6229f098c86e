package gate

import (
	"bytes"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"tidemark/internal/intake"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

func init() {
	register.DoFn5x1[beam.EventTime, beam.X, routing.Emit, routing.Emit, routing.Emit, error](&packFn{})
	register.DoFn6x1[beam.EventTime, int64, beam.X, routing.Emit, routing.Emit, routing.Emit, error](&packMarkedFn{})
	register.DoFn6x1[beam.EventTime, intake.Origin, beam.X, routing.Emit, routing.Emit, routing.Emit, error](&packPlacedFn{})
}

// pack returns batches of what is surely on time, surely within the allowed
// lateness, and to be decided by the gate; where marks decide, the last are late
// records.
func pack(s beam.Scope, plan intake.Plan) (onTime, corrections, suspects beam.PCollection) {
	p := packer{Intake: intake.NewReader(plan)}
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

func (f *packFn) ProcessElement(et beam.EventTime, v beam.X, onTime, corrections, suspects routing.Emit) error {
	windows, err := f.Intake.Windows(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, intake.Unmarked, windows, onTime, corrections, suspects)
}

type packMarkedFn struct{ packer }

func (f *packMarkedFn) ProcessElement(et beam.EventTime, mark int64, v beam.X, onTime, corrections, suspects routing.Emit) error {
	if err := intake.CheckMark(mark); err != nil {
		return err
	}
	windows, err := f.Intake.Windows(int64(et))
	if err != nil {
		return err
	}
	return f.add(int64(et), v, mark, windows, onTime, corrections, suspects)
}

// packPlacedFn takes an element once for each of its windows, as Beam hands
// them out, and puts them together again.
type packPlacedFn struct {
	packer
	whole intake.Regrouper
}

func (f *packPlacedFn) ProcessElement(et beam.EventTime, o intake.Origin, v beam.X, onTime, corrections, suspects routing.Emit) error {
	e, err := f.whole.Add(&f.Intake, int64(et), o, v)
	if err != nil || e == nil {
		return err
	}
	return f.add(e.TimeMs, e.Elem, e.MarkMs, e.Windows, onTime, corrections, suspects)
}

func (f *packPlacedFn) StartBundle(onTime, corrections, suspects routing.Emit) {
	f.whole = intake.Regrouper{}
	f.packer.StartBundle(onTime, corrections, suspects)
}

func (f *packPlacedFn) FinishBundle(ctx context.Context, onTime, corrections, suspects routing.Emit) error {
	if e := f.whole.Flush(); e != nil {
		if err := f.add(e.TimeMs, e.Elem, e.MarkMs, e.Windows, onTime, corrections, suspects); err != nil {
			return err
		}
	}
	f.packer.FinishBundle(ctx, onTime, corrections, suspects)
	return nil
}

// packer packs the elements of a bundle.
type packer struct {
	Intake intake.Reader

	raw                      bytes.Buffer
	passed, corrected, gated routing.Packer
	late                     intake.LateRecords // instead of gated, where marks decide
	assigned                 int64
}

func (p *packer) Setup() error { return p.Intake.Setup() }

func (p *packer) StartBundle(routing.Emit, routing.Emit, routing.Emit) {
	p.passed, p.corrected, p.gated = routing.Packer{}, routing.Packer{}, routing.Packer{}
	p.late, p.assigned = intake.LateRecords{}, 0
}

func (p *packer) FinishBundle(ctx context.Context, onTime, corrections, suspects routing.Emit) {
	p.flush(onTime, corrections, suspects)
	p.Intake.Tally.Inc(ctx, tally.Assigned, p.assigned)
}

func (p *packer) flush(onTime, corrections, suspects routing.Emit) {
	p.passed.Flush(0, onTime)
	p.corrected.Flush(p.Intake.Routing.LatenessMs, corrections)
	p.Intake.FlushSuspects(&p.gated, suspects)
	p.late.Flush(suspects)
}

func (p *packer) add(tMs int64, v any, mark int64, windows []windowfns.Window, onTime, corrections, suspects routing.Emit) error {
	p.raw.Reset()
	if err := p.Intake.Encode(v, &p.raw); err != nil {
		return err
	}
	body := p.raw.Bytes()
	shard := int64(xxhash.Sum64(body) % uint64(p.Intake.Shards))
	p.assigned += int64(len(windows))
	it := routing.Item{TimeMs: tMs, Windows: 1, Probes: 1, Body: body}

	// Windows come by ascending end: the doubtful ones are the first few.
	doubtful, full := 0, false
	for _, w := range windows {
		switch {
		case mark < w.EndMs:
			full = p.passed.Add(shard, w, &it) || full
		case mark < w.EndMs+p.Intake.Routing.LatenessMs:
			full = p.corrected.Add(shard, w, &it) || full
		default:
			doubtful++
		}
	}
	switch {
	case doubtful == 0:
	case p.Intake.MarksDecide:
		full = p.late.Add(&routing.LateRecord{TimeMs: tMs, Missed: windows[:doubtful], All: doubtful == len(windows), Raw: body}) || full
	default:
		it.Windows, it.Raw = len(windows), body
		full = p.Intake.Gate(&p.gated, shard, windows[:doubtful], it) || full
	}
	if full {
		p.flush(onTime, corrections, suspects)
	}
	return nil
}
