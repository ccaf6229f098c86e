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
	register.DoFn4x0[context.Context, played, func(files.Record), func(files.Bad)](&sortPlayedFn{})
	register.Emitter1[files.Record]()
	register.Emitter1[files.Bad]()
	beam.RegisterType(reflect.TypeFor[played]())
}

// Source says what a pipeline reads.
type Source struct {
	// Fields says where a record's values are.
	Fields         records.Fields
	MaxRecordBytes int

	// The input is Files, read in batch or, where Stream is not nil, as
	// a stream; or it is Timeline where Script names one: that is what its
	// records call their source.
	Files    []files.File
	Stream   *files.StreamConfig // its Config is set from the fields above
	Timeline []timeline.Step
	Script   string
}

// marked reports whether records come with the watermark of their source.
func (src Source) marked() bool { return src.Script == "" }

// read adds the source.
func (src Source) read(s beam.Scope) (in, bad beam.PCollection, err error) {
	cfg := files.Config{Fields: src.Fields, MaxRecordBytes: src.MaxRecordBytes}
	switch {
	case src.Script != "":
		return src.play(s)
	case src.Stream != nil:
		stream := *src.Stream
		stream.Config = cfg
		in, bad = files.Stream(s, stream, src.Files)
	default:
		in, bad = files.Read(s, cfg, src.Files)
	}
	return in, bad, nil
}

// played is an event of a timeline: a record, or a bad one if there is a reason.
type played struct {
	Record files.Record
	Reason string
}

// play turns the timeline into a stream of records, unmarked: only the runner
// knows how far the watermark is.
func (src Source) play(s beam.Scope) (in, bad beam.PCollection, err error) {
	dec, err := records.NewDecoder(src.Fields)
	if err != nil {
		return in, bad, err
	}
	var script streamtest.Timeline
	events := 0
	for _, st := range src.Timeline {
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
			ms, p := src.event(dec, st)
			script.At(ms, p)
			events++
		}
	}
	if events == 0 {
		// A TestStream needs elements, for their type.
		return beam.CreateList(s, []files.Record{}), beam.CreateList(s, []files.Bad{}), nil
	}
	col, err := script.TryCreate(s)
	if err != nil {
		return in, bad, err
	}
	in, bad = beam.ParDo2(s, &sortPlayedFn{}, col)
	return in, bad, nil
}

func (src Source) event(dec *records.Decoder, st timeline.Step) (int64, played) {
	p := played{Record: files.Record{Source: src.Script, Position: int64(st.Number), Raw: st.Event}}
	if len(st.Event) > src.MaxRecordBytes {
		p.Reason = files.TooLong(src.MaxRecordBytes)
		p.Record.Raw = st.Event[:min(len(st.Event), 1<<10)]
		return 0, p
	}
	var v records.Values
	if err := dec.Decode(st.Event, &v); err != nil {
		p.Reason = err.Error()
		return 0, p
	}
	p.Record = files.RecordOf(&v, src.Script, p.Record.Position)
	p.Record.Raw = st.Event
	return v.TimeMs, p
}

// sortPlayedFn tells records from bad ones.
type sortPlayedFn struct {
	tally *tally.Tally
}

func (f *sortPlayedFn) Setup() { f.tally = tally.Current() }

func (f *sortPlayedFn) ProcessElement(ctx context.Context, p played, in func(files.Record), bad func(files.Bad)) {
	f.tally.Inc(ctx, tally.Read, 1)
	if p.Reason == "" {
		in(p.Record)
		return
	}
	f.tally.Inc(ctx, tally.Bad, 1)
	r := p.Record
	f.tally.Blame("%s, step %d: %s", r.Source, r.Position, p.Reason)
	bad(files.Bad{Source: r.Source, Position: r.Position, Raw: r.Raw, Reason: p.Reason})
}
