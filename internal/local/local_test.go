package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/local"
)

// starved is what a job ends with when Prism has failed for want of CPU time.
const starved = `job job-001 failed:
panic in stage.Execute bundle processing goroutine: runtime error: invalid memory address or nil pointer dereference, stage: &{ID:stage-003 transforms:[e12]},stackTrace:
goroutine 301 [running]:
runtime/debug.Stack()
github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal/worker.(*W).NextInst(...)
github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal/worker.(*B).Progress(0x1b2a3c)
`

func TestIsRunnerFault(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"starved", errors.New(starved), true},
		{"wrapped", fmt.Errorf("job: %w", errors.New(starved)), true},
		{"no stack", errors.New("panic in stage.Execute bundle processing goroutine: runtime error: invalid memory address or nil pointer dereference"), true},
		{"stuck", errors.New("job job-001 failed:\nnothing in progress and no refreshes with non zero pending elements: 1\nstage-002 watermark in -inf"), true},
		{"another panic of the runner", errors.New("panic in stage.Execute bundle processing goroutine: unknown coder urn beam:coder:x"), false},
		{"a pipeline's own fault", errors.New("DoFn[UID:1] failed:\nruntime error: invalid memory address or nil pointer dereference"), false},
		{"reading", errors.New("reading orders.ndjson: input/output error"), false},
		{"canceled", context.Canceled, false},
	} {
		if got := local.IsRunnerFault(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// result stands for what a pipeline returns.
type result struct {
	beam.PipelineResult
	number int
}

func TestRun(t *testing.T) {
	fault, own := errors.New(starved), errors.New("disk full")
	for _, c := range []struct {
		name     string
		outcomes []error // of the attempts, in order; the last one's is what Run returns
	}{
		{"success", []error{nil}},
		{"a fault of its own", []error{own}},
		{"one fault of the runner", []error{fault, nil}},
		{"one fault of each", []error{fault, own}},
		{"the last attempt succeeds", []error{fault, fault, fault, fault, nil}},
		{"the runner fails always", []error{fault, fault, fault, fault, fault}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tried, restarted, want []string
			res, err := local.Run(t.Context(), func(_ context.Context, n int) (beam.PipelineResult, error) {
				tried = append(tried, fmt.Sprint(n))
				if n > len(c.outcomes) {
					t.Fatalf("attempt %d, want %d at most", n, len(c.outcomes))
				}
				return result{number: n}, c.outcomes[n-1]
			}, func(n int, err error) {
				restarted = append(restarted, fmt.Sprint(n, err))
			})
			last := len(c.outcomes)
			if err != c.outcomes[last-1] || res.(result).number != last { //nolint:errorlint // the very same
				t.Errorf("result of attempt %d, %v, want %d, %v", res.(result).number, err, last, c.outcomes[last-1])
			}
			if len(tried) != last {
				t.Errorf("attempts %q, want %d", tried, last)
			}
			for n := 2; n <= last; n++ {
				want = append(want, fmt.Sprint(n, c.outcomes[n-2]))
			}
			if diff := cmp.Diff(want, restarted); diff != "" {
				t.Errorf("restarts: mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRunCanceled checks that nothing starts again after an interrupt.
func TestRunCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	_, err := local.Run(ctx, func(ctx context.Context, _ int) (beam.PipelineResult, error) {
		tries++
		cancel()
		if ctx.Err() == nil {
			t.Error("the attempt has another context")
		}
		return nil, errors.New(starved)
	}, func(int, error) { t.Error("a restart") })
	if tries != 1 || err == nil {
		t.Errorf("%d attempts, error %v, want one and an error", tries, err)
	}
}

func init() {
	register.Function1x2(faint)
	register.Function1x1(crash)
}

// calls counts what faint has done.
var calls atomic.Int32

// faint fails the first time as the runner does when it is starved.
func faint(n int) (int, error) {
	if calls.Add(1) == 1 {
		return 0, errors.New(starved)
	}
	return n, nil
}

// crash dereferences nil, as a careless user's DoFn might.
func crash(n int) int {
	var p *int
	if n > 0 {
		return *p
	}
	return n
}

// TestRunOnPrism sees errors as the runner hands them on.
func TestRunOnPrism(t *testing.T) {
	run := func(fn any) (attempts int, err error) {
		_, err = local.Run(t.Context(), func(ctx context.Context, n int) (beam.PipelineResult, error) {
			attempts = n
			p, s := beam.NewPipelineWithRoot()
			beam.ParDo(s, fn, beam.Create(s, 1))
			return beam.Run(ctx, "prism", p)
		}, func(int, error) {})
		return attempts, err
	}
	calls.Store(0)
	if n, err := run(faint); n != 2 || err != nil {
		t.Errorf("a fault of the runner: %d attempts, %v, want 2 and none", n, err)
	}
	if n, err := run(crash); n != 1 || err == nil {
		t.Errorf("a nil dereference in a DoFn: %d attempts, %v, want 1 and an error", n, err)
	}
}

func TestPrepare(t *testing.T) {
	const noSplits = "prism_disable_sdf_split"
	was := *jobopts.Experiments
	t.Cleanup(func() { *jobopts.Experiments = was })
	for _, c := range []struct{ before, after string }{
		{"", noSplits},
		{noSplits, noSplits},
		{"a,b", "a,b," + noSplits},
		{"a," + noSplits, "a," + noSplits},
	} {
		*jobopts.Experiments = c.before
		local.Prepare()
		local.Prepare()
		if got := *jobopts.Experiments; got != c.after {
			t.Errorf("experiments %q, want %q", got, c.after)
		}
	}
}

func TestPrepareProcs(t *testing.T) {
	t.Cleanup(func(n int) func() { return func() { runtime.GOMAXPROCS(n) } }(runtime.GOMAXPROCS(0)))
	for _, c := range []struct{ before, after int }{{1, 4}, {4, 4}, {9, 9}} {
		runtime.GOMAXPROCS(c.before)
		local.Prepare()
		if got := runtime.GOMAXPROCS(0); got != c.after {
			t.Errorf("GOMAXPROCS %d, want %d", got, c.after)
		}
	}
}

// TestPrepareCollector checks that the user's own GOGC stays.
func TestPrepareCollector(t *testing.T) {
	was := debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetGCPercent(was) })
	t.Setenv("GOGC", "77")
	local.Prepare()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("with GOGC=77: %d", got)
	}
	if err := os.Unsetenv("GOGC"); err != nil {
		t.Fatal(err)
	}
	local.Prepare()
	if got := debug.SetGCPercent(77); got <= 100 {
		t.Errorf("without GOGC: %d, want more than the default", got)
	}
}
