package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/average"
	"tidemark/windowfns"
)

func init() {
	register.Combiner3[meanSoFar, float64, mean](&meanFn{})
	register.Function2x2(valueAlone)
	register.Function2x1(minorOfMean)
	register.Function1x1(minorOfAverage)
	beam.RegisterType(reflect.TypeFor[mean]())
	beam.RegisterType(reflect.TypeFor[meanSoFar]())
}

// meanFn is what a Beam Go user would write: stats.MeanPerKey, with the count
// beside the mean.
type meanFn struct{}

type meanSoFar struct {
	Sum   float64
	Count int64
}

type mean struct {
	Mean  float64
	Count int64
}

func (*meanFn) CreateAccumulator() meanSoFar { return meanSoFar{} }

func (*meanFn) AddInput(a meanSoFar, x float64) meanSoFar { return meanSoFar{a.Sum + x, a.Count + 1} }

func (*meanFn) MergeAccumulators(a, b meanSoFar) meanSoFar {
	return meanSoFar{a.Sum + b.Sum, a.Count + b.Count}
}

func (*meanFn) ExtractOutput(a meanSoFar) mean { return mean{a.Sum / float64(a.Count), a.Count} }

func valueAlone(_ int64, o order) (string, float64) { return o.Company, priceOf(o.Minor) }

func minorOfMean(_ string, m mean) int64 { return minorOfPrice(m.Mean * float64(m.Count)) }

// minorOfAverage is for averages without corrections, which have one row each.
func minorOfAverage(r average.Row) int64 { return minorOfPrice(*r.Sum) }

// averageInMemory is [gmvInMemory] for averages over sliding windows.
func averageInMemory(ctx context.Context, o options) error {
	each, err := windowsEach(o.window, o.period)
	if err != nil {
		return err
	}
	plain := func(s beam.Scope, in beam.PCollection) {
		values := beam.WindowInto(s, window.NewSlidingWindows(o.period, o.window), beam.ParDo(s, valueAlone, in))
		discard(s, beam.ParDo(s, minorOfMean, beam.CombinePerKey(s, &meanFn{}, values)))
	}
	ours := func(s beam.Scope, marked bool, in beam.PCollection) {
		cfg := average.Config{Windows: windowfns.Sliding{Size: o.window, Period: o.period}, Watermarked: marked, Shards: o.shards}
		rows, late := average.PerKey(s, cfg, valueOf, in)
		discard(s, beam.ParDo(s, minorOfAverage, rows))
		beam.ParDo0(s, countLate, late)
	}
	return againstPlain(ctx, o, each, plain, ours)
}

// windowsEach is how many windows an element has.
func windowsEach(size, period time.Duration) (int64, error) {
	if size < period || size%period != 0 {
		return 0, fmt.Errorf("windows of %v every %v, want a multiple", size, period)
	}
	return int64(size / period), nil
}
