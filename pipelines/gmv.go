package pipelines

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/connectors/timeline"
	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
)

func init() {
	register.Function1x1(entryOf)
	register.DoFn4x0[context.Context, played, func(files.Record), func(files.Bad)](&sortPlayedFn{})
	register.Emitter1[files.Record]()
	register.Emitter1[files.Bad]()
	beam.RegisterType(reflect.TypeFor[played]())
}

// Outlet is where the lines of an output go: the id of a sink ([sink.Write]) and
// how they are written. Without an id they are counted and not written.
type Outlet struct {
	ID     string
	Format rows.Format
}

// GMV says what a GMV pipeline reads, computes and writes.
type GMV struct {
	// Config sets the windows. Watermarked is set as the source needs it.
	Config gmv.Config

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

	Rows, Late, Bad Outlet

	// Counts takes what was assigned, added and late, by window and currency.
	Counts Outlet
}

// Build adds the pipeline to s.
func (g GMV) Build(s beam.Scope) error {
	cfg := g.Config
	in, bad, err := g.read(s)
	if err != nil {
		return err
	}
	cfg.Watermarked = g.Script == ""
	var totals, overflows, late beam.PCollection
	if o := g.Counts; o.ID == "" {
		totals, overflows, late, err = gmv.TryPerKey(s, cfg, entryOf, in)
	} else {
		var counts beam.PCollection
		if totals, overflows, counts, late, err = gmv.TryPerKeyWithCounts(s, cfg, entryOf, in); err == nil {
			s := s.Scope("counts")
			sink.Write(s, o.ID, rows.CountLines(s, counts))
		}
	}
	if err != nil {
		return err
	}
	currency := g.Fields.Currency != ""
	if o := g.Rows; o.ID != "" {
		s := s.Scope("rows")
		sink.Write(s, o.ID, rows.GMVLines(s, o.Format, currency, totals))
	}
	if o := g.Late; o.ID != "" {
		s := s.Scope("late")
		sink.Write(s, o.ID, rows.LateLines(s, o.Format, late))
	}
	if o := g.Bad; o.ID != "" {
		s := s.Scope("bad")
		refused := rows.OverflowLines(s.Scope("overflow"), o.Format, currency, overflows)
		sink.Write(s, o.ID, beam.Flatten(s, rows.BadLines(s, o.Format, bad), refused))
	}
	return nil
}

// read adds the source.
func (g GMV) read(s beam.Scope) (in, bad beam.PCollection, err error) {
	cfg := files.Config{Fields: g.Fields, MaxRecordBytes: g.MaxRecordBytes}
	switch {
	case g.Script != "":
		return g.play(s)
	case g.Stream != nil:
		stream := *g.Stream
		stream.Config = cfg
		in, bad = files.Stream(s, stream, g.Files)
	default:
		in, bad = files.Read(s, cfg, g.Files)
	}
	return in, bad, nil
}

func entryOf(r files.Record) gmv.Entry {
	return gmv.Entry{Key: r.Key, Currency: r.Currency, Minor: r.Amount}
}

// played is an event of a timeline: a record, or a bad one if there is a reason.
type played struct {
	Record files.Record
	Reason string
}

// play turns the timeline into a stream of records, unmarked: only the runner
// knows how far the watermark is.
func (g GMV) play(s beam.Scope) (in, bad beam.PCollection, err error) {
	dec, err := records.NewDecoder(g.Fields)
	if err != nil {
		return in, bad, err
	}
	var script streamtest.Timeline
	events := 0
	for _, st := range g.Timeline {
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
			ms, p := g.event(dec, st)
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

func (g GMV) event(dec *records.Decoder, st timeline.Step) (int64, played) {
	p := played{Record: files.Record{Source: g.Script, Position: int64(st.Number), Raw: st.Event}}
	if len(st.Event) > g.MaxRecordBytes {
		p.Reason = files.TooLong(g.MaxRecordBytes)
		p.Record.Raw = st.Event[:min(len(st.Event), 1<<10)]
		return 0, p
	}
	var v records.Values
	if err := dec.Decode(st.Event, &v); err != nil {
		p.Reason = err.Error()
		return 0, p
	}
	p.Record.Key, p.Record.Currency, p.Record.Amount = string(v.Key), string(v.Currency), v.Amount
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
