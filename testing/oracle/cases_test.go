package oracle_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// TestCases plays the timelines of testdata/panes, whose rows are derived by hand,
// and those of money as averages too: sum, count and all that is about time are
// the same.
func TestCases(t *testing.T) {
	cases, err := casefile.ReadAll("testdata/panes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Command == "average" {
				res := c.Config.PlayAverage(c.Steps)
				compare(t, c.Want, c.AverageLines(res.Rows, res.Late))
				return
			}
			res := c.Config.Play(c.Steps)
			compare(t, c.Want, c.Lines(res.Rows, res.Overflows, res.Late))
			if c.Averages() {
				averages := c.Config.PlayAverage(c.Steps)
				compare(t, c.Want, c.Lines(moneyOf(averages.Rows), nil, averages.Late))
			}
		})
	}
}

func compare(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// moneyOf is averages of whole numbers as sums.
func moneyOf(averages []oracle.AverageRow) (rows []oracle.Row) {
	for _, a := range averages {
		r := oracle.Row{
			Key: a.Key, StartMs: a.StartMs, EndMs: a.EndMs, Pane: a.Pane, Revision: a.Revision,
			Minor: int64(*a.Sum), Count: a.Count, PreviousCount: a.PreviousCount, MaxTimeMs: a.MaxTimeMs,
		}
		if a.PreviousCount != nil {
			r.PreviousMinor = new(int64(0))
			if a.PreviousAverage != nil {
				*r.PreviousMinor = int64(math.Round(*a.PreviousAverage * float64(*a.PreviousCount)))
			}
		}
		rows = append(rows, r)
	}
	return rows
}
