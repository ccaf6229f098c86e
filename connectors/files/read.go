package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/records"
	"tidemark/internal/flow"
	"tidemark/internal/tally"
)

// fullTime is how long a source waits before it looks again whether what it has
// read has been taken.
const fullTime = 5 * time.Millisecond

const (
	// DefaultMaxRecordBytes is the default limit on the length of a record.
	DefaultMaxRecordBytes = 16 << 20

	// SplitBytes is about how long the ranges are in which a file is read in
	// parallel. A file of less than two of them is one range.
	SplitBytes = 64 << 20

	// A bundle of the source ends after this many bytes.
	bundleBytes = 4 << 20
)

// Record is a record that was understood.
type Record struct {
	Key      string
	Currency string // empty where no field is set for it
	Amount   int64  // in minor units
	Value    float64
	Source   string
	Position int64
	Raw      []byte // as it came in, JSON; for when it is there see [Config.KeepRaw]
}

// RecordOf is the record that v was read from, without its text.
func RecordOf(v *records.Values, source string, position int64) Record {
	return Record{
		Key: string(v.Key), Currency: string(v.Currency), Amount: v.Amount, Value: v.Value,
		Source: source, Position: position,
	}
}

// Bad is a record that was not understood.
type Bad struct {
	Source   string
	Position int64
	Raw      []byte
	Reason   string
	Side     string // of a join, left or right; else empty
}

// Config says how to read.
type Config struct {
	Fields records.Fields

	// MaxRecordBytes is the limit on the length of a record. Required.
	MaxRecordBytes int

	// KeepRaw makes every record carry its text. Without it only those of
	// a stream do that are behind their mark: no other can be late.
	KeepRaw bool

	// Side names the side of a join in bad records; empty where there is none.
	Side string
}

type (
	emitRecord = func(beam.EventTime, int64, Record)
	emitBad    = func(Bad)
)

func init() {
	register.DoFn5x2[context.Context, *sdf.LockRTracker, File, emitRecord, emitBad, sdf.ProcessContinuation, error](&readFn{})
	register.Emitter3[beam.EventTime, int64, Record]()
	register.Emitter1[Bad]()
	for _, t := range []reflect.Type{reflect.TypeFor[File](), reflect.TypeFor[Record](), reflect.TypeFor[Bad]()} {
		beam.RegisterType(t)
	}
}

// Read reads files in batch. records is PCollection<KV<int64, [Record]>>, each
// at its event time and with a mark of math.MinInt64: the input is complete, so
// nothing in it is late. bad is PCollection<[Bad]>.
//
// A file that cannot be read fails the job.
func Read(s beam.Scope, cfg Config, files []File) (records, bad beam.PCollection) {
	s = s.Scope("files.Read")
	fn := newReadFn(cfg)
	return beam.ParDo2(s, &fn, beam.CreateList(s, files))
}

// readFn reads files in batch.
type readFn struct {
	Fields         records.Fields
	MaxRecordBytes int
	KeepRaw        bool
	Side           string

	opener opener
	tally  *tally.Tally
	flow   *flow.Meter
}

func newReadFn(cfg Config) readFn {
	return readFn{Fields: cfg.Fields, MaxRecordBytes: cfg.MaxRecordBytes, KeepRaw: cfg.KeepRaw, Side: cfg.Side}
}

func (f *readFn) Setup() (err error) {
	f.tally, f.flow = tally.Current(), flow.Current()
	f.opener, err = newOpener(f.tally, f.Fields, f.MaxRecordBytes)
	return err
}

// CreateInitialRestriction takes a file as it stands. How long the text in
// a compressed one is will show.
func (f *readFn) CreateInitialRestriction(file File) (span, error) {
	info, err := os.Stat(file.Path)
	if err != nil {
		return span{}, err
	}
	s := span{Start: 0, End: info.Size(), Line: 1}
	if file.Gzip {
		s.End = math.MaxInt64
	}
	return s, nil
}

// SplitRestriction cuts a large file of lines into ranges.
func (f *readFn) SplitRestriction(file File, whole span) []span {
	if file.Gzip || file.Format == CSV {
		return []span{whole}
	}
	return split(whole, SplitBytes)
}

func split(whole span, size int64) []span {
	if whole.End < 2*size {
		return []span{whole}
	}
	var spans []span
	for at := int64(0); at < whole.End; at += size {
		spans = append(spans, span{Start: at, End: min(whole.End, at+size), Cut: at > 0})
	}
	return spans
}

func (f *readFn) RestrictionSize(_ File, s span) float64 { return float64(s.End - s.Start) }

func (f *readFn) CreateTracker(s span) *sdf.LockRTracker { return sdf.NewLockRTracker(newTracker(s)) }

// ProcessElement reads a few megabytes of records, then checkpoints.
func (f *readFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, file File, record emitRecord, bad emitBad) (sdf.ProcessContinuation, error) {
	return f.read(ctx, rt, file, bad, func(in *cursor, it *item, v *records.Values) {
		r := RecordOf(v, file.Name, it.position())
		if f.KeepRaw {
			r.Raw = in.raw(it)
		}
		record(mtime.Time(v.TimeMs), math.MinInt64, r)
	})
}

// read hands the records of a bundle to good. What it gets is valid until it
// returns.
func (f *readFn) read(ctx context.Context, rt *sdf.LockRTracker, file File, bad emitBad, good func(*cursor, *item, *records.Values)) (sdf.ProcessContinuation, error) {
	if f.flow.Full() {
		return sdf.ResumeProcessingIn(fullTime), nil
	}
	s := rt.GetRestriction().(span)
	fail := func(err error) (sdf.ProcessContinuation, error) {
		return sdf.StopProcessing(), fmt.Errorf("reading %s: %w", file.Name, err)
	}
	in, err := f.opener.resume(file, s)
	if err != nil {
		return fail(err)
	}

	var v records.Values
	var n counts
	at := s.Start
	for at < s.Start+bundleBytes || n.read == 0 {
		it, err := in.next(f.opener.dec)
		if errors.Is(err, io.EOF) {
			it.start = math.MaxInt64
		} else if err != nil {
			in.close()
			return fail(err)
		}
		if !rt.TryClaim(it.claim()) {
			n.add(ctx, f.tally)
			in.close()
			return sdf.StopProcessing(), nil
		}
		at = it.next
		n.read++
		if reason := in.decode(f.opener.dec, &it, &v); reason != "" {
			n.refuse(f.tally, bad, Bad{Source: file.Name, Position: it.position(), Raw: it.text, Reason: reason, Side: f.Side})
			continue
		}
		good(in, &it, &v)
	}
	n.add(ctx, f.tally)
	if at < s.End {
		f.opener.park(file, at, in)
	} else {
		in.close() // nobody comes back
	}
	return sdf.ResumeProcessingIn(0), nil
}

// counts are those of a bundle.
type counts struct{ read, bad int64 }

// refuse emits a bad record.
func (n *counts) refuse(t *tally.Tally, emit emitBad, b Bad) {
	n.bad++
	t.Blame("%s, position %d: %s", b.Source, b.Position, b.Reason)
	emit(b)
}

func (n *counts) add(ctx context.Context, t *tally.Tally) {
	t.Inc(ctx, tally.Read, n.read)
	t.Inc(ctx, tally.Bad, n.bad)
}
