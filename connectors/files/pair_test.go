package files

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/records"
)

// paired is what a stream of two inputs emits of one line.
type paired struct {
	Side     string
	Position int64
	TimeMs   int64
	MarkMs   int64
	Source   string
	Raw      string
	Reason   string
}

// pairFields are those of the right side.
var pairFields = records.Fields{Key: []string{"key"}, Time: "at", TimeUnit: "ms"}

// rightEvent is a record at a time, of the right side.
func rightEvent(tMs int64) string { return fmt.Sprintf(`{"key":"a","at":%d}`, tMs) }

// clockMs is where the clock of tests stands at first.
const clockMs = 1_700_000_000_000

// pairRig plays streams of two inputs with a clock that stands, and does not wait.
type pairRig struct {
	fn      *pairFn
	clockMs int64
	reopen  bool // open every file again with every bundle

	joint joint // the watermark after the last bundle
}

// newRig has a watermark 10 ms behind.
func newRig(t fataler, bundle int64) *pairRig {
	t.Helper()
	r := &pairRig{
		fn:      &pairFn{Left: fields, Right: pairFields, pace: pace{MaxRecordBytes: 100, OutOfOrderMs: 10, BundleBytes: bundle}},
		clockMs: clockMs,
	}
	if err := r.fn.Setup(); err != nil {
		t.Fatal(err)
	}
	r.fn.now = func() time.Time { return time.UnixMilli(r.clockMs) }
	r.fn.linger, r.fn.patience = 0, 0
	return r
}

// play reads as a worker does, and checks what the runner relies on, as [play]
// does. It calls before in front of each bundle, with what there is so far.
func (r *pairRig) play(t fataler, in PairInput, before func(n int, sofar []paired)) (all []paired) {
	t.Helper()
	fn := r.fn
	s := fn.CreateInitialRestriction(in)
	r.joint = fn.InitialWatermarkEstimatorState(0, s, in)
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("the stream does not end")
		}
		before(n, all)
		if r.reopen {
			parked.clear()
		}
		reported := r.joint.Ms
		w, rt := fn.CreateWatermarkEstimator(r.joint), fn.CreateTracker(s)
		emit := func(side string) emitRow {
			return func(et beam.EventTime, key string, row Row) {
				if row.MarkMs < reported || key != "a" {
					t.Fatalf("mark %d, and the watermark was %d before; key %q", row.MarkMs, reported, key)
				}
				// A split of a bundle that runs is refused.
				if _, residual, err := rt.TrySplit(0.5); residual != nil || err != nil {
					t.Fatalf("split while it is read: %v, %v", residual, err)
				}
				all = append(all, paired{Side: side, Position: row.Position, TimeMs: int64(et), MarkMs: row.MarkMs, Source: row.Source, Raw: string(row.Raw)})
			}
		}
		bad := func(b Bad) {
			all = append(all, paired{Position: b.Position, Source: b.Source, Raw: string(b.Raw), Reason: b.Reason})
		}
		next, err := fn.ProcessElement(context.Background(), w, rt, in, emit("left"), emit("right"), bad)
		if err != nil {
			t.Fatal(err)
		}
		r.joint = fn.WatermarkEstimatorState(w)
		if r.joint.Ms < reported {
			t.Fatalf("the watermark goes from %d back to %d", reported, r.joint.Ms)
		}
		if !next.ShouldResume() {
			if !rt.IsDone() || r.joint.Ms != infinity {
				t.Fatalf("stops at a watermark of %d, done %v", r.joint.Ms, rt.IsDone())
			}
			return all
		}
		if fn.Pause > 0 && (r.joint.Ms == infinity || next.ResumeDelay() != fn.Pause) {
			t.Fatalf("rests %v at a watermark of %d", next.ResumeDelay(), r.joint.Ms)
		}
		_, residual, err := rt.TrySplit(0)
		if err != nil || residual == nil || !rt.IsDone() {
			t.Fatalf("checkpoint: %v, residual %v", err, residual)
		}
		s = recoded(t, residual.(pairSpan))
		r.joint = recoded(t, r.joint)
	}
}

