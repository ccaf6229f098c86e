package files

import (
	"context"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/records"
)

// PairConfig says how to read two inputs as one stream. All durations are whole
// milliseconds.
type PairConfig struct {
	// Left and Right say where the values of a record are, on each side.
	Left, Right records.Fields

	// MaxRecordBytes is the limit on the length of a record. Required.
	MaxRecordBytes int

	// MaxOutOfOrderness is how far, in event time, a record may be behind the
	// latest one in front of it on its side and still be in order: the watermark of
	// a side is its latest event time so far less this.
	MaxOutOfOrderness time.Duration

	// FutureLimit is how far a record's event time may be ahead of this machine's
	// clock: what is further is a bad record. 0 is no limit.
	FutureLimit time.Duration

	// IdleTimeout is how long, on the clock, a pipe may have nothing to say before
	// it stops holding back the watermark, until it has something again. 0 is for
	// ever. Files are never idle.
	IdleTimeout time.Duration

	// AheadLimit is how far, in event time, the watermark of a file may be ahead of
	// that of a pipe that has nothing to say, and is not idle: then the file waits.
	// The record that goes past the limit is still read. 0 is no limit. Pipes never
	// wait.
	AheadLimit time.Duration

	// BundleBytes is how much is read of both sides between two checkpoints,
	// between which the watermark of the runner stands still; 0 is 4 MiB.
	BundleBytes int64

	// Pause is how long the source rests after each of them; see [StreamConfig].
	Pause time.Duration
}

// PairInput is what a stream of two inputs reads: of each, one file after the
// other.
type PairInput struct {
	Left, Right []File
}

func init() {
	register.DoFn7x2[context.Context, *joint, *sdf.LockRTracker, PairInput, emitRow, emitRow, emitBad, sdf.ProcessContinuation, error](&pairFn{})
	beam.RegisterType(reflect.TypeFor[PairInput]())
}

// StreamPair reads two inputs as one split of a stream, so that it knows the
// watermark of both together: the lower one of the two. left and right are
// PCollection<KV<string, [Row]>> by the record's key, each at its event time, with
// its text, and with its mark: that watermark, in ms, when it was read. bad is
// PCollection<[Bad]>.
//
// A side that has ended or is idle does not count. The watermark never goes back,
// stays where it is while every side that has not ended is idle, and goes to
// infinity when both have ended.
//
// The side with the lower watermark is read next, the left one where they are
// equal. Where that is a pipe with nothing to say now, the other one is read. So
// the order in which files are read, and with it every mark, depends on nothing
// but the files. What a pipe has to say goes on at once, together with what comes
// in the 20 ms after it.
//
// Files may be on both sides, a pipe may not ([CheckPair]). A file that cannot be
// read fails the job.
func StreamPair(s beam.Scope, cfg PairConfig, left, right []File) (l, r, bad beam.PCollection) {
	s = s.Scope("files.StreamPair")
	return beam.ParDo3(s, &pairFn{
		pace:    newPace(cfg.MaxRecordBytes, cfg.MaxOutOfOrderness, cfg.FutureLimit, cfg.BundleBytes, cfg.Pause),
		Left:    cfg.Left,
		Right:   cfg.Right,
		IdleMs:  cfg.IdleTimeout.Milliseconds(),
		AheadMs: cfg.AheadLimit.Milliseconds(),
	}, beam.Create(s, PairInput{left, right}))
}

// pairFn reads two inputs. Behind both there is one more place, with nothing at
// it, as streamFn has it.
type pairFn struct {
	pace
	Left, Right records.Fields
	IdleMs      int64
	AheadMs     int64

	left, right opener
}

func (f *pairFn) Setup() (err error) {
	if f.left, err = f.setup(f.Left); err != nil {
		return err
	}
	f.right, err = f.setup(f.Right)
	return err
}

func (f *pairFn) CreateInitialRestriction(PairInput) pairSpan {
	whole := span{End: math.MaxInt64, Line: 1}
	return pairSpan{whole, whole}
}

func (f *pairFn) SplitRestriction(_ PairInput, whole pairSpan) []pairSpan { return []pairSpan{whole} }

func (f *pairFn) RestrictionSize(in PairInput, s pairSpan) float64 {
	return float64(int64(len(in.Left)+len(in.Right)) - s.Left.File - s.Right.File + 1)
}

func (f *pairFn) CreateTracker(s pairSpan) *sdf.LockRTracker {
	return sdf.NewLockRTracker(newPairTracker(s))
}

func (f *pairFn) InitialWatermarkEstimatorState(beam.EventTime, pairSpan, PairInput) joint {
	return newJoint()
}

func (f *pairFn) CreateWatermarkEstimator(j joint) *joint { return &j }

func (f *pairFn) WatermarkEstimatorState(j *joint) joint { return *j }

// ProcessElement reads a few megabytes of records, or what the pipes have to say,
// then checkpoints.
func (f *pairFn) ProcessElement(ctx context.Context, j *joint, rt *sdf.LockRTracker, in PairInput, left, right emitRow, bad emitBad) (sdf.ProcessContinuation, error) {
	s := rt.GetRestriction().(pairSpan)
	b := pairBundle{sitting: f.sit(rt, bad), pairFn: f, joint: j}
	b.left = side{reel: reel{opener: &f.left, files: in.Left, at: s.Left, side: "left"}, mark: &j.Left, emit: left}
	b.right = side{reel: reel{opener: &f.right, files: in.Right, at: s.Right, side: "right"}, mark: &j.Right, emit: right, right: true}
	if b.left.over() && b.right.over() && j.Ms == infinity {
		rt.TryClaim(pairClaim{last: true})
		return sdf.StopProcessing(), nil
	}

	if f.flow.Full() && !f.halt.Asked() {
		return sdf.ResumeProcessingIn(fullTime), nil
	}

	ended, err := b.read()
	b.n.add(ctx, f.tally)
	f.tally.Reached(j.Ms)
	switch {
	case err != nil:
		return sdf.StopProcessing(), err
	case ended:
		b.finish()
		if f.Pause > 0 {
			rt.TryClaim(pairClaim{last: true})
			return sdf.StopProcessing(), nil
		}
	}
	return sdf.ResumeProcessingIn(f.Pause), nil
}
