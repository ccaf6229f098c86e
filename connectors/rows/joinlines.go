package rows

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/internal/halt"
	"tidemark/internal/tally"
)

func init() {
	register.DoFn4x0[context.Context, beam.EventTime, Joined, emitLines](&joinLinesFn{})
	register.DoFn4x0[beam.EventTime, string, files.Row, emitLines](&joinLateLinesFn{})
	register.DoFn4x0[beam.EventTime, string, files.Row, emitLines](&overLimitLinesFn{})
}

// Decided is the delay of rows that are due when they come, for [JoinLines].
const Decided = math.MinInt64

// JoinLines packs PCollection<Joined> into lines for package sink.
//
// A row of one side alone, of time t, says that nothing will match its record,
// which is so when the watermark reaches t + leftDueMs, or t + rightDueMs where
// there is no left side. Those that were not due when the run was asked to end are
// left out, unless it drains, and counted as open. Both delays are in ms: of an
// interval with the inclusive bounds lower and upper, and an allowed lateness,
//
//	leftDueMs  = upper + lateness + 1
//	rightDueMs = -lower + lateness + 1
//
// and leftDueMs = Decided for a left semi join, whose rows stand for pairs. Rows of
// two sides are always there.
func JoinLines(s beam.Scope, f Format, leftDueMs, rightDueMs int64, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &joinLinesFn{Format: f, LeftDueMs: leftDueMs, RightDueMs: rightDueMs}, col)
}

// JoinLateLines packs the late records of a side, PCollection<KV<string,
// files.Row>> by key at their event times, into lines for package sink. Other
// formats than CSV are JSON.
func JoinLateLines(s beam.Scope, f Format, side Side, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &joinLateLinesFn{Format: f, Side: side}, col)
}

// OverLimitLines packs the records of a side that came when their key had as many,
// of both sides, as the limit allows, PCollection<KV<string, files.Row>> by key,
// into lines of bad records for package sink. Other formats than CSV are JSON.
func OverLimitLines(s beam.Scope, f Format, side Side, limit int, col beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &overLimitLinesFn{Format: f, Side: side, Limit: limit}, col)
}

// shownKey is how much of a key reasons quote, in characters.
const shownKey = 100

// OverLimitReason is what is wrong with a record of a side that came when its key had
// as many, of both sides, as the limit allows.
func OverLimitReason(key string, side Side, limit int) string {
	return fmt.Sprintf("key %.*q holds %d rows, the limit on a key: this %s one is not joined", shownKey, key, limit, side)
}

type joinLinesFn struct {
	Format                Format
	LeftDueMs, RightDueMs int64
	liner

	halt  *halt.Switch
	tally *tally.Tally
}

func (f *joinLinesFn) Setup() { f.halt, f.tally = halt.Current(), tally.Current() }

func (f *joinLinesFn) ProcessElement(ctx context.Context, et beam.EventTime, j Joined, emit emitLines) {
	ms := et.Milliseconds()
	switch {
	case j.Right == nil && f.isOpen(ms, f.LeftDueMs):
		f.tally.Inc(ctx, tally.LeftOpen, 1)
		return
	case j.Left == nil && f.isOpen(ms, f.RightDueMs):
		f.tally.Inc(ctx, tally.RightOpen, 1)
		return
	}
	f.order, f.text = OrderJoined(f.order[:0], ms, &j), appendJoined(f.text[:0], f.Format, ms, &j)
	f.add(et, emit)
}

// isOpen reports whether a row of one side was undecided when the run was asked to
// end.
func (f *joinLinesFn) isOpen(ms, dueMs int64) bool {
	return dueMs != Decided && !f.halt.Shows(ms+dueMs)
}

type joinLateLinesFn struct {
	Format Format
	Side   Side
	liner
}

func (f *joinLateLinesFn) ProcessElement(et beam.EventTime, key string, r files.Row, emit emitLines) {
	rec := JoinLate{Side: f.Side, Key: key, Event: r.Raw, TimeMs: et.Milliseconds(), Source: r.Source, Position: r.Position}
	f.order = orderText(OrderRecord(f.order[:0], r.Source, r.Position), string(f.Side))
	f.text = appendJoinLate(f.text[:0], f.Format, &rec)
	f.add(et, emit)
}

type overLimitLinesFn struct {
	Format Format
	Side   Side
	Limit  int
	liner
}

func (f *overLimitLinesFn) ProcessElement(et beam.EventTime, key string, r files.Row, emit emitLines) {
	rec := Bad{Source: r.Source, Position: r.Position, Raw: r.Raw, Reason: OverLimitReason(key, f.Side, f.Limit)}
	f.order = orderText(OrderRecord(f.order[:0], r.Source, r.Position), string(f.Side))
	f.text = appendSideBad(f.text[:0], f.Format, f.Side, &rec)
	f.add(et, emit)
}
