package streamtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Diff compares want and got as multisets and describes the difference, one
// that begins "mismatch (-want +got)", or returns "" if there is none. Equal
// elements are left out; those that remain are paired by their text. The
// options are cmp.Diff's, which also needs one to look into unexported fields.
func Diff[T any](want, got []T, opts ...cmp.Option) string {
	wantLeft, sorted := sortedByText(want), sortedByText(got)
	var gotLeft []T
	for _, g := range sorted {
		i := slices.IndexFunc(wantLeft, func(w T) bool { return cmp.Equal(w, g, opts...) })
		if i < 0 {
			gotLeft = append(gotLeft, g)
			continue
		}
		wantLeft = slices.Delete(wantLeft, i, i+1)
	}
	if len(wantLeft) == 0 && len(gotLeft) == 0 {
		return ""
	}
	equal := len(want) - len(wantLeft)
	return fmt.Sprintf("mismatch (-want +got), apart from %d equal elements:\n%s", equal, cmp.Diff(wantLeft, gotLeft, opts...))
}

// sortedByText returns values in the order of what they look like.
func sortedByText[T any](values []T) []T {
	type pair struct {
		text  string
		value T
	}
	pairs := make([]pair, len(values))
	for i, v := range values {
		pairs[i] = pair{text(v), v}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.text, b.text) })
	sorted := make([]T, len(values))
	for i, p := range pairs {
		sorted[i] = p.value
	}
	return sorted
}

// text is v as JSON, which looks behind pointers, if v can be put in JSON.
func text(v any) string {
	if doc, err := json.Marshal(v); err == nil {
		return string(doc)
	}
	return fmt.Sprintf("%+v", v)
}
