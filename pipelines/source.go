package pipelines

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/internal/tally"
)

func init() {
	register.DoFn4x0[context.Context, played, func(files.Record), func(files.Bad)](&sortPlayedFn{})
	register.Emitter1[files.Record]()
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

	// Play plays the timeline. nil plays it exactly, on the embedded runner only.
	Play Player
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

// play turns the timeline into a stream of records, unmarked: only the runner
// knows how far the watermark is.
func (src Source) play(s beam.Scope) (in, bad beam.PCollection, err error) {
	dec, err := records.NewDecoder(src.Fields)
	if err != nil {
		return in, bad, err
	}
	p := player{script: src.Script, maxRecordBytes: src.MaxRecordBytes, play: src.Play}
	col, err := p.stream(s, src.Timeline, func(timeline.Kind) *records.Decoder { return dec })
	if err != nil {
		return in, bad, err
	}
	in, bad = beam.ParDo2(s, &sortPlayedFn{}, col)
	return in, bad, nil
}

// sortPlayedFn tells records from bad ones.
type sortPlayedFn struct {
	tally *tally.Tally
}

func (f *sortPlayedFn) Setup() { f.tally = tally.Current() }

func (f *sortPlayedFn) ProcessElement(ctx context.Context, p played, in func(files.Record), bad func(files.Bad)) {
	if p.understood(ctx, f.tally, bad) {
		in(p.Record)
	}
}
