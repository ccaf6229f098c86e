package streamtest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
)

var seen = beam.NewCounter("streamtest", "seen")

func init() {
	register.Function2x1(refuseNegative)
}

func refuseNegative(ctx context.Context, n int) error {
	seen.Inc(ctx, 1)
	if n < 0 {
		return errors.New("refused: negative")
	}
	return nil
}

func TestRunCounts(t *testing.T) {
	res := streamtest.Run(t, func(s beam.Scope) { beam.ParDo0(s, refuseNegative, beam.Create(s, 1, 2, 3)) })
	if n := streamtest.Counter(res, "streamtest", "seen"); n != 3 {
		t.Errorf("counted %d, want 3", n)
	}
	if n := streamtest.Counter(res, "streamtest", "unheard of"); n != 0 {
		t.Errorf("counted %d, want 0", n)
	}
}

// A pipeline that fails by itself is run once.
func TestTryRunFails(t *testing.T) {
	builds := 0
	_, err := streamtest.TryRun(func(s beam.Scope) {
		builds++
		beam.ParDo0(s, refuseNegative, beam.Create(s, -1))
	})
	if err == nil || !strings.Contains(err.Error(), "refused: negative") {
		t.Errorf("err = %v, want the DoFn's own", err)
	}
	if builds != 1 || streamtest.IsRunnerFault(err) {
		t.Errorf("%d attempts, runner fault %v", builds, streamtest.IsRunnerFault(err))
	}
}

func TestIsRunnerFault(t *testing.T) {
	const bundle = "panic in stage.Execute bundle processing goroutine: "
	for text, want := range map[string]bool{
		bundle + "runtime error: invalid memory address or nil pointer dereference, stage: s1": true,
		bundle + "oops, stage: s1, stackTrace: worker.(*W).NextInst(...)":                      true,
		"job failed: nothing in progress and no refreshes with non zero pending elements: 48":  true,
		bundle + "element out of bounds":                                                       false,
		"invalid memory address or nil pointer dereference, in a DoFn":                         false,
		"refused": false,
	} {
		if got := streamtest.IsRunnerFault(errors.New(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if streamtest.IsRunnerFault(nil) {
		t.Error("nil is no fault")
	}
}

func TestReadied(t *testing.T) {
	if n := runtime.GOMAXPROCS(0); n < 4 {
		t.Errorf("GOMAXPROCS = %d, want at least 4", n)
	}
	if n := strings.Count(*jobopts.Experiments, "prism_disable_sdf_split"); n != 1 {
		t.Errorf("experiments = %q, want prism_disable_sdf_split once", *jobopts.Experiments)
	}
}
