package casefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// Lines is what came out, as case files say it: rows by window, key, currency and
// revision, then overflows, then late elements in the order of the timeline. Where
// there are more than 200 rows, those that say the same of windows in a row are
// put together; see together. So are more than 20 windows that an element missed.
func (c *Case) Lines(rows []oracle.Row, overflows []oracle.Overflow, late []oracle.Late) []string {
	all := make([]line, len(rows))
	for i, r := range rows {
		all[i] = line{
			window: windowfns.Window{StartMs: r.StartMs, EndMs: r.EndMs}, key: r.Key, currency: r.Currency, revision: r.Revision,
			text: fmt.Sprintf("%s #%d sum %d%s %s", r.Pane, r.Revision, r.Minor, was(r.PreviousMinor), countAndMax(r.Count, r.PreviousCount, r.MaxTimeMs)),
		}
	}
	lines := rowLines(all)
	var reports []string
	for _, v := range overflows {
		reports = append(reports, fmt.Sprintf("overflow %s %s %s total %s count %d",
			name(v.Key, v.Currency), span(windowfns.Window{StartMs: v.StartMs, EndMs: v.EndMs}), v.Pane, v.Total, v.Count))
	}
	slices.Sort(reports)
	return append(append(lines, reports...), c.lateLines(late)...)
}

// AverageLines is [Case.Lines] of averages.
func (c *Case) AverageLines(rows []oracle.AverageRow, late []oracle.Late) []string {
	all := make([]line, len(rows))
	for i, r := range rows {
		previous := was(r.PreviousAverage)
		if r.PreviousCount != nil && *r.PreviousCount == 0 {
			previous = " (was -)"
		}
		all[i] = line{
			window: windowfns.Window{StartMs: r.StartMs, EndMs: r.EndMs}, key: r.Key, revision: r.Revision,
			text: fmt.Sprintf("%s #%d average %s%s sum %s %s", r.Pane, r.Revision, orDash(r.Average), previous, orDash(r.Sum),
				countAndMax(r.Count, r.PreviousCount, r.MaxTimeMs)),
		}
	}
	return append(rowLines(all), c.lateLines(late)...)
}

func (c *Case) lateLines(late []oracle.Late) (lines []string) {
	events := c.Raw
	if c.events != nil {
		events = c.events
	}
	late = slices.Clone(late)
	slices.SortFunc(late, func(a, b oracle.Late) int { return a.Step - b.Step })
	for _, l := range late {
		missed := make([]string, len(l.Missed))
		for i, w := range l.Missed {
			missed[i] = span(w)
		}
		if n := len(missed); n > 20 {
			missed = []string{fmt.Sprintf("%d windows from %s to %s", n, missed[0], missed[n-1])}
		}
		all := "not all"
		if l.All {
			all = "all"
		}
		lines = append(lines, fmt.Sprintf("late %s at %s missed %s, %s", events[l.Step], clock(l.Element.TimeMs), strings.Join(missed, " "), all))
	}
	return lines
}

// line is a row.
type line struct {
	window        windowfns.Window
	key, currency string
	revision      int64
	text          string // the rest
}

func (l line) String() string { return name(l.key, l.currency) + " " + span(l.window) + " " + l.text }

func rowLines(rows []line) (lines []string) {
	slices.SortFunc(rows, func(a, b line) int {
		return cmp.Or(a.window.Compare(b.window), cmp.Compare(a.key, b.key), cmp.Compare(a.currency, b.currency), cmp.Compare(a.revision, b.revision))
	})
	if len(rows) > 200 {
		return together(rows)
	}
	for _, r := range rows {
		lines = append(lines, r.String())
	}
	return lines
}

// together is the rows by key, revision and window, where rows of one length of
// window that say the same are one line:
//
//	"k" 60 windows every 1m0s from [00:00, 01:00) to [00:59, 01:59) ON_TIME #0 …
func together(rows []line) (lines []string) {
	slices.SortStableFunc(rows, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.currency, b.currency), cmp.Compare(a.revision, b.revision))
	})
	for len(rows) > 0 {
		n, everyMs := 1, int64(0)
		for n < len(rows) && rows[n].text == rows[0].text && rows[n].key == rows[0].key && rows[n].currency == rows[0].currency {
			step := rows[n].window.StartMs - rows[n-1].window.StartMs
			if step != rows[n].window.EndMs-rows[n-1].window.EndMs || n > 1 && step != everyMs {
				break
			}
			everyMs = step
			n++
		}
		if n < 3 {
			lines = append(lines, rows[0].String())
			rows = rows[1:]
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %d windows every %v from %s to %s %s", name(rows[0].key, rows[0].currency), n,
			time.Duration(everyMs)*time.Millisecond, span(rows[0].window), span(rows[n-1].window), rows[0].text))
		rows = rows[n:]
	}
	return lines
}

func countAndMax(count int64, previous *int64, maxMs *int64) string {
	latest := "-"
	if maxMs != nil {
		latest = clock(*maxMs)
	}
	return fmt.Sprintf("count %d%s max %s", count, was(previous), latest)
}

func was[T any](previous *T) string {
	if previous == nil {
		return ""
	}
	return fmt.Sprintf(" (was %v)", *previous)
}

func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func name(key, currency string) string {
	if currency == "" {
		return fmt.Sprintf("%q", key)
	}
	return fmt.Sprintf("%q %q", key, currency)
}

func span(w windowfns.Window) string {
	return fmt.Sprintf("[%s, %s)", clock(w.StartMs), clock(w.EndMs))
}

// clock is a time with milliseconds only where they are not zero.
func clock(ms int64) string {
	if ms%1000 == 0 {
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z")
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
