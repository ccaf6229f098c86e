package joins_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/tally"
	"tidemark/joins"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

func init() {
	register.DoFn4x2[*handSet, *sdf.LockRTracker, []byte, func(beam.EventTime, marked), sdf.ProcessContinuation, error](&actorFn{})
	register.DoFn1x0[said](&noticeFn{})
	register.Function3x0(partMarkedSides)
	register.Emitter2[beam.EventTime, marked]()
}

func partMarkedSides(m marked, l func(string, lrow), r func(string, rrow)) { partMarked(m, l, r, nil) }

// act is a step of two sources that take turns: a source emits an element, or says how
// far its watermark is, once there has come out what it awaits.
type act struct {
	side      string
	element   *oracle.JoinElement
	watermark int64 // math.MaxInt64 is the end of the source
	awaits    []said
}

// stage is two sources at work: one script, and what has come out.
type stage struct {
	acts []act

	mu      sync.Mutex
	changed sync.Cond
	next    int
	seen    map[said]bool
	failed  bool
}

func newStage(acts []act) *stage {
	p := &stage{acts: acts, seen: map[said]bool{}}
	p.changed.L = &p.mu
	return p
}

// patience is how long a source waits for what does not come, before it fails.
const patience = 20 * time.Second

// turn waits for the turn of a side, and for what its act awaits.
func (p *stage) turn(side string) (act, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	alarm := time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed = true
		p.changed.Broadcast()
	})
	defer alarm.Stop()
	for {
		var missing []said
		a := p.acts[p.next]
		for _, s := range a.awaits {
			if !p.seen[s] {
				missing = append(missing, s)
			}
		}
		switch {
		case a.side == side && len(missing) == 0:
			p.next++
			p.changed.Broadcast()
			return a, nil
		case p.failed:
			return a, fmt.Errorf("act %d of the %s: %+v has not come out", p.next, a.side, missing)
		}
		p.changed.Wait()
	}
}

func (p *stage) notice(s said) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[s] = true
	p.changed.Broadcast()
}

// stages are those of this process, as workers find them.
var stages struct {
	mu  sync.Mutex
	all []*stage
}

func stageOf(id int) *stage {
	stages.mu.Lock()
	defer stages.mu.Unlock()
	return stages.all[id]
}

// actorFn is the source of a side. It checkpoints itself after each of its acts, and
// waits while the turn is not its own. The last act of a side is its end.
type actorFn struct {
	Stage int
	Side  string
}

func (f *actorFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: math.MaxInt32}
}

func (f *actorFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{r}
}

func (f *actorFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

func (f *actorFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

func (f *actorFn) InitialWatermarkEstimatorState(beam.EventTime, offsetrange.Restriction, []byte) int64 {
	return math.MinInt64
}

func (f *actorFn) CreateWatermarkEstimator(ms int64) *handSet { return &handSet{ms} }

func (f *actorFn) WatermarkEstimatorState(w *handSet) int64 { return w.ms }

func (f *actorFn) ProcessElement(w *handSet, rt *sdf.LockRTracker, _ []byte, emit func(beam.EventTime, marked)) (sdf.ProcessContinuation, error) {
	at := rt.GetRestriction().(offsetrange.Restriction).Start
	if w.ms == math.MaxInt64 {
		// The runner has taken up the end, so that the source can stop.
		for rt.TryClaim(at) {
			at = math.MaxInt32
		}
		return sdf.StopProcessing(), nil
	}
	a, err := stageOf(f.Stage).turn(f.Side)
	if err != nil {
		return sdf.StopProcessing(), err
	}
	if !rt.TryClaim(at) {
		return sdf.StopProcessing(), errors.New("the source has been split")
	}
	if e := a.element; e != nil {
		emit(mtime.Time(e.TimeMs), marked{event{f.Side, e.Key, e.ID}, w.ms})
	} else {
		w.ms = a.watermark
	}
	return sdf.ResumeProcessingIn(0), nil
}

// handSet is a watermark that is set by hand.
type handSet struct{ ms int64 }

// CurrentWatermark implements sdf.WatermarkEstimator.
func (w *handSet) CurrentWatermark() time.Time { return mtime.Normalize(mtime.Time(w.ms)).ToTime() }

// noticeFn tells the sources what has come out.
type noticeFn struct{ Stage int }

func (f *noticeFn) ProcessElement(s said) { stageOf(f.Stage).notice(s) }

// perform joins two sources at work, and returns what has come out.
func perform(t *testing.T, cfg joins.Config, acts []act) outcome {
	t.Helper()
	var all *streamtest.Captured
	var count *tally.Tally
	streamtest.Run(t, func(s beam.Scope) {
		count = tally.Start()
		stages.mu.Lock()
		id := len(stages.all)
		stages.all = append(stages.all, newStage(acts))
		stages.mu.Unlock()
		sides := map[string]beam.PCollection{}
		for _, side := range []string{"left", "right"} {
			sides[side] = beam.ParDo(s, &actorFn{Stage: id, Side: side}, beam.Impulse(s))
		}
		l, _ := beam.ParDo2(s, partMarkedSides, sides["left"])
		_, r := beam.ParDo2(s, partMarkedSides, sides["right"])
		out := allOf(s, joins.Interval(s, cfg, rowOf, l, r))
		beam.ParDo0(s, &noticeFn{Stage: id}, out)
		all = streamtest.Capture(s, out)
	})
	return outcomeOf(t, all, count)
}
