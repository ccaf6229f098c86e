package streamtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

const (
	// minProcs is how many Ps a process with an embedded Prism needs at least:
	// Prism waits actively for bundles of stages without outputs.
	minProcs = 4

	// noSplits keeps Prism from splitting sources that are running: it loses
	// and doubles elements of those that checkpoint themselves.
	noSplits = "prism_disable_sdf_split"

	// attempts is how often a pipeline is run at most if the runner fails.
	attempts = 4
)

// Main is ptest.Main for streaming pipelines; call it from TestMain. It logs
// warnings and errors only, and readies the process for Prism as [Run] does.
func Main(m *testing.M) {
	log.LogLevel = "warn"
	prepare()
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
	prepare()
	for n := 1; ; n++ {
		p, s := beam.NewPipelineWithRoot()
		build(s)
		res, err := ptest.RunWithMetrics(p)
		if err == nil || n == attempts || !IsRunnerFault(err) {
			return res, err
		}
	}
}

func prepare() {
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	switch opts := *jobopts.Experiments; {
	case strings.Contains(opts, noSplits):
	case opts == "":
		*jobopts.Experiments = noSplits
	default:
		*jobopts.Experiments = opts + "," + noSplits
	}
}

// IsRunnerFault reports whether err is a known fault of Prism that says nothing
// about the pipeline. Both come of a lack of CPU time: a stage that the runner
// executes itself can dereference nil when it asks for its progress, and a job
// whose source ends soon after it has checkpointed itself can get stuck.
func IsRunnerFault(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	crashed := strings.Contains(text, "panic in stage.Execute bundle processing goroutine") &&
		(strings.Contains(text, "NextInst") || strings.Contains(text, "invalid memory address"))
	stuck := strings.Contains(text, "nothing in progress and no refreshes with non zero pending elements")
	return crashed || stuck
}

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
