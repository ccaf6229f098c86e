package streamtest

import (
	"context"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"tidemark/internal/local"
	"tidemark/internal/tally"
)

// Main is ptest.Main for streaming pipelines; call it from TestMain. It logs
// warnings and errors only, and readies the process for Prism as [Run] does.
func Main(m *testing.M) {
	log.LogLevel = "warn"
	local.Prepare()
	ptest.Main(m)
}

// Run runs the pipeline that build makes and fails the test if it fails. Build
// is called anew for each attempt where the runner, not the pipeline, has
// failed (see [IsRunnerFault]), so that it has to make its captures itself.
//
// It raises GOMAXPROCS to at least 4, and adds the experiment
// prism_disable_sdf_split, without which Prism loses elements of sources that
// checkpoint themselves.
func Run(t testing.TB, build func(s beam.Scope)) beam.PipelineResult {
	t.Helper()
	res, err := TryRun(build)
	if err != nil {
		t.Fatalf("pipeline failed: %v", err)
	}
	return res
}

// TryRun is [Run] with the error returned, for tests of pipelines that are to
// fail.
func TryRun(build func(s beam.Scope)) (beam.PipelineResult, error) {
	local.Prepare()
	try := func(context.Context, int) (beam.PipelineResult, error) {
		tally.Start()
		p, s := beam.NewPipelineWithRoot()
		build(s)
		return ptest.RunWithMetrics(p)
	}
	return local.Run(context.Background(), try, func(int, error) {})
}

// IsRunnerFault reports whether err is a known fault of Prism that says nothing
// about the pipeline. Both come of a lack of CPU time: a stage that the runner
// executes itself can dereference nil when it asks for its progress, and a job
// whose source ends soon after it has checkpointed itself can get stuck.
func IsRunnerFault(err error) bool { return local.IsRunnerFault(err) }

// Counter is the committed value of a metric of a pipeline, summed over its
// steps; 0 if it was never counted.
func Counter(res beam.PipelineResult, namespace, name string) int64 {
	var n int64
	for _, c := range res.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == namespace && c.Key.Name == name {
			n += c.Committed
		}
	}
	return n
}
