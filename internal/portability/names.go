package portability

import (
	"maps"
	"slices"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// checkUnique finds names that several transforms have.
func checkUnique(model *pipepb.Pipeline) []Violation {
	var found []Violation
	count := namesOf(model)
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if n := count[name]; n > 1 {
			found = append(found, Violation{Names, name, "is the name of several transforms: runners that update a job cannot tell them apart"})
		}
	}
	return found
}

// Renamed compares the names of transforms in two models of pipelines of one
// shape: from build to build, or with other values in their configuration. Runners
// that update a job find the state of a transform by its name.
func Renamed(before, after *pipepb.Pipeline) []Violation {
	var found []Violation
	old, now := namesOf(before), namesOf(after)
	for name := range old {
		if now[name] == 0 {
			found = append(found, Violation{Names, name, "is gone: a job that is updated would lose its state"})
		}
	}
	for name := range now {
		if old[name] == 0 {
			found = append(found, Violation{Names, name, "is new: a job that is updated has no state for it"})
		}
	}
	return sorted(found)
}

// namesOf counts the names of transforms.
func namesOf(model *pipepb.Pipeline) map[string]int {
	count := make(map[string]int)
	for _, t := range model.GetComponents().GetTransforms() {
		count[t.GetUniqueName()]++
	}
	return count
}
