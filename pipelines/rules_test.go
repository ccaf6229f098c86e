package pipelines

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"tidemark/internal/portability"
)

// excepted are the transforms that may break a rule, by the ends of their names.
var excepted = []struct {
	rule      portability.Rule
	transform string
	why       string
}{
	{portability.Watermarks, "files.readFn", "batch: nothing is to fire before the end"},
	{portability.Watermarks, "files.readRowsFn", "batch: nothing is to fire before the end"},
	{portability.Watermarks, "streamtest.settleFn", "timelines, which are for the embedded runner only"},
}

// What a runner in another process cannot do is in no pipeline, whatever its
// configuration is, and transforms have the same names from build to build and for
// all values of the configuration.
func TestRules(t *testing.T) {
	used, ran := make(map[string]bool), 0
	shapes := slices.Concat(windowShapes(), joinShapes(), libraryShapes())
	for _, sh := range shapes {
		t.Run(sh.name, func(t *testing.T) {
			ran++
			p := built(t, sh, 1)
			found, err := portability.Check(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range found {
				if e, ok := exceptionOf(v); ok {
					used[e] = true
				} else {
					t.Error(v)
				}
			}
			for _, v := range portability.Renamed(modelOf(t, p), modelOf(t, built(t, sh, 2))) {
				t.Error(v)
			}
		})
	}
	for _, e := range excepted {
		if ran == len(shapes) && !used[e.transform] {
			t.Errorf("%s breaks no rule any more, want it out of the exceptions", e.transform)
		}
	}
}

// exceptionOf finds the exception that allows v.
func exceptionOf(v portability.Violation) (transform string, ok bool) {
	for _, e := range excepted {
		if e.rule == v.Rule && (v.Transform == e.transform || strings.HasSuffix(v.Transform, "/"+e.transform)) {
			return e.transform, true
		}
	}
	return "", false
}

func built(t *testing.T, sh shape, n int) *beam.Pipeline {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	if err := sh.build(s, n); err != nil {
		t.Fatal(err)
	}
	return p
}

func modelOf(t *testing.T, p *beam.Pipeline) *pipepb.Pipeline {
	t.Helper()
	model, err := portability.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return model
}
