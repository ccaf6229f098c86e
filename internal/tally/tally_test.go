package tally_test

import (
	"context"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"tidemark/internal/tally"
)

func TestMain(m *testing.M) {
	log.LogLevel = "error"
	ptest.Main(m)
}

var kinds = []tally.Kind{tally.Read, tally.Bad, tally.Assigned, tally.Added, tally.Corrected, tally.Late, tally.Overflowed}

func TestCounts(t *testing.T) {
	counts := tally.Start()
	if tally.Current() != counts {
		t.Error("the run that was started last is not the current one")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i, k := range kinds {
				for range 100 {
					counts.Inc(t.Context(), k, int64(i))
				}
			}
		})
	}
	all.Wait()
	for i, k := range kinds {
		if got, want := counts.Get(k), int64(800*i); got != want {
			t.Errorf("%s = %d, want %d", tally.Names[k], got, want)
		}
	}
}

// TestRunsAreApart checks that a worker of a run that was given up does not count
// for the next one.
func TestRunsAreApart(t *testing.T) {
	first := tally.Start()
	second := tally.Start()
	first.Inc(t.Context(), tally.Read, 5)
	second.Inc(t.Context(), tally.Read, 7)
	if a, b := first.Get(tally.Read), second.Get(tally.Read); a != 5 || b != 7 {
		t.Errorf("%d and %d, want 5 and 7", a, b)
	}
}

func init() { register.DoFn2x0[context.Context, int](&countFn{}) }

type countFn struct{ tally *tally.Tally }

func (f *countFn) Setup() { f.tally = tally.Current() }

func (f *countFn) ProcessElement(ctx context.Context, n int) {
	f.tally.Inc(ctx, tally.Late, int64(n))
	f.tally.Inc(ctx, tally.Bad, 0)
}

// TestCounters checks that the counts are Beam's counters too.
func TestCounters(t *testing.T) {
	counts := tally.Start()
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &countFn{}, beam.Create(s, 1, 2, 39))
	res, err := ptest.RunWithMetrics(p)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, c := range res.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == tally.Namespace {
			got[c.Key.Name] += c.Committed
		}
	}
	if counts.Get(tally.Late) != 42 || got["late"] != 42 || len(got) != 1 {
		t.Errorf("%d in the process and counters %v, want 42 late", counts.Get(tally.Late), got)
	}
}

// TestExample checks that the first note is kept, for each run.
func TestExample(t *testing.T) {
	counts := tally.Start()
	if got := counts.Example(); got != "" {
		t.Errorf("%q before anything", got)
	}
	counts.Blame("line 3")
	counts.Blame("line 1")
	if got := counts.Example(); got != "line 3" {
		t.Errorf("%q, want the first", got)
	}
	if got := tally.Start().Example(); got != "" {
		t.Errorf("%q in the next run", got)
	}
}
