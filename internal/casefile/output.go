package casefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// Output is what the command puts out, one JSON object each, as lines; see
// [Case.Lines]. Of bad records there have to be overflows only. Times of a case that
// was stretched, see [Case.Coarse], are those that it had before.
func (c *Case) Output(rows, bad, late []string) ([]string, error) {
	refused, err := parseAll(late, c.late)
	if err != nil {
		return nil, err
	}
	if c.Command == "average" {
		averages, err := parseAll(rows, c.average)
		if err == nil && len(bad) > 0 {
			err = fmt.Errorf("bad records %q, want none", bad)
		}
		return c.AverageLines(averages, refused), err
	}
	money, err := parseAll(rows, c.money)
	if err != nil {
		return nil, err
	}
	overflows, err := parseAll(bad, c.overflow)
	return c.Lines(money, overflows, refused), err
}

func parseAll[T any](lines []string, parse func(line []byte) (T, error)) (all []T, err error) {
	for _, text := range lines {
		v, err := parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// firing is what all rows have.
type firing struct {
	Key, Currency, Pane string
	Start               time.Time `json:"window_start"`
	End                 time.Time `json:"window_end"`
	Revision, Count     int64
	PreviousCount       *int64     `json:"previous_count"`
	Max                 *time.Time `json:"max_event_time"`
}

func (c *Case) maxMs(f firing) *int64 {
	if f.Max == nil {
		return nil
	}
	return new(c.ms(*f.Max))
}

func (c *Case) money(line []byte) (oracle.Row, error) {
	var r struct {
		firing
		Sum         int64
		PreviousSum *int64 `json:"previous_sum"`
	}
	err := json.Unmarshal(line, &r)
	return oracle.Row{
		Key: r.Key, Currency: r.Currency, StartMs: c.ms(r.Start), EndMs: c.ms(r.End), Pane: r.Pane, Revision: r.Revision,
		Minor: r.Sum, PreviousMinor: r.PreviousSum, Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: c.maxMs(r.firing),
	}, err
}

func (c *Case) average(line []byte) (oracle.AverageRow, error) {
	var r struct {
		firing
		Sum, Average    *float64
		PreviousAverage *float64 `json:"previous_average"`
	}
	err := json.Unmarshal(line, &r)
	return oracle.AverageRow{
		Key: r.Key, StartMs: c.ms(r.Start), EndMs: c.ms(r.End), Pane: r.Pane, Revision: r.Revision,
		Average: r.Average, PreviousAverage: r.PreviousAverage, Sum: r.Sum, Count: r.Count, PreviousCount: r.PreviousCount, MaxTimeMs: c.maxMs(r.firing),
	}, err
}

func (c *Case) overflow(line []byte) (oracle.Overflow, error) {
	var r struct{ Source, Raw, Reason, Total string }
	if err := json.Unmarshal(line, &r); err != nil {
		return oracle.Overflow{}, err
	}
	if r.Source != "total" || !strings.HasPrefix(r.Reason, "overflow: ") {
		return oracle.Overflow{}, errors.New("no overflow")
	}
	// The sum in raw is a number that int64 cannot hold.
	var f firing
	err := json.Unmarshal([]byte(r.Raw), &f)
	return oracle.Overflow{
		Key: f.Key, Currency: f.Currency, StartMs: c.ms(f.Start), EndMs: c.ms(f.End), Pane: f.Pane, Total: r.Total, Count: f.Count,
	}, err
}

func (c *Case) late(line []byte) (oracle.Late, error) {
	var r struct {
		Event  json.RawMessage
		Time   time.Time
		Missed []struct {
			Start time.Time `json:"window_start"`
			End   time.Time `json:"window_end"`
		}
		All      bool `json:"missed_all"`
		Position int
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return oracle.Late{}, err
	}
	var event bytes.Buffer
	if err := json.Compact(&event, r.Event); err != nil {
		return oracle.Late{}, err
	}
	if r.Position < 1 || r.Position > len(c.Raw) || event.String() != c.Raw[r.Position-1] {
		return oracle.Late{}, fmt.Errorf("not the event of step %d", r.Position)
	}
	l := oracle.Late{Element: oracle.Element{TimeMs: c.ms(r.Time)}, All: r.All, Step: r.Position - 1}
	for _, w := range r.Missed {
		l.Missed = append(l.Missed, windowfns.Window{StartMs: c.ms(w.Start), EndMs: c.ms(w.End)})
	}
	return l, nil
}

// ms is a time that was put out.
func (s scale) ms(t time.Time) int64 { return s.down(t.UnixMilli()) }
