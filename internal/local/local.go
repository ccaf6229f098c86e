// Package local runs pipelines on the embedded Prism runner, around its faults.
package local

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

const (
	// minProcs is how many Ps a process with an embedded Prism needs at least:
	// Prism waits actively for bundles whose outputs are complete.
	minProcs = 4

	// noSplits keeps Prism from splitting sources that are running: it loses
	// and doubles elements of those that checkpoint themselves.
	noSplits = "prism_disable_sdf_split"

	// Attempts is how often a pipeline is run at most.
	Attempts = 5
)

// Prepare readies the process for an embedded Prism: at least 4 Ps, fewer
// collections while the heap is small, where GOGC is not set, and no splits of
// running sources. Call it before a pipeline is run.
func Prepare() {
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(rareGC)
		collector.Do(func() { afterGC(new(tuner)) })
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

// An Attempt builds and runs a pipeline once. Everything that it writes must
// count only if it returns no error.
type Attempt func(ctx context.Context, number int) (beam.PipelineResult, error)

// Run makes attempts, numbered from 1, until one ends well or fails for another
// reason than a fault of the runner. Restarting is called before each further
// one with the error of the last.
func Run(ctx context.Context, try Attempt, restarting func(number int, err error)) (beam.PipelineResult, error) {
	for n := 1; ; n++ {
		res, err := try(ctx, n)
		if err == nil || n == Attempts || !IsRunnerFault(err) || ctx.Err() != nil {
			return res, err
		}
		restarting(n+1, err)
	}
}
