package rows

import (
	"math"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/sink"
	"tidemark/internal/halt"
	"tidemark/transforms/aggregate"
	"tidemark/transforms/average"
	"tidemark/transforms/gate"
	"tidemark/transforms/gmv"
)

// emitLines sends a packed batch of lines on.
type emitLines = func(beam.EventTime, []byte)

func init() {
	register.DoFn3x0[beam.EventTime, gmv.Row, emitLines](&gmvLinesFn{})
	register.DoFn3x0[beam.EventTime, average.Row, emitLines](&averageLinesFn{})
	register.DoFn3x0[beam.EventTime, gmv.Overflow, emitLines](&overflowLinesFn{})
	register.DoFn4x0[beam.EventTime, gate.Missed, files.Record, emitLines](&lateLinesFn{})
	register.DoFn3x0[beam.EventTime, files.Bad, emitLines](&badLinesFn{})
	register.Emitter2[beam.EventTime, []byte]()
}

// GMVLines packs PCollection<gmv.Row> into lines for package sink. Rows that were
// not due when the run was asked to end are left out, unless it drains: those of
// windows that were open, and FINAL rows of windows that lateness had not closed.
func GMVLines(s beam.Scope, f Format, withCurrency bool, lateness time.Duration, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &gmvLinesFn{Format: f, Currency: withCurrency, rowLiner: rowLiner{LatenessMs: lateness.Milliseconds()}}, col)
}

// AverageLines packs PCollection<average.Row> into lines for package sink, as
// [GMVLines] does. There is no pipe format; Pipe is JSON.
func AverageLines(s beam.Scope, f Format, lateness time.Duration, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &averageLinesFn{Format: f, rowLiner: rowLiner{LatenessMs: lateness.Milliseconds()}}, col)
}

// OverflowLines packs PCollection<gmv.Overflow> into lines for package sink.
// Other formats than CSV are JSON.
func OverflowLines(s beam.Scope, f Format, withCurrency bool, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &overflowLinesFn{Format: f, Currency: withCurrency}, col)
}

// LateLines packs PCollection<KV<gate.Missed, files.Record>> into lines for
// package sink. Other formats than CSV are JSON.
func LateLines(s beam.Scope, f Format, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &lateLinesFn{Format: f}, col)
}

// BadLines packs PCollection<files.Bad> into lines for package sink. Other
// formats than CSV are JSON.
func BadLines(s beam.Scope, f Format, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &badLinesFn{Format: f}, col)
}

// flushBytes is how much of a bundle is packed into one batch.
const flushBytes = 1 << 20

// liner packs the lines of a bundle.
type liner struct {
	packer      sink.Packer
	oldest      beam.EventTime
	order, text []byte
}

func (l *liner) StartBundle(emitLines) { l.reset() }

func (l *liner) FinishBundle(emit emitLines) { l.flush(emit) }

func (l *liner) reset() {
	l.packer.Reset()
	l.oldest = mtime.Time(math.MaxInt64)
}

// add packs l.order and l.text. A batch is stamped with the earliest timestamp
// in it.
func (l *liner) add(et beam.EventTime, emit emitLines) {
	l.packer.Add(l.order, l.text)
	l.oldest = min(l.oldest, et)
	if l.packer.Len() >= flushBytes {
		l.flush(emit)
	}
}

func (l *liner) flush(emit emitLines) {
	if l.packer.Len() > 0 {
		emit(l.oldest, l.packer.Bytes())
	}
	l.reset()
}

// rowLiner packs the lines of rows.
type rowLiner struct {
	LatenessMs int64
	liner

	halt *halt.Switch
}

func (l *rowLiner) Setup() { l.halt = halt.Current() }

// shows reports whether a row was due when the run was asked to end.
func (l *rowLiner) shows(pane string, endMs int64) bool {
	if pane == string(aggregate.Final) {
		endMs += l.LatenessMs
	}
	return l.halt.Shows(endMs)
}

type gmvLinesFn struct {
	Format   Format
	Currency bool
	rowLiner
}

func (f *gmvLinesFn) ProcessElement(et beam.EventTime, r gmv.Row, emit emitLines) {
	if !f.shows(r.Pane, r.EndMs) {
		return
	}
	f.order, f.text = OrderGMV(f.order[:0], &r), appendGMV(f.text[:0], f.Format, &r, f.Currency)
	f.add(et, emit)
}

type averageLinesFn struct {
	Format Format
	rowLiner
}

func (f *averageLinesFn) ProcessElement(et beam.EventTime, r average.Row, emit emitLines) {
	if !f.shows(r.Pane, r.EndMs) {
		return
	}
	f.order, f.text = OrderAverage(f.order[:0], &r), appendAverage(f.text[:0], f.Format, &r)
	f.add(et, emit)
}

type overflowLinesFn struct {
	Format   Format
	Currency bool
	liner
}

func (f *overflowLinesFn) ProcessElement(et beam.EventTime, o gmv.Overflow, emit emitLines) {
	if f.Format == CSV {
		f.text = appendOverflowCSV(f.text[:0], &o, f.Currency)
	} else {
		f.text = AppendOverflow(f.text[:0], &o, f.Currency)
	}
	f.order = f.order[:0] // in front of the bad records
	f.add(et, emit)
}

type lateLinesFn struct {
	Format Format
	liner
}

func (f *lateLinesFn) ProcessElement(et beam.EventTime, m gate.Missed, r files.Record, emit emitLines) {
	rec := Late{Event: r.Raw, TimeMs: m.TimeMs, Missed: m.Windows, All: m.All, Source: r.Source, Position: r.Position}
	f.order = OrderRecord(f.order[:0], r.Source, r.Position)
	if f.Format == CSV {
		f.text = appendLateCSV(f.text[:0], &rec)
	} else {
		f.text = AppendLate(f.text[:0], &rec)
	}
	f.add(et, emit)
}

type badLinesFn struct {
	Format Format
	liner
}

func (f *badLinesFn) ProcessElement(et beam.EventTime, b files.Bad, emit emitLines) {
	rec := Bad{Source: b.Source, Position: b.Position, Raw: b.Raw, Reason: b.Reason}
	f.order = orderText(OrderRecord(f.order[:0], b.Source, b.Position), b.Side)
	f.text = appendSideBad(f.text[:0], f.Format, Side(b.Side), &rec)
	f.add(et, emit)
}
