package gmv_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata/cases")

// TestCases plays every timeline of testdata/cases and compares what comes out
// with what the file says and with the oracle.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			c, err := readCase(path)
			if err != nil {
				t.Fatal(err)
			}
			want := oracle.Play(c.cfg.Windows, c.cfg.AllowedLateness.Milliseconds(), c.steps)
			lines := verify(t, c.cfg, c.timeline.Create, want).lines()
			if *update {
				doc := c.head + divider + strings.Join(append(lines, ""), "\n")
				if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.want, lines); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// lines is what came out, as case files say it: rows by window, key, currency
// and revision, then overflows, then late elements in the order of the timeline.
func (o outcome) lines() []string {
	var lines []string
	rows := slices.Clone(o.rows)
	slices.SortFunc(rows, compareRows)
	for _, r := range rows {
		was := func(n *int64) string {
			if n == nil {
				return ""
			}
			return fmt.Sprintf(" (was %d)", *n)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s #%d sum %d%s count %d%s max %s",
			name(r.Key, r.Currency), span(r.StartMs, r.EndMs), r.Pane, r.Revision,
			r.Minor, was(r.PreviousMinor), r.Count, was(r.PreviousCount), clock(*r.MaxTimeMs)))
	}

	var overflows []string
	for _, v := range o.overflows {
		overflows = append(overflows, fmt.Sprintf("overflow %s %s %s total %s count %d",
			name(v.Key, v.Currency), span(v.StartMs, v.EndMs), v.Pane, v.Total, v.Count))
	}
	slices.Sort(overflows)

	late := slices.Clone(o.late)
	slices.SortFunc(late, func(a, b lateSale) int { return a.Value.Step - b.Value.Step })
	lines = append(lines, overflows...)
	for _, l := range late {
		missed := make([]string, len(l.Key.Windows))
		for i, w := range l.Key.Windows {
			missed[i] = span(w.StartMs, w.EndMs)
		}
		all := "not all"
		if l.Key.All {
			all = "all"
		}
		lines = append(lines, fmt.Sprintf("late %s at %s missed %s, %s", l.Value.Raw, clock(l.Key.TimeMs), strings.Join(missed, " "), all))
	}
	return lines
}

func compareRows(a, b gmv.Row) int {
	if c := (windowfns.Window{StartMs: a.StartMs, EndMs: a.EndMs}).Compare(windowfns.Window{StartMs: b.StartMs, EndMs: b.EndMs}); c != 0 {
		return c
	}
	if c := strings.Compare(a.Key, b.Key); c != 0 {
		return c
	}
	if c := strings.Compare(a.Currency, b.Currency); c != 0 {
		return c
	}
	return int(a.Revision - b.Revision)
}

func name(key, currency string) string {
	if currency == "" {
		return fmt.Sprintf("%q", key)
	}
	return fmt.Sprintf("%q %q", key, currency)
}

func span(startMs, endMs int64) string { return fmt.Sprintf("[%s, %s)", clock(startMs), clock(endMs)) }

// clock is a time with milliseconds only where they are not zero.
func clock(ms int64) string {
	if ms%1000 == 0 {
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z")
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
