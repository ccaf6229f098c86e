package casefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/testing/oracle"
)

// none stands for the side that a row does not have.
const none = "-"

// Lines is what came out, as case files of joins say it: rows, and then late
// elements, each by the step that brings them:
//
//	row "key" LEFT RIGHT 1970-01-01T00:00:01Z @3
//	late left ID 1970-01-01T00:00:01Z @4
//
// LEFT and RIGHT are ids, or - where a row has none; the time is the row's; steps
// count from 1, and @end is the end of the timeline. Rows of one step are by time,
// key, left and right.
func (c *JoinCase) Lines(res oracle.JoinResult) (lines []string) {
	rows := slices.Clone(res.Rows)
	slices.SortFunc(rows, func(a, b oracle.JoinRow) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.TimeMs, b.TimeMs), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Left, b.Left), cmp.Compare(a.Right, b.Right))
	})
	for _, r := range rows {
		lines = append(lines, joinRow(r.Key, r.Left, r.Right, r.TimeMs)+c.at(r.Step))
	}
	for _, l := range res.Late {
		lines = append(lines, joinLate(l.Side, l.Element.ID, l.Element.TimeMs)+c.at(l.Step))
	}
	return lines
}

func (c *JoinCase) at(step int) string {
	if step == len(c.Steps) {
		return " @end"
	}
	return fmt.Sprintf(" @%d", step+1)
}

// WantRows is the rows of Want without their steps, sorted, and so is WantLate the
// late elements: what [JoinCase.Rows] and [JoinCase.Lates] make of the command's
// output.
func (c *JoinCase) WantRows() []string { return c.unplaced("row ") }

// WantLate is the late elements; see [JoinCase.WantRows].
func (c *JoinCase) WantLate() []string { return c.unplaced("late ") }

func (c *JoinCase) unplaced(prefix string) (lines []string) {
	for _, line := range c.Want {
		if strings.HasPrefix(line, prefix) {
			text, _, _ := strings.Cut(line, " @")
			lines = append(lines, text)
		}
	}
	slices.Sort(lines)
	return lines
}

// Rows is rows of the command, one JSON object each, as lines without steps,
// sorted.
func (c *JoinCase) Rows(rows []string) (lines []string, err error) {
	for _, text := range rows {
		var r struct {
			Key         string
			Left, Right map[string]any
			Time        time.Time
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		var ids [2]string
		for i, event := range []map[string]any{r.Left, r.Right} {
			if event == nil {
				continue
			}
			if ids[i], err = idOf(event); err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
		}
		lines = append(lines, joinRow(r.Key, ids[0], ids[1], c.ms(r.Time)))
	}
	slices.Sort(lines)
	return lines, nil
}

// Lates is late records of the command, one JSON object each, as lines
// without steps, sorted.
func (c *JoinCase) Lates(records []string) (lines []string, err error) {
	for _, text := range records {
		var r struct {
			Side  string
			Event map[string]any
			Time  time.Time
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		id, err := idOf(r.Event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		lines = append(lines, joinLate(r.Side, id, c.ms(r.Time)))
	}
	slices.Sort(lines)
	return lines, nil
}

func joinRow(key, left, right string, ms int64) string {
	return fmt.Sprintf("row %q %s %s %s", key, cmp.Or(left, none), cmp.Or(right, none), clock(ms))
}

func joinLate(side, id string, ms int64) string {
	return fmt.Sprintf("late %s %s %s", side, id, clock(ms))
}
