package pipelines

import (
	"context"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/internal/tally"
)

func init() {
	register.DoFn5x0[context.Context, played, emitRow, emitRow, func(files.Bad)](&sidePlayedFn{})
	register.Emitter2[string, files.Row]()
}

type emitRow = func(string, files.Row)

// PairSource says what a pipeline of two inputs reads.
type PairSource struct {
	// Left and Right are the inputs. Of a timeline, only their fields count.
	Left, Right    Side
	MaxRecordBytes int

	// The files are read in batch or, where Stream is not nil, as one stream; or
	// the input is Timeline where Script names one: that is what its records call
	// their source.
	Stream   *files.PairConfig // its fields and limit on records are set from those above
	Timeline []timeline.Step   // of left and right events
	Script   string

	// Play plays the timeline, as that of [Source] does.
	Play Player
}

// Side is one of two inputs.
type Side struct {
	// Fields says where a record's key and time are.
	Fields records.Fields
	Files  []files.File
}

// marked reports whether rows come with the watermark of their source.
func (src PairSource) marked() bool { return src.Script == "" }

// read adds the source. left and right are PCollection<KV<string, [files.Row]>> by
// the record's key, each at its event time and with its text; bad is
// PCollection<[files.Bad]>, of both sides.
func (src PairSource) read(s beam.Scope) (left, right, bad beam.PCollection, err error) {
	switch {
	case src.Script != "":
		return src.play(s)
	case src.Stream != nil:
		cfg := *src.Stream
		cfg.Left, cfg.Right, cfg.MaxRecordBytes = src.Left.Fields, src.Right.Fields, src.MaxRecordBytes
		left, right, bad = files.StreamPair(s, cfg, src.Left.Files, src.Right.Files)
	default:
		var badLeft, badRight beam.PCollection
		left, badLeft = src.Left.read(s, "left", src.MaxRecordBytes)
		right, badRight = src.Right.read(s, "right", src.MaxRecordBytes)
		bad = beam.Flatten(s, badLeft, badRight)
	}
	return left, right, bad, nil
}

// read adds one side in batch.
func (in Side) read(s beam.Scope, name string, maxRecordBytes int) (rows, bad beam.PCollection) {
	return files.ReadRows(s.Scope(name), files.Config{Fields: in.Fields, MaxRecordBytes: maxRecordBytes, Side: name}, in.Files)
}

// play turns the timeline into two streams of rows, unmarked.
func (src PairSource) play(s beam.Scope) (left, right, bad beam.PCollection, err error) {
	var decoders [2]*records.Decoder
	for i, in := range []Side{src.Left, src.Right} {
		if decoders[i], err = records.NewDecoder(in.Fields); err != nil {
			return left, right, bad, err
		}
	}
	p := player{script: src.Script, maxRecordBytes: src.MaxRecordBytes, play: src.Play}
	col, err := p.stream(s, src.Timeline, func(k timeline.Kind) *records.Decoder {
		if k == timeline.Right {
			return decoders[1]
		}
		return decoders[0]
	})
	if err != nil {
		return left, right, bad, err
	}
	left, right, bad = beam.ParDo3(s, &sidePlayedFn{}, col)
	return left, right, bad, nil
}

// sidePlayedFn tells the sides and bad records of a timeline apart.
type sidePlayedFn struct {
	tally *tally.Tally
}

func (f *sidePlayedFn) Setup() { f.tally = tally.Current() }

func (f *sidePlayedFn) ProcessElement(ctx context.Context, p played, left, right emitRow, bad func(files.Bad)) {
	if !p.understood(ctx, f.tally, bad) {
		return
	}
	emit := left
	if p.Kind == timeline.Right {
		emit = right
	}
	r := p.Record
	emit(r.Key, files.Row{MarkMs: math.MinInt64, Source: r.Source, Position: r.Position, Raw: r.Raw})
}
