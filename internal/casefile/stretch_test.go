package casefile_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
)

// unstretched are the cases that cannot be stretched: those of calendars, and those
// whose times are years apart.
var unstretched = map[string]bool{"day-dst": true, "month-dst": true, "time-zero": true, "centuries-late": true, "infinity": true}

// TestCoarse makes all cases coarse. They come to the same, and their watermarks are
// whole seconds.
func TestCoarse(t *testing.T) {
	for _, dir := range []string{"../../transforms/gmv/testdata/cases", "../../testing/oracle/testdata/panes"} {
		cases, err := casefile.ReadAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			k, err := c.Coarse()
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			if diff := cmp.Diff(c.Want, k.Oracle()); diff != "" {
				t.Errorf("%s: mismatch (-want +got):\n%s", c.Name, diff)
			}
			if same := k.Config.Windows == c.Config.Windows; same != unstretched[c.Name] {
				t.Errorf("%s has the windows %v, before that %v", c.Name, k.Config.Windows, c.Config.Windows)
			}
			for i, st := range k.Steps {
				if st.Element == nil {
					wholeSecond(t, c.Name, i, st.WatermarkMs)
				}
			}
		}
	}
}

func wholeSecond(t *testing.T, name string, step int, watermarkMs int64) {
	t.Helper()
	if watermarkMs%1000 != 0 && watermarkMs != math.MaxInt64 {
		t.Errorf("%s, step %d: watermark %d, want a whole second", name, step, watermarkMs)
	}
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
		if diff := cmp.Diff(c.Want, k.Oracle()); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.Name, diff)
		}
		for i, st := range k.Steps {
			if st.Left == nil && st.Right == nil {
				wholeSecond(t, c.Name, i, st.WatermarkMs)
			}
		}
	}
}

// TestReadTimeline reads a timeline of the command with what has to come out.
func TestReadTimeline(t *testing.T) {
	c, err := casefile.ReadTimeline("../../cmd/tidemark/testdata/timelines/sliding-partly-late.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Want, c.Oracle()); diff != "" || len(c.Want) != 8 {
		t.Errorf("%d lines, mismatch (-want +got):\n%s", len(c.Want), diff)
	}
}
