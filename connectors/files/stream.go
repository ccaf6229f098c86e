package files

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/records"
)

// StreamConfig says how to read a stream.
type StreamConfig struct {
	Config

	// MaxOutOfOrderness is how far, in event time, a record may be behind the
	// latest one in front of it and still be in order: the watermark is the
	// latest event time so far less this. Whole milliseconds; 0 is for records
	// in order.
	MaxOutOfOrderness time.Duration

	// FutureLimit is how far a record's event time may be ahead of this
	// machine's clock: what is further is a bad record, so that one wrong clock
	// cannot move the watermark past everyone else. 0 is no limit.
	FutureLimit time.Duration

	// BundleBytes is how much is read between two checkpoints, between which
	// the watermark stands still; 0 is 4 MiB.
	BundleBytes int64

	// Pause is how long the source rests after each of them. It is for Beam's runner for
	// Flink, which lets the watermark of a source out only while it rests, and knows
	// whole seconds only: give it a second, and large bundles. With a pause the source
	// ends in the bundle in which it reads the last record, and not, as Prism wants it,
	// in one more with a watermark at infinity: that runner forgets where a source is
	// that has got there.
	Pause time.Duration
}

// Input is what a stream reads, one file after the other.
type Input struct {
	Files []File
}

func init() {
	register.DoFn6x2[context.Context, *bounded, *sdf.LockRTracker, Input, emitRecord, emitBad, sdf.ProcessContinuation, error](&streamFn{})
	beam.RegisterType(reflect.TypeFor[Input]())
}

// Stream reads files and pipes as one split of a stream, in the order given.
// records is PCollection<KV<int64, [Record]>>, each at its event time and with
// its mark: the source's watermark, in ms, when it read the record. Records
// behind their mark carry their text ([Record.Raw]): only they can be late. bad
// is PCollection<[Bad]>.
//
// When everything is read, the watermark goes to infinity. What a pipe has to
// say goes on at once, together with what comes in the 20 ms after it.
//
// A file that cannot be read fails the job.
func Stream(s beam.Scope, cfg StreamConfig, files []File) (records, bad beam.PCollection) {
	s = s.Scope("files.Stream")
	return beam.ParDo2(s, &streamFn{
		pace:    newPace(cfg.MaxRecordBytes, cfg.MaxOutOfOrderness, cfg.FutureLimit, cfg.BundleBytes, cfg.Pause),
		Fields:  cfg.Fields,
		KeepRaw: cfg.KeepRaw,
	}, beam.Create(s, Input{files}))
}

// streamFn reads the files of an input in turn. Behind the last one there is one
// more place, with nothing at it: the source reports a watermark at infinity
// there and checkpoints itself for the last time. Without that, Prism can get
// stuck at the watermark of the checkpoint before.
type streamFn struct {
	pace
	Fields  records.Fields
	KeepRaw bool

	opener opener
}

func (f *streamFn) Setup() (err error) {
	f.opener, err = f.setup(f.Fields)
	return err
}

func (f *streamFn) CreateInitialRestriction(Input) span {
	return span{End: math.MaxInt64, Line: 1}
}

func (f *streamFn) SplitRestriction(_ Input, whole span) []span { return []span{whole} }

func (f *streamFn) RestrictionSize(in Input, s span) float64 {
	return float64(int64(len(in.Files)) - s.File + 1)
}

func (f *streamFn) CreateTracker(s span) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&endlessTracker{*newTracker(s)})
}

// endlessTracker is a tracker of what need not end.
type endlessTracker struct{ tracker }

// IsBounded says that the input is a stream.
func (t *endlessTracker) IsBounded() bool { return false }

func (f *streamFn) InitialWatermarkEstimatorState(beam.EventTime, span, Input) int64 {
	return math.MinInt64
}

func (f *streamFn) CreateWatermarkEstimator(ms int64) *bounded { return &bounded{ms} }

func (f *streamFn) WatermarkEstimatorState(w *bounded) int64 { return w.ms }

// bounded is the watermark of a stream whose disorder has a bound.
type bounded struct{ ms int64 }

// CurrentWatermark implements sdf.WatermarkEstimator.
func (w *bounded) CurrentWatermark() time.Time {
	return mtime.Normalize(mtime.Time(w.ms)).ToTime()
}

// see takes in a record.
func (w *bounded) see(tMs, outOfOrderMs int64) { w.ms = max(w.ms, tMs-outOfOrderMs) }

// infinity is a watermark after which nothing comes.
const infinity = int64(mtime.MaxTimestamp)

// ProcessElement reads a few megabytes of records, or what a pipe has to say,
// then checkpoints.
func (f *streamFn) ProcessElement(ctx context.Context, w *bounded, rt *sdf.LockRTracker, in Input, record emitRecord, bad emitBad) (sdf.ProcessContinuation, error) {
	s := rt.GetRestriction().(span)
	over := int64(len(in.Files))
	switch {
	case s.File == over:
		rt.TryClaim(claim{start: math.MaxInt64})
		return sdf.StopProcessing(), nil
	case f.halt.Asked():
		f.halt.Stopped(w.ms)
		return f.finish(w, rt, over)
	}

	b := streamBundle{sitting: f.sit(rt, bad), streamFn: f, w: w, in: reel{opener: &f.opener, files: in.Files, at: s}, record: record}
	end, err := b.read()
	b.n.add(ctx, f.tally)
	f.tally.Reached(w.ms)
	switch {
	case err != nil:
		return sdf.StopProcessing(), err
	case !end:
	case s.File+1 == over:
		if b.in.file().Pipe != "" && f.halt.AskedWithin(f.Grace) {
			f.halt.Stopped(w.ms)
		}
		return f.finish(w, rt, over)
	default:
		rt.TryClaim(b.in.turn())
	}
	return sdf.ResumeProcessingIn(f.Pause), nil
}

// finish goes behind the last file.
func (f *streamFn) finish(w *bounded, rt *sdf.LockRTracker, over int64) (sdf.ProcessContinuation, error) {
	w.ms = infinity
	if f.Pause > 0 {
		rt.TryClaim(claim{start: math.MaxInt64})
		return sdf.StopProcessing(), nil
	}
	rt.TryClaim(claim{file: over})
	return sdf.ResumeProcessingIn(f.Pause), nil
}

// streamBundle is one bundle of a stream.
type streamBundle struct {
	sitting
	*streamFn
	w      *bounded
	in     reel
	record emitRecord
}

// read reads on and reports whether the file has ended.
func (b *streamBundle) read() (end bool, err error) {
	for b.in.bytes < b.BundleBytes {
		it, err := b.in.next()
		switch {
		case errors.Is(err, errWait):
			if !await(b.remaining(), b.in.pipe(), nil) {
				return false, nil
			}
			continue
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
		if err := b.claim(b.in.claim(&it)); err != nil {
			return false, err
		}
		b.take(&it)
	}
	b.in.park()
	return false, nil
}

// take emits one record.
func (b *streamBundle) take(it *item) {
	if !b.understand(&b.in, it) {
		return
	}
	r := RecordOf(&b.v, b.in.file().Name, it.position())
	if b.KeepRaw || b.v.TimeMs < b.w.ms {
		r.Raw = b.in.raw(it)
	}
	b.record(mtime.Time(b.v.TimeMs), b.w.ms, r)
	b.w.see(b.v.TimeMs, b.OutOfOrderMs)
}
