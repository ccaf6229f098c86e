package main

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function2x2(amountOf)
	register.Function1x1(minorOf)
	register.Function2x1(dropKey)
}

func amountOf(_ int64, o order) (string, int64) { return o.Company, o.Minor }

func minorOf(r gmv.Row) int64 {
	if r.PreviousMinor != nil {
		return r.Minor - *r.PreviousMinor
	}
	return r.Minor
}

func dropKey(_ string, minor int64) int64 { return minor }

// gmvInMemory compares GMV with what a Beam Go user would write: no late output,
// no corrections.
func gmvInMemory(ctx context.Context, o options) error {
	plain := func(s beam.Scope, in beam.PCollection) {
		amounts := beam.WindowInto(s, window.NewFixedWindows(o.window), beam.ParDo(s, amountOf, in))
		discard(s, beam.ParDo(s, dropKey, stats.SumPerKey(s, amounts)))
	}
	ours := func(s beam.Scope, marked bool, in beam.PCollection) {
		cfg := gmv.Config{Windows: windowfns.Tumbling{Size: o.window}, Watermarked: marked, Shards: o.shards}
		rows, _, late := gmv.PerKey(s, cfg, entryOf, in)
		discard(s, beam.ParDo(s, minorOf, rows))
		beam.ParDo0(s, countLate, late)
	}
	return againstPlain(ctx, o, 1, plain, ours)
}
