package oracle_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

func drawConfig(t *rapid.T, windows windowfns.Fn) oracle.Config {
	some := func(label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * ms
	}
	return oracle.Config{
		Windows: windows, AllowedLateness: some("lateness", 25),
		EarlyCount: rapid.IntRange(0, 3).Draw(t, "early count"), EarlyDelay: some("early delay", 10),
		FinalRows: rapid.Bool().Draw(t, "final rows"),
	}
}

// drawScript draws elements of two keys near a watermark that goes on by leaps.
func drawScript(t *rapid.T) (steps []oracle.Step) {
	wm := rapid.Int64Range(-60, 20).Draw(t, "from")
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			wm += rapid.Int64Range(0, 20).Draw(t, "leap")
			steps = append(steps, oracle.Watermark(wm))
		case 2:
			steps = append(steps, oracle.Elapse(time.Duration(rapid.Int64Range(1, 12).Draw(t, "elapsed"))*ms))
		default:
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			steps = append(steps, in(key, "", wm+rapid.Int64Range(-40, 40).Draw(t, "time"), rapid.Int64Range(-5, 5).Draw(t, "minor")))
		}
	}
	return steps
}

// cellOf is a key and window.
type cellOf struct {
	Key string
	windowfns.Window
}

// shown is what the last rows say.
type shown struct{ Minor, Count int64 }

// TestLaws checks what holds for the rows of every script: revisions without
// gaps, each with the values of the one before; one ON_TIME row at most and
// nothing EARLY after it; one FINAL row a window if they are asked for, which says
// what the row before says; and EARLY rows when they are due.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := rapid.SampledFrom([]windowfns.Fn{tens, sessions, windowfns.Sliding{Size: 30 * ms, Period: 20 * ms}}).Draw(t, "windows")
		cfg := drawConfig(t, windows)
		res := cfg.Play(drawScript(t))

		last := map[cellOf]oracle.Row{}
		panes := map[cellOf]map[string]int{}
		for _, r := range res.Rows {
			c := cellOf{r.Key, windowfns.Window{StartMs: r.StartMs, EndMs: r.EndMs}}
			was, ok := last[c]
			switch {
			case !ok:
				panes[c] = map[string]int{}
				if r.Revision != 0 || r.PreviousMinor != nil || r.PreviousCount != nil || r.Count == 0 {
					t.Fatalf("the first row of its window is %+v", r)
				}
			case r.Revision != was.Revision+1 || *r.PreviousMinor != was.Minor || *r.PreviousCount != was.Count:
				t.Fatalf("%+v after %+v", r, was)
			case r.Pane == "FINAL" && (r.Minor != was.Minor || r.Count != was.Count):
				t.Fatalf("%+v after %+v", r, was)
			}
			if (r.Count == 0) != (r.MaxTimeMs == nil) {
				t.Fatalf("%+v: a time with nothing", r)
			}
			if r.Pane == "EARLY" && panes[c]["ON_TIME"] > 0 {
				t.Fatalf("%+v after ON_TIME", r)
			}
			if fresh := r.Count - was.Count; r.Count > 0 && !dueAt(cfg, r.Pane, r.Revision == 0, fresh) {
				t.Fatalf("%+v has %d that were not shown before", r, fresh)
			}
			panes[c][r.Pane]++
			last[c] = r
		}
		for c, n := range panes {
			want := 0
			if cfg.FinalRows {
				want = 1
			}
			if n["FINAL"] != want || n["ON_TIME"] > 1 {
				t.Errorf("%v has panes %v", c, n)
			}
		}
		if res.Assigned != res.Added+res.Missed {
			t.Errorf("assigned %d, added %d, missed %d", res.Assigned, res.Added, res.Missed)
		}
	})
}

// dueAt reports whether a row of a window can come at so many elements that were
// not shown, one at a time.
func dueAt(cfg oracle.Config, pane string, first bool, fresh int64) bool {
	_, merging := cfg.Windows.(windowfns.Session)
	n := int64(cfg.EarlyCount)
	switch pane {
	case "EARLY":
		if cfg.EarlyDelay > 0 {
			return fresh > 0 && (n == 0 || fresh <= n || merging && first)
		}
		return fresh == n || merging && first && fresh > n // those of what it swallows
	case "ON_TIME":
		return n == 0 || fresh < n
	case "LATE":
		return fresh == 1 || merging && first
	default:
		return fresh == 0
	}
}

// TestNothingIsLost compares the last rows, whatever was shown before them, with
// the windows of the elements that were not late, as batch has them.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := rapid.SampledFrom([]windowfns.Fn{tens, sessions}).Draw(t, "windows")
		steps := drawScript(t)
		res := drawConfig(t, windows).Play(steps)

		got := map[cellOf]shown{}
		for _, r := range res.Rows {
			got[cellOf{r.Key, windowfns.Window{StartMs: r.StartMs, EndMs: r.EndMs}}] = shown{r.Minor, r.Count}
		}
		maps.DeleteFunc(got, func(_ cellOf, s shown) bool { return s.Count == 0 })

		late := map[int]bool{}
		for _, l := range res.Late {
			late[l.Step] = true
		}
		var added []oracle.Element
		for i, st := range steps {
			if st.Element != nil && !late[i] {
				added = append(added, *st.Element)
			}
		}
		if diff := gocmp.Diff(batch(windows, added), got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// batch is the totals of elements in windows of which each element has one; those
// of sessions are found in the order of time.
func batch(windows windowfns.Fn, elements []oracle.Element) map[cellOf]shown {
	slices.SortStableFunc(elements, func(a, b oracle.Element) int { return cmp.Compare(a.TimeMs, b.TimeMs) })
	_, merging := windows.(windowfns.Session)
	open := map[string]cellOf{}
	all := map[cellOf]shown{}
	for _, e := range elements {
		c := cellOf{e.Key, windows.AppendWindows(nil, e.TimeMs)[0]}
		total := all[c]
		if was, ok := open[e.Key]; ok && merging && e.TimeMs < was.EndMs {
			c.StartMs = was.StartMs
			total = all[was]
			delete(all, was)
		}
		all[c] = shown{total.Minor + e.Minor, total.Count + 1}
		open[e.Key] = c
	}
	return all
}
