package average_test

import (
	"testing"

	"tidemark/internal/casefile"
	"tidemark/transforms/average"
)

// TestPanes plays the timelines with EARLY and FINAL rows and sessions, those of
// money as averages too. Their rows are derived by hand, and the oracle says the
// same, to which it compares.
func TestPanes(t *testing.T) {
	cases, err := casefile.ReadAll("../../testing/oracle/testdata/panes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !c.Averages() {
			continue // sums of currencies, and sums that overflow
		}
		t.Run(c.Name, func(t *testing.T) {
			cfg := average.Config{
				Windows: c.Config.Windows, AllowedLateness: c.Config.AllowedLateness,
				EarlyCount: c.Config.EarlyCount, EarlyDelay: c.Config.EarlyDelay, FinalRows: c.Config.FinalRows,
			}
			verify(t, cfg, timeline(c.Steps).Create, c.Config.PlayAverage(c.Steps))
		})
	}
}
