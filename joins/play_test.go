package joins_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/tally"
	"tidemark/joins"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

const ms = time.Millisecond

// event is an element of either side on a Timeline; or, without a side, a tick: what
// comes out before one is of the steps before it.
type event struct{ Side, Key, ID string }

// marked is an event with the watermark of its source.
type marked struct {
	Event event
	Mark  int64
}

// lrow and rrow are the values of both sides. Mark is the watermark of their source,
// where it has one.
type (
	lrow struct {
		ID   string
		Mark int64
	}
	rrow struct {
		Mark int64
		ID   string
	}
)

func (r lrow) WatermarkMs() int64 { return r.Mark }
func (r rrow) WatermarkMs() int64 { return r.Mark }

// said is what has come out: a "row", something "late" or "over" the limit of a
// "left" or "right" side, or a tick.
type said struct{ Kind, Side, Key, Left, Right string }

func init() {
	for _, t := range []reflect.Type{reflect.TypeFor[event](), reflect.TypeFor[marked](), reflect.TypeFor[lrow](), reflect.TypeFor[rrow](), reflect.TypeFor[said]()} {
		beam.RegisterType(t)
	}
	register.Function4x0(part)
	register.Function4x0(partLive)
	register.Function4x0(partMarked)
	register.Function3x1(rowOf)
	register.Function2x1(lateLeft)
	register.Function2x1(lateRight)
	register.Function2x1(overLeft)
	register.Function2x1(overRight)
	register.Emitter2[string, lrow]()
	register.Emitter2[string, rrow]()
	register.Emitter1[said]()
}

func part(e event, l func(string, lrow), r func(string, rrow), tick func(said)) {
	partAt(0, e, l, r, tick)
}

func partLive(mark int64, e event, l func(string, lrow), r func(string, rrow)) {
	partAt(mark, e, l, r, nil)
}

func partMarked(m marked, l func(string, lrow), r func(string, rrow), tick func(said)) {
	partAt(m.Mark, m.Event, l, r, tick)
}

func partAt(mark int64, e event, l func(string, lrow), r func(string, rrow), tick func(said)) {
	switch e.Side {
	case "left":
		l(e.Key, lrow{ID: e.ID, Mark: mark})
	case "right":
		r(e.Key, rrow{ID: e.ID, Mark: mark})
	default:
		tick(said{Kind: "tick"})
	}
}

func rowOf(k string, l *lrow, r *rrow) said {
	row := said{Kind: "row", Key: k}
	if l != nil {
		row.Left = l.ID
	}
	if r != nil {
		row.Right = r.ID
	}
	return row
}

func lateLeft(k string, v lrow) said  { return said{"late", "left", k, v.ID, ""} }
func lateRight(k string, v rrow) said { return said{"late", "right", k, "", v.ID} }
func overLeft(k string, v lrow) said  { return said{"over", "left", k, v.ID, ""} }
func overRight(k string, v rrow) said { return said{"over", "right", k, "", v.ID} }

// allOf is all outputs of a join in one.
func allOf(s beam.Scope, j joins.Joined, more ...beam.PCollection) beam.PCollection {
	return beam.Flatten(s, append(more, j.Rows,
		beam.ParDo(s, lateLeft, j.LateLeft), beam.ParDo(s, lateRight, j.LateRight),
		beam.ParDo(s, overLeft, j.OverLimitLeft), beam.ParDo(s, overRight, j.OverLimitRight))...)
}

// outcome is what came out of joins.Interval. Steps are counted by ticks.
type outcome struct {
	rows        []oracle.JoinRow
	late        []oracle.JoinLate
	over        []oracle.JoinLate
	left, right oracle.JoinCounts // without what is over the limit
}

// source makes both sides of a join, and ticks.
type source func(s beam.Scope) (l, r beam.PCollection, ticks []beam.PCollection)

// stepwise plays a Timeline of events exactly.
func stepwise(tl *streamtest.Timeline) source {
	return func(s beam.Scope) (l, r beam.PCollection, ticks []beam.PCollection) {
		l, r, tick := beam.ParDo3(s, part, tl.Create(s))
		return l, r, []beam.PCollection{tick}
	}
}

// live plays a Timeline of events as a live source does, whose elements have marks.
func live(tl *streamtest.Timeline, perBundle int) source {
	return func(s beam.Scope) (l, r beam.PCollection, ticks []beam.PCollection) {
		l, r = beam.ParDo2(s, partLive, tl.Live(s, perBundle))
		return l, r, nil
	}
}

// stepwiseMarked plays a Timeline of marked events exactly.
func stepwiseMarked(tl *streamtest.Timeline) source {
	return func(s beam.Scope) (l, r beam.PCollection, ticks []beam.PCollection) {
		l, r, tick := beam.ParDo3(s, partMarked, tl.Create(s))
		return l, r, []beam.PCollection{tick}
	}
}

// play joins what a source makes. It checks the windows of all outputs, and the
// conservation law of each side.
func play(t *testing.T, cfg joins.Config, from source) outcome {
	t.Helper()
	var all *streamtest.Captured
	var count *tally.Tally
	streamtest.Run(t, func(s beam.Scope) {
		count = tally.Start()
		l, r, ticks := from(s)
		all = streamtest.Capture(s, allOf(s, joins.Interval(s, cfg, rowOf, l, r), ticks...))
	})
	return outcomeOf(t, all, count)
}

