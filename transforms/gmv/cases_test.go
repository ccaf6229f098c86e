package gmv_test

import (
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata/cases")

// TestCases plays every timeline of testdata/cases and compares what comes out
// with what the file says and with the oracle.
func TestCases(t *testing.T) {
	const dir = "testdata/cases"
	cases, err := casefile.ReadAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			lines := replay(t, c)
			if *update {
				if err := c.Rewrite(dir+"/"+c.Name+".txt", lines); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.Want, lines); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// replay plays a case, compares what comes out with the oracle, and returns it as
// case files say it.
func replay(t *testing.T, c *casefile.Case) []string {
	t.Helper()
	tl := timelineOf(c.Steps, func(step int, e oracle.Element) sale {
		s := saleOf(e)
		s.Step, s.Raw = step, c.Raw[step]
		return s
	})
	out := verify(t, configOf(c.Config), tl.Create, c.Config.Play(c.Steps))
	rows := make([]oracle.Row, len(out.rows))
	for i, r := range out.rows {
		rows[i] = oracle.Row(r)
	}
	late := make([]oracle.Late, len(out.late))
	for i, l := range out.late {
		late[i] = oracle.Late{
			Element: oracle.Element{TimeMs: l.Key.TimeMs}, Missed: l.Key.Windows, All: l.Key.All, Step: l.Value.Step,
		}
	}
	return c.Lines(rows, overflowsOf(out.overflows), late)
}

// configOf is what the oracle was asked for.
func configOf(cfg oracle.Config) gmv.Config {
	return gmv.Config{
		Windows: cfg.Windows, AllowedLateness: cfg.AllowedLateness,
		EarlyCount: cfg.EarlyCount, EarlyDelay: cfg.EarlyDelay, FinalRows: cfg.FinalRows,
	}
}

// timelineOf is a script as a stream of sales.
func timelineOf(steps []oracle.Step, saleOf func(step int, e oracle.Element) sale) *streamtest.Timeline {
	var tl streamtest.Timeline
	for i, st := range steps {
		switch {
		case st.Element != nil:
			tl.At(st.Element.TimeMs, saleOf(i, *st.Element))
		case st.Elapsed > 0:
			tl.ProcessingTime(st.Elapsed)
		default:
			tl.Watermark(st.WatermarkMs)
		}
	}
	return &tl
}
