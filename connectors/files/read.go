package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/records"
	"tidemark/internal/tally"
)

const (
	// DefaultMaxRecordBytes is the default limit on the length of a record.
	DefaultMaxRecordBytes = 16 << 20

	// SplitBytes is the size of a file from which on it is read in parallel
	// ranges, about this long.
	SplitBytes = 64 << 20

	// A bundle of the source ends after this many bytes.
	bundleBytes = 4 << 20
)

// File is a file to read.
type File struct {
	Path string
	Name string // what records call their source
}

// Record is a record that was understood.
type Record struct {
	Key      string
	Currency string // empty where no field is set for it
	Amount   int64  // in minor units
	Source   string
	Position int64
	Raw      []byte // as it came in; empty in batch, where nothing is late
}

// Bad is a record that was not understood.
type Bad struct {
	Source   string
	Position int64
	Raw      []byte
	Reason   string
}

// Config says how to read.
type Config struct {
	Fields records.Fields

	// MaxRecordBytes is the limit on the length of a record. Required.
	MaxRecordBytes int
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
	return beam.ParDo2(s, &readFn{Fields: cfg.Fields, MaxRecordBytes: cfg.MaxRecordBytes}, beam.CreateList(s, files))
}

// readFn reads the lines of files.
type readFn struct {
	Fields         records.Fields
	MaxRecordBytes int

	dec   *records.Decoder
	tally *tally.Tally
}

func (f *readFn) Setup() (err error) {
	f.tally = tally.Current()
	f.dec, err = records.NewDecoder(f.Fields)
	return err
}

// CreateInitialRestriction takes a file as it stands.
func (f *readFn) CreateInitialRestriction(file File) (span, error) {
	info, err := os.Stat(file.Path)
	if err != nil {
		return span{}, err
	}
	return span{Start: 0, End: info.Size(), Line: 1}, nil
}

// SplitRestriction cuts a large file into ranges.
func (f *readFn) SplitRestriction(_ File, whole span) []span {
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

// ProcessElement reads a few megabytes of lines, then checkpoints.
func (f *readFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, file File, record emitRecord, bad emitBad) (sdf.ProcessContinuation, error) {
	s := rt.GetRestriction().(span)
	fail := func(err error) (sdf.ProcessContinuation, error) {
		return sdf.StopProcessing(), fmt.Errorf("reading %s: %w", file.Name, err)
	}
	in, err := os.Open(file.Path)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = in.Close() }()
	lines, err := f.seek(in, s)
	if err != nil {
		return fail(err)
	}

	var v records.Values
	var read, refused int64
	number := s.Line
	for lines.off < s.Start+bundleBytes || read == 0 {
		ln, err := lines.next()
		if errors.Is(err, io.EOF) {
			ln = line{start: math.MaxInt64}
		} else if err != nil {
			return fail(err)
		}
		pos, c := ln.start, claim{start: ln.start, next: ln.next}
		if number > 0 {
			pos, number = number, number+1
			c.line = number
		}
		if !rt.TryClaim(c) {
			f.count(ctx, read, refused)
			return sdf.StopProcessing(), nil
		}
		text := ln.text
		if ln.start == 0 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		text = bytes.TrimSuffix(text, []byte("\r"))
		if !ln.long && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		read++
		if reason := f.decode(&ln, text, &v); reason != "" {
			refused++
			f.tally.Blame(fmt.Sprintf("%s, position %d: %s", file.Name, pos, reason))
			bad(Bad{Source: file.Name, Position: pos, Raw: text, Reason: reason})
			continue
		}
		record(mtime.Time(v.TimeMs), math.MinInt64, Record{
			Key: string(v.Key), Currency: string(v.Currency), Amount: v.Amount,
			Source: file.Name, Position: pos,
		})
	}
	f.count(ctx, read, refused)
	return sdf.ResumeProcessingIn(0), nil
}

// seek returns the lines that begin in s.
func (f *readFn) seek(in io.ReadSeeker, s span) (*lineReader, error) {
	at := s.Start
	if s.Cut {
		// A line that begins at Start is ours if a newline is in front of it.
		at--
	}
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return nil, err
	}
	lines := newLineReader(in, at, f.MaxRecordBytes)
	if s.Cut {
		if _, err := lines.next(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return lines, nil
}

func (f *readFn) decode(ln *line, text []byte, v *records.Values) (reason string) {
	if ln.long {
		return fmt.Sprintf("longer than %d bytes, the limit on records", f.MaxRecordBytes)
	}
	if err := f.dec.Decode(text, v); err != nil {
		return err.Error()
	}
	return ""
}

func (f *readFn) count(ctx context.Context, read, refused int64) {
	f.tally.Inc(ctx, tally.Read, read)
	f.tally.Inc(ctx, tally.Bad, refused)
}

// Paths are the paths of files, for checks against outputs.
func Paths(files []File) []string {
	var paths []string
	for _, f := range files {
		if f.Path != "" {
			paths = append(paths, f.Path)
		}
	}
	return paths
}
