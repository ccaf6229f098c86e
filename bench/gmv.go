package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"tidemark/transforms/gate"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function2x2(pairOf)
	register.Function2x1(unmark)
	register.Function3x0(count)
	register.Emitter2[int64, int64]()
	register.Function1x1(minorOf)
	register.Function2x1(dropKey)
	register.DoFn2x0[int64, emitTally](&tallyFn{})
	register.Emitter3[beam.EventTime, int64, int64]()
	register.Function2x0(countLate)
}

// The sinks run in this process and only count.
var sunkRows, sunkMinor, sunkLate atomic.Int64

func countLate(_ gate.Missed, o order)        { sunkLate.Add(1); sunkMinor.Add(o.Minor) }
func pairOf(_ int64, o order) (string, int64) { return o.Company, o.Minor }
func unmark(_ int64, o order) order           { return o }

func count(rows, minor int64, _ func(int64, int64)) { sunkRows.Add(rows); sunkMinor.Add(minor) }

func minorOf(r gmv.Row) int64 {
	if r.PreviousMinor != nil {
		return r.Minor - *r.PreviousMinor
	}
	return r.Minor
}

func dropKey(_ string, minor int64) int64 { return minor }

// discard counts what comes, one packed element a bundle. The Reshuffle between
// keeps Prism from spinning while a sink runs, and gives both sides the same.
func discard(s beam.Scope, minors beam.PCollection) {
	global := beam.WindowInto(s, window.NewGlobalWindows(), minors)
	quiet(s, beam.ParDo(s, count, beam.Reshuffle(s, beam.ParDo(s, &tallyFn{}, global))))
}

// quiet ends a branch whose last DoFn emits nothing. Prism spins on a core
// while a stage without outputs runs; a GroupByKey of nothing gives it one.
func quiet(s beam.Scope, nothing beam.PCollection) {
	beam.GroupByKey(s, nothing)
}

type emitTally = func(beam.EventTime, int64, int64)

// tallyFn adds up a bundle.
type tallyFn struct{ rows, minor int64 }

func (f *tallyFn) StartBundle(emitTally) { f.rows, f.minor = 0, 0 }

func (f *tallyFn) ProcessElement(minor int64, _ emitTally) {
	f.rows++
	f.minor += minor
}

func (f *tallyFn) FinishBundle(emit emitTally) { emit(startMs, f.rows, f.minor) }

func orders(s beam.Scope, src *ordersFn) beam.PCollection {
	return beam.ParDo(s, src, beam.Impulse(s))
}

// plain is what a Beam Go user would write: no late output, no corrections.
func plain(s beam.Scope, src *ordersFn, size time.Duration) {
	pairs := beam.ParDo(s, pairOf, orders(s, src))
	sums := stats.SumPerKey(s, beam.WindowInto(s, window.NewFixedWindows(size), pairs))
	discard(s, beam.ParDo(s, dropKey, sums))
}

// ours is the same with late routing; marked says whether the source's word on
// its watermark is used.
func ours(s beam.Scope, src *ordersFn, size time.Duration, shards int, marked bool) {
	in := orders(s, src)
	if !marked {
		in = beam.ParDo(s, unmark, in)
	}
	rows, _, late := gmv.PerKey(s, gmv.Config{Windows: windowfns.Tumbling{Size: size}, Watermarked: marked, Shards: shards}, entryOf, in)
	discard(s, beam.ParDo(s, minorOf, rows))
	beam.ParDo0(s, countLate, late)
}

// compare prints the rates of the pipelines and their ratios.
func compare(ctx context.Context, src ordersFn, size time.Duration, shards, rounds int, only string) error {
	cases := []struct {
		name  string
		build func(beam.Scope)
	}{
		{"plain", func(s beam.Scope) { src := src; plain(s, &src, size) }},
		{"tidemark", func(s beam.Scope) { src := src; ours(s, &src, size, shards, true) }},
		{"tidemark-unmarked", func(s beam.Scope) { src := src; ours(s, &src, size, shards, false) }},
	}
	rates := map[string][]float64{}
	var sum int64
	for range rounds {
		for _, c := range cases {
			if only != "" && only != c.name {
				continue
			}
			rate, rows, minor, late, err := measure(ctx, src.Orders, c.build)
			if err != nil {
				return err
			}
			if sum == 0 {
				sum = minor
			}
			if minor != sum {
				return fmt.Errorf("%s: the sum of all rows and late records is %d, want %d", c.name, minor, sum)
			}
			rates[c.name] = append(rates[c.name], rate)
			fmt.Printf("%-18s %9.0f events/s  %d rows, %d late\n", c.name, rate, rows, late)
		}
	}
	for _, c := range cases {
		r := median(rates[c.name])
		if r == 0 {
			continue
		}
		fmt.Printf("%-18s %9.0f events/s, the median of %d", c.name, r, rounds)
		if base := median(rates["plain"]); base > 0 {
			fmt.Printf(": %.1f x plain", r/base)
		}
		fmt.Println()
	}
	return nil
}

// measure runs a pipeline and returns how many events a second it did, and what
// its sinks counted.
func measure(ctx context.Context, events int64, build func(beam.Scope)) (rate float64, rows, minor, late int64, err error) {
	sunkRows.Store(0)
	sunkMinor.Store(0)
	sunkLate.Store(0)
	p, s := beam.NewPipelineWithRoot()
	build(s)
	begin := time.Now()
	if err := run(ctx, p); err != nil {
		return 0, 0, 0, 0, err
	}
	return float64(events) / time.Since(begin).Seconds(), sunkRows.Load(), sunkMinor.Load(), sunkLate.Load(), nil
}
