package files

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"tidemark/connectors/records"
	"tidemark/internal/flow"
	"tidemark/internal/halt"
	"tidemark/internal/tally"
)

// grace is how long the end of a pipe waits for an interrupt: the terminal
// interrupts the program that feeds the pipe as well, whose end may be seen first.
const grace = 100 * time.Millisecond

// A bundle of a pipe ends this long after its first record, or, where nothing
// comes, this long after it has begun.
const (
	lingerTime = 20 * time.Millisecond
	patience   = 250 * time.Millisecond
)

// pace is how a stream is read, whatever becomes of its records.
type pace struct {
	MaxRecordBytes int
	OutOfOrderMs   int64
	FutureMs       int64
	BundleBytes    int64
	Pause          time.Duration // between two bundles
	Grace          time.Duration

	tally    *tally.Tally
	flow     *flow.Meter
	halt     *halt.Switch
	now      func() time.Time
	linger   time.Duration
	patience time.Duration
}

func newPace(maxRecordBytes int, outOfOrder, future time.Duration, bundle int64, pause time.Duration) pace {
	return pace{
		MaxRecordBytes: maxRecordBytes,
		OutOfOrderMs:   outOfOrder.Milliseconds(),
		FutureMs:       future.Milliseconds(),
		BundleBytes:    cmp.Or(bundle, bundleBytes),
		Pause:          pause,
		Grace:          grace,
	}
}

// setup readies a worker for records of the given fields.
func (p *pace) setup(f records.Fields) (opener, error) {
	p.tally, p.halt, p.flow = tally.Current(), halt.Current(), flow.Current()
	p.now, p.linger, p.patience = time.Now, lingerTime, patience
	return newOpener(p.tally, f, p.MaxRecordBytes)
}

// future says why a time is too far ahead of the clock.
func (p *pace) future(tMs, nowMs int64) string {
	ahead := tMs - nowMs
	if p.FutureMs == 0 || ahead <= p.FutureMs {
		return ""
	}
	return fmt.Sprintf("the time %s is %v ahead of the clock, the limit is %v: a wrong clock would make everyone else late",
		records.FormatTime(tMs), time.Duration(ahead)*time.Millisecond, time.Duration(p.FutureMs)*time.Millisecond)
}

// sitting is what a bundle of a stream does with what it reads, apart from
// emitting it.
type sitting struct {
	pace  *pace
	rt    *sdf.LockRTracker
	bad   emitBad
	n     counts
	v     records.Values // of the record that was understood last
	nowMs int64          // when the bundle began or, later, had its first record
	until time.Time      // when it is to wait no longer
}

// sit begins a bundle.
func (p *pace) sit(rt *sdf.LockRTracker, bad emitBad) sitting {
	s := sitting{pace: p, rt: rt, bad: bad}
	s.stay(p.patience)
	return s
}

// stay lets the bundle wait for so long from now on.
func (s *sitting) stay(d time.Duration) {
	now := s.pace.now()
	s.nowMs, s.until = now.UnixMilli(), now.Add(d)
}

// remaining is how much longer the bundle may wait.
func (s *sitting) remaining() time.Duration { return s.until.Sub(s.pace.now()) }

// claim claims what was read.
func (s *sitting) claim(c any) error {
	if !s.rt.TryClaim(c) {
		return errors.New("files: a stream was split while it was read")
	}
	return nil
}

// understand decodes a record into v, or refuses it.
func (s *sitting) understand(in *reel, it *item) bool {
	if s.n.read == 0 {
		s.stay(s.pace.linger)
	}
	s.n.read++
	reason := in.in.decode(in.dec, it, &s.v)
	if reason == "" {
		reason = s.pace.future(s.v.TimeMs, s.nowMs)
	}
	if reason != "" {
		s.n.refuse(s.pace.tally, s.bad, Bad{Source: in.file().Name, Position: it.position(), Raw: it.text, Reason: reason, Side: in.side})
	}
	return reason == ""
}