// idleBefore is for plays in which nothing happens between bundles.
func idleBefore(int, []paired) {}

// line is a line of a file of a model: an event time, or a bad line.
type modelLine struct {
	ms  int64
	bad bool
}

// modelFile is a file of a model.
type modelFile struct {
	name  string
	lines []modelLine
}

// pairModel is what StreamPair promises for files: a merge of two lists by their
// watermarks, each record with the lower of those of the sides that have not
// ended.
func pairModel(left, right []modelFile) (want []paired) {
	type cursor struct {
		side  string
		files []modelFile
		line  int
		wm    int64
		ended bool
	}
	l := &cursor{side: "left", files: left, wm: math.MinInt64}
	r := &cursor{side: "right", files: right, wm: math.MinInt64}
	mark := int64(math.MinInt64)
	for {
		for _, c := range []*cursor{l, r} {
			c.ended = c.ended || len(c.files) == 0
		}
		if l.ended && r.ended {
			return want
		}
		low := l
		if l.ended || !r.ended && r.wm < l.wm {
			low = r
		}
		mark = max(mark, low.wm)
		f := low.files[0]
		if low.line == len(f.lines) {
			low.files, low.line = low.files[1:], 0
			continue
		}
		e := f.lines[low.line]
		low.line++
		if e.bad {
			want = append(want, paired{Source: f.name, Position: int64(low.line), Raw: "x", Reason: "invalid JSON: unexpected 'x' at byte offset 0"})
			continue
		}
		raw := event(e.ms)
		if low.side == "right" {
			raw = rightEvent(e.ms)
		}
		want = append(want, paired{Side: low.side, Source: f.name, Position: int64(low.line), TimeMs: e.ms, MarkMs: mark, Raw: raw})
		low.wm = max(low.wm, e.ms-10)
	}
}

// drawSide draws the files of a side and writes them, some compressed.
func drawSide(t *rapid.T, dir, side string, text func(int64) string) (model []modelFile, in []File) {
	for i := range rapid.IntRange(0, 3).Draw(t, side+" files") {
		m := modelFile{name: fmt.Sprintf("%s%d.ndjson", side, i)}
		var b strings.Builder
		for _, ms := range rapid.SliceOfN(rapid.Int64Range(-50, 50), 0, 15).Draw(t, side+" times") {
			bad := rapid.IntRange(0, 9).Draw(t, "bad") == 0
			m.lines = append(m.lines, modelLine{ms, bad})
			if bad {
				b.WriteString("x\n")
			} else {
				b.WriteString(text(ms) + "\n")
			}
		}
		content := []byte(b.String())
		if rapid.Bool().Draw(t, "compressed") {
			m.name += ".gz"
			content = zip(testingT, b.String())
		}
		f := fileOf(testingT, dir, m.name, content)
		f.Name = m.name
		model, in = append(model, m), append(in, f)
	}
	return model, in
}

// TestPairOrder reads any events of two sides, with bundles of any size, with and
// without open files from bundle to bundle: always every line once, in the order
// and with the marks of the model.
func TestPairOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		left, leftFiles := drawSide(t, dir, "left", event)
		right, rightFiles := drawSide(t, dir, "right", rightEvent)
		want := pairModel(left, right)
		for _, bundle := range []int64{1, rapid.Int64Range(2, 200).Draw(t, "bundle"), 1 << 20} {
			r := newRig(t, bundle)
			r.reopen = rapid.Bool().Draw(t, "open again")
			r.fn.Pause = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "pause") // on a cluster
			// What is said of pipes changes nothing.
			r.fn.IdleMs, r.fn.AheadMs = rapid.Int64Range(0, 1).Draw(t, "idle"), rapid.Int64Range(0, 1).Draw(t, "ahead")
			got := r.play(t, PairInput{leftFiles, rightFiles}, func(int, []paired) { r.clockMs += 1000 })
			parked.clear()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("bundles of %d bytes: mismatch (-want +got):\n%s", bundle, diff)
			}
		}
	})
}
