package oracle_test

import (
	"testing"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// TestJoinCases plays the timelines of testdata/joins, whose lines are derived by
// hand.
func TestJoinCases(t *testing.T) {
	cases, err := casefile.ReadJoins("testdata/joins")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, c := range cases {
		types[c.Config.Type] = true
		t.Run(c.Name, func(t *testing.T) {
			res := c.Config.Play(c.Steps)
			compare(t, c.Want, c.Lines(res))
		})
	}
	if len(types) != len(oracle.JoinTypes) {
		t.Errorf("cases of %v only", types)
	}
}
