package gmv_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// A case file is a comment that says what the case shows, the flags of the
// command that it stands for, a timeline in NDJSON, a line ----, and what has to
// come out, one row, overflow or late element a line. Comments (#) and blank
// lines are free above the ----.
type caseFile struct {
	head     string // everything up to the ----
	cfg      gmv.Config
	timeline streamtest.Timeline
	steps    []oracle.Step
	want     []string
}

const divider = "----\n"

func readCase(path string) (*caseFile, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, want, ok := strings.Cut(string(doc), divider)
	if !ok {
		return nil, fmt.Errorf("%s: no line ----", path)
	}
	c := &caseFile{head: head}
	if want != "" {
		c.want = strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	}
	var fields *fieldNames
	for i, line := range strings.Split(head, "\n") {
		switch {
		case line == "" || line[0] == '#':
			continue
		case fields == nil:
			fields, err = c.configure(line)
		default:
			err = c.step(fields, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return c, c.timeline.Err()
}

type fieldNames struct{ key, time, amount, currency string }

// configure reads the line of flags.
func (c *caseFile) configure(line string) (*fieldNames, error) {
	args := strings.Fields(line)
	if args[0] != "gmv" {
		return nil, fmt.Errorf("command %q, want gmv", args[0])
	}
	var f fieldNames
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&f.key, "key_field", "key", "")
	fs.StringVar(&f.time, "time_field", "time", "")
	fs.StringVar(&f.amount, "amount_field", "amount_cents", "")
	fs.StringVar(&f.currency, "currency_field", "", "")
	size := fs.Duration("window", 0, "")
	every := fs.Duration("every", 0, "")
	offset := fs.Duration("window_offset", 0, "")
	step := fs.Duration("cumulative_step", 0, "")
	unit := fs.String("calendar", "", "")
	zone := fs.String("time_zone", "", "")
	fs.DurationVar(&c.cfg.AllowedLateness, "allowed_lateness", 0, "")
	if err := fs.Parse(args[1:]); err != nil {
		return nil, err
	}
	switch {
	case *unit != "":
		c.cfg.Windows = windowfns.Calendar{Unit: windowfns.CalendarUnit(*unit), Zone: *zone}
	case *step > 0:
		c.cfg.Windows = windowfns.Cumulative{Step: *step, Size: *size, Offset: *offset}
	case *every > 0:
		c.cfg.Windows = windowfns.Sliding{Size: *size, Period: *every, Offset: *offset}
	default:
		c.cfg.Windows = windowfns.Tumbling{Size: *size, Offset: *offset}
	}
	return &f, c.cfg.Windows.Validate()
}

// step reads one line of the timeline.
func (c *caseFile) step(names *fieldNames, line string) error {
	var st struct {
		Event     json.RawMessage
		Watermark any
	}
	if err := unmarshal([]byte(line), &st); err != nil {
		return err
	}
	if st.Event == nil {
		ms, err := timeMs(st.Watermark)
		if err != nil {
			return err
		}
		c.timeline.Watermark(ms)
		c.steps = append(c.steps, oracle.Watermark(ms))
		return nil
	}

	var fields map[string]any
	if err := unmarshal(st.Event, &fields); err != nil {
		return err
	}
	ms, err := timeMs(fields[names.time])
	if err != nil {
		return err
	}
	amount, ok := fields[names.amount].(json.Number)
	if !ok {
		return fmt.Errorf("no number in %q", names.amount)
	}
	minor, err := amount.Int64()
	if err != nil {
		return err
	}
	e := oracle.Element{Key: fmt.Sprint(fields[names.key]), Minor: minor, TimeMs: ms}
	if names.currency != "" {
		e.Currency = fmt.Sprint(fields[names.currency])
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, st.Event); err != nil {
		return err
	}
	s := saleOf(e)
	s.Step, s.Raw = len(c.steps), raw.String()
	c.timeline.At(ms, s)
	c.steps = append(c.steps, oracle.Add(e))
	return nil
}

func unmarshal(doc []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return d.Decode(v)
}

// timeMs reads a time of a timeline: milliseconds, RFC 3339 or "+inf".
func timeMs(v any) (int64, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Int64()
	case string:
		if v == "+inf" {
			return math.MaxInt64, nil
		}
		t, err := time.Parse(time.RFC3339Nano, v)
		return t.UnixMilli(), err
	}
	return 0, fmt.Errorf("time %v, want ms or RFC 3339", v)
}