// outcomeOf is what was captured of a join, with its counts.
func outcomeOf(t *testing.T, all *streamtest.Captured, count *tally.Tally) outcome {
	t.Helper()
	var out outcome
	step := 0
	for _, e := range streamtest.Elements[said](all) {
		v := e.Value
		if !e.Global {
			t.Errorf("%+v at %d ms in the window [%d,%d), want the global one", v, e.TimeMs, e.StartMs, e.EndMs)
		}
		refused := oracle.JoinLate{Side: v.Side, Element: oracle.JoinElement{Key: v.Key, ID: v.Left + v.Right, TimeMs: e.TimeMs}, Step: step}
		switch v.Kind {
		case "row":
			out.rows = append(out.rows, oracle.JoinRow{Key: v.Key, Left: v.Left, Right: v.Right, TimeMs: e.TimeMs, Step: step})
		case "late":
			out.late = append(out.late, refused)
		case "over":
			out.over = append(out.over, refused)
		default:
			step++
		}
	}
	out.count(t, count)
	return out
}

// count reads what a run has counted, and checks that it adds up.
func (o *outcome) count(t *testing.T, n *tally.Tally) {
	t.Helper()
	var late, over [2]int64
	for _, l := range o.late {
		late[sideOf(l.Side)]++
	}
	for _, l := range o.over {
		over[sideOf(l.Side)]++
	}
	o.left = oracle.JoinCounts{
		Assigned: n.Get(tally.LeftAssigned), Joined: n.Get(tally.LeftJoined),
		Unmatched: n.Get(tally.LeftUnmatched), Late: n.Get(tally.LeftLate),
	}
	o.right = oracle.JoinCounts{
		Assigned: n.Get(tally.RightAssigned), Joined: n.Get(tally.RightJoined),
		Unmatched: n.Get(tally.RightUnmatched), Late: n.Get(tally.RightLate),
	}
	limited := [2]int64{n.Get(tally.LeftOverLimit), n.Get(tally.RightOverLimit)}
	for s, c := range []oracle.JoinCounts{o.left, o.right} {
		if c.Assigned != c.Joined+c.Unmatched+c.Late+limited[s] || c.Late != late[s] || limited[s] != over[s] {
			t.Errorf("side %d: %+v and %d over the limit, with %d late and %d elements over the limit", s, c, limited[s], late[s], over[s])
		}
	}
	for k, want := range map[tally.Kind]int64{
		tally.Assigned:  o.left.Assigned + o.right.Assigned,
		tally.Added:     o.left.Joined + o.left.Unmatched + o.right.Joined + o.right.Unmatched,
		tally.Late:      o.left.Late + o.right.Late,
		tally.OverLimit: limited[0] + limited[1],
	} {
		if got := n.Get(k); got != want {
			t.Errorf("%s = %d, want %d", tally.Names[k], got, want)
		}
	}
}

func sideOf(name string) int {
	if name == "left" {
		return 0
	}
	return 1
}

// equals compares what came out with what the oracle says: every row and late element
// with its time and step, and the counts.
func (o outcome) equals(t *testing.T, kind string, want oracle.JoinResult) {
	t.Helper()
	if diff := streamtest.Diff(want.Rows, o.rows); diff != "" {
		t.Errorf("rows: %s", diff)
	}
	if diff := streamtest.Diff(want.Late, o.late); diff != "" {
		t.Errorf("late: %s", diff)
	}
	if len(o.over) > 0 {
		t.Errorf("over the limit: %+v", o.over)
	}
	right := o.right
	if kind == "left_semi" || kind == "left_anti" {
		// Left elements are forgotten once they have a partner: which of its right ones
		// have had any is not known.
		right.Joined, right.Unmatched = want.Right.Joined, right.Joined+right.Unmatched-want.Right.Joined
	}
	if o.left != want.Left || right != want.Right {
		t.Errorf("left %+v, right %+v; want %+v, %+v", o.left, right, want.Left, want.Right)
	}
}

// configOf is what the oracle was asked for.
func configOf(cfg oracle.JoinConfig) joins.Config {
	return joins.Config{
		Lower: time.Duration(cfg.LowerMs) * ms, Upper: time.Duration(cfg.UpperMs) * ms,
		ExclusiveLower: cfg.ExclusiveLower, ExclusiveUpper: cfg.ExclusiveUpper,
		Type: joins.Type(cfg.Type), AllowedLateness: time.Duration(cfg.LatenessMs) * ms,
	}
}

// timelineOf is a script, with a tick behind each step if ticks is set.
func timelineOf(steps []oracle.JoinStep, ticks bool) *streamtest.Timeline {
	var tl streamtest.Timeline
	for _, st := range steps {
		switch {
		case st.Left != nil:
			tl.At(st.Left.TimeMs, event{"left", st.Left.Key, st.Left.ID})
		case st.Right != nil:
			tl.At(st.Right.TimeMs, event{"right", st.Right.Key, st.Right.ID})
		default:
			tl.Watermark(st.WatermarkMs)
		}
		if ticks {
			tl.At(0, event{})
		}
	}
	return &tl
}

// anyStep is a result without steps, for scripts without ticks.
func anyStep(res oracle.JoinResult) oracle.JoinResult {
	res.Rows, res.Late = slices.Clone(res.Rows), slices.Clone(res.Late)
	for i := range res.Rows {
		res.Rows[i].Step = 0
	}
	for i := range res.Late {
		res.Late[i].Step = 0
	}
	return res
}
