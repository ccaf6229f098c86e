package files

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/records"
)

// Row is a record that is carried whole, as a join has it. Its key and its event
// time travel beside it.
type Row struct {
	MarkMs   int64 // the watermark of the source when it read the record
	Source   string
	Position int64
	Raw      []byte // the record, JSON
}

// WatermarkMs is the mark of the row.
func (r Row) WatermarkMs() int64 { return r.MarkMs }

type emitRow = func(beam.EventTime, string, Row)

func init() {
	register.DoFn5x2[context.Context, *sdf.LockRTracker, File, emitRow, emitBad, sdf.ProcessContinuation, error](&readRowsFn{})
	register.Emitter3[beam.EventTime, string, Row]()
	beam.RegisterType(reflect.TypeFor[Row]())
	beam.RegisterCoder(reflect.TypeFor[Row](), encodeRow, decodeRow)
	register.Function1x1(encodeRow) // so that they are called without reflection
	register.Function1x2(decodeRow)
}

// ReadRows is [Read] for records that are carried whole, with or without KeepRaw.
// rows is PCollection<KV<string, [Row]>> by the record's key, each at its event time
// and with a mark of math.MinInt64; bad is PCollection<[Bad]>.
func ReadRows(s beam.Scope, cfg Config, files []File) (rows, bad beam.PCollection) {
	s = s.Scope("files.ReadRows")
	return beam.ParDo2(s, &readRowsFn{newReadFn(cfg)}, beam.CreateList(s, files))
}

// readRowsFn is readFn for rows.
type readRowsFn struct{ readFn }

// ProcessElement reads a few megabytes of records, then checkpoints.
func (f *readRowsFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, file File, row emitRow, bad emitBad) (sdf.ProcessContinuation, error) {
	return f.read(ctx, rt, file, bad, func(in *cursor, it *item, v *records.Values) {
		row(mtime.Time(v.TimeMs), string(v.Key), rowOf(in, it, file.Name, math.MinInt64))
	})
}

// rowOf is a record as a row.
func rowOf(in *cursor, it *item, source string, markMs int64) Row {
	return Row{MarkMs: markMs, Source: source, Position: it.position(), Raw: in.raw(it)}
}

// encodeRow is several times as fast as the coder that Beam makes for a struct.
func encodeRow(r Row) []byte {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+1+len(r.Source)+len(r.Raw))
	b = binary.AppendVarint(b, r.MarkMs)
	b = binary.AppendVarint(b, r.Position)
	b = binary.AppendUvarint(b, uint64(len(r.Source)))
	b = append(b, r.Source...)
	return append(b, r.Raw...)
}

var errRow = errors.New("files: an encoded row is cut short")

func decodeRow(b []byte) (Row, error) {
	var r Row
	var n int
	if r.MarkMs, n = binary.Varint(b); n <= 0 {
		return Row{}, errRow
	}
	b = b[n:]
	if r.Position, n = binary.Varint(b); n <= 0 {
		return Row{}, errRow
	}
	b = b[n:]
	source, n := binary.Uvarint(b)
	if n <= 0 || source > uint64(len(b)-n) {
		return Row{}, errRow
	}
	b = b[n:]
	r.Source, r.Raw = nameOf(b[:source]), b[source:]
	return r, nil
}

// names are sources that rows came from lately: there are few.
var names [16]atomic.Pointer[string]

// nameOf is string(b), mostly without memory of its own.
func nameOf(b []byte) string {
	at := &names[len(b)%len(names)]
	if s := at.Load(); s != nil && *s == string(b) {
		return *s
	}
	s := string(b)
	at.Store(&s)
	return s
}
