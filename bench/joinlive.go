package main

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
)

func init() {
	register.DoFn5x1[*watermark, *sdf.LockRTracker, []byte, emitJoinRow, emitJoinRow, sdf.ProcessContinuation](&liveRowsFn{})
}

// hotKey measures a join on one key, all of whose rows are held: once with so many
// rows and once with twice as many, with the same number of matches.
func hotKey(ctx context.Context, o options) error {
	// All rows lie within the interval's reach, and one of Every left rows has its
	// right row at exactly the distance that matches.
	enter := func(name string, rows, every int64) entrant {
		src := joinRowsFn{Rows: rows, Keys: 1, Step: o.window / time.Duration(2*rows), Every: every, Chunk: o.chunk}
		src.Offset = rows / 2
		at := time.Duration(src.Offset) * src.Step.Truncate(time.Millisecond)
		return entrant{name: name, events: 2 * rows, want: src.want(), run: func() (outcome, error) {
			return play(ctx, func(s beam.Scope) {
				l, r := src.read(s)
				discard(s, joins.Interval(s, joins.Config{Lower: at, Upper: at, Watermarked: true, Shards: o.shards}, idsOf, l, r).Rows)
			})
		}}
	}
	if o.window/time.Duration(4*o.events) < 2*time.Millisecond {
		return fmt.Errorf("-window %v for twice %d rows, want 8 ms for each", o.window, o.events)
	}
	medians, err := contest(o, enter("rows", o.events, 10), enter("twice", 2*o.events, 20))
	if err != nil || len(medians) < 2 {
		return err
	}
	fmt.Printf("twice the rows take %.2f x the time\n", float64(medians["twice"].took)/float64(medians["rows"].took))
	return nil
}

// liveRowsFn is joinRowsFn at the pace of the clock.
type liveRowsFn struct {
	joinRowsFn
	BeganMs int64 // on the clock
}

func (f *liveRowsFn) ProcessElement(wm *watermark, rt *sdf.LockRTracker, _ []byte, l, r emitJoinRow) sdf.ProcessContinuation {
	i := rt.GetRestriction().(offsetrange.Restriction).Start
	due := min((time.Now().UnixMilli()-f.BeganMs)/f.Step.Milliseconds(), f.Rows)
	for ; i <= due; i++ {
		if !rt.TryClaim(i) {
			return sdf.StopProcessing()
		}
		t := startMs + i*f.Step.Milliseconds()
		l(mtime.Time(t), f.keyOf(i), joinRow{wm.ms, i})
		r(mtime.Time(t), f.keyOf(i-f.Offset), joinRow{wm.ms, i})
		wm.ms = t
	}
	return sdf.ResumeProcessingIn(50 * time.Millisecond)
}

// joinLive follows the memory of a join at the pace of the clock, for o.span: once the
// interval has gone by it has to stay where it is.
func joinLive(ctx context.Context, o options) error {
	src := liveRowsFn{joinRowsFn: joinRowsFn{Rows: o.events, Keys: o.keys, Step: o.span / time.Duration(o.events)}, BeganMs: time.Now().UnixMilli()}
	if src.Step < time.Millisecond {
		return fmt.Errorf("-events %d in -span %v, want at most one a millisecond", o.events, o.span)
	}
	src.Offset = int64(o.window/src.Step) / 2
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(o.span / 20)
		defer tick.Stop()
		for {
			stop := watchMemory()
			select {
			case <-done:
				stop()
				return
			case <-tick.C:
			}
			live, held := stop()
			fmt.Printf("after %7v  %s\n", time.Duration(time.Now().UnixMilli()-src.BeganMs)*time.Millisecond, outcome{live: live, held: held}.memory())
		}
	}()
	r, err := play(ctx, func(s beam.Scope) {
		l, r := beam.ParDo2(s, &src, beam.Impulse(s))
		discard(s, joins.Interval(s, joins.Config{Upper: o.window, Type: joins.Type(o.joinType), Watermarked: true, Shards: o.shards}, idsOf, l, r).Rows)
	})
	close(done)
	fmt.Printf("%d rows\n", r.rows)
	return err
}
