package joins_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// TestCases plays the timelines of package oracle, whose lines are derived by hand,
// step by step, and compares what comes out, and when, with what the file says.
func TestCases(t *testing.T) {
	cases, err := casefile.ReadJoins("../testing/oracle/testdata/joins")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			out := play(t, configOf(c.Config), stepwise(timelineOf(c.Steps, true)))
			if diff := cmp.Diff(c.Want, c.Lines(oracle.JoinResult{Rows: out.rows, Late: out.late})); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			out.equals(t, c.Config.Type, c.Config.Play(c.Steps))
		})
	}
}
