package pipelines

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

func init() {
	register.Emitter1[files.Bad]()
	beam.RegisterType(reflect.TypeFor[played]())
}

// played is an event of a timeline: a record, or a bad one if there is a reason.
type played struct {
	Kind   timeline.Kind
	Record files.Record
	Reason string
}

// Player plays the script of a timeline: it adds PCollection<T> to a scope, T being
// the type of its elements, each at its event time.
type Player func(s beam.Scope, script *streamtest.Timeline) (beam.PCollection, error)

// player plays timelines.
type player struct {
	script         string
	maxRecordBytes int
	play           Player // nil for that of the embedded runner
}

// stream turns steps into PCollection<played>, each at its event time. Events of a
// kind are read as decoder says.
func (pl player) stream(s beam.Scope, steps []timeline.Step, decoder func(timeline.Kind) *records.Decoder) (beam.PCollection, error) {
	var script streamtest.Timeline
	events := 0
	for _, st := range steps {
		switch st.Kind {
		case timeline.Watermark:
			if st.WatermarkMs == timeline.Infinity {
				script.WatermarkToInfinity()
			} else {
				script.Watermark(st.WatermarkMs)
			}
		case timeline.ProcessingTime:
			script.ProcessingTime(st.Advance)
		default:
			ms, p := pl.event(decoder(st.Kind), st)
			script.At(ms, p)
			events++
		}
	}
	if events == 0 {
		// A TestStream needs elements, for their type.
		return beam.CreateList(s, []played{}), nil
	}
	if pl.play != nil {
		return pl.play(s, &script)
	}
	return script.TryCreate(s)
}

func (pl player) event(dec *records.Decoder, st timeline.Step) (int64, played) {
	p := played{Kind: st.Kind, Record: files.Record{Source: pl.script, Position: int64(st.Number), Raw: st.Event}}
	if len(st.Event) > pl.maxRecordBytes {
		p.Reason = files.TooLong(pl.maxRecordBytes)
		p.Record.Raw = st.Event[:min(len(st.Event), 1<<10)]
		return 0, p
	}
	var v records.Values
	if err := dec.Decode(st.Event, &v); err != nil {
		p.Reason = err.Error()
		return 0, p
	}
	p.Record = files.RecordOf(&v, pl.script, p.Record.Position)
	p.Record.Raw = st.Event
	return v.TimeMs, p
}

// sideOf names the sides of a join.
var sideOf = map[timeline.Kind]string{timeline.Left: "left", timeline.Right: "right"}

// understood counts an event, and emits it if it is bad.
func (p *played) understood(ctx context.Context, t *tally.Tally, bad func(files.Bad)) bool {
	t.Inc(ctx, tally.Read, 1)
	if p.Reason == "" {
		return true
	}
	t.Inc(ctx, tally.Bad, 1)
	r := p.Record
	t.Blame("%s, step %d: %s", r.Source, r.Position, p.Reason)
	bad(files.Bad{Source: r.Source, Position: r.Position, Raw: r.Raw, Reason: p.Reason, Side: sideOf[p.Kind]})
	return false
}
