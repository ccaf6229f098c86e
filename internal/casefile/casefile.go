// Package casefile reads timelines with the rows that have to come out, for tests.
//
// A case file is a comment that says what the case shows, the flags of the command
// that it stands for, a timeline in NDJSON, a line ----, and what has to come out,
// one row, overflow or late element a line; see [Case.Lines]. Comments (#) and
// blank lines are free above the ----. Those of joins are [JoinCase]s.
package casefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/connectors/records"
	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// Case is what a case file says.
type Case struct {
	Name    string   // of the file, without folder and extension
	Command string   // gmv or average
	Args    []string // its flags
	Config  oracle.Config
	Steps   []oracle.Step
	Raw     []string // the event of each step, empty where the step is none
	Want    []string // lines

	scale
	head   string   // everything up to the ----
	events []string // what Raw was before the case was stretched, if it was
	fields fieldNames
}

type fieldNames struct{ key, time, amount, value, currency string }

const divider = "----\n"

// ReadAll reads the case files of a folder, whose names end in .txt. There is at
// least one.
func ReadAll(dir string) ([]*Case, error) {
	return readAll(dir, Read)
}

func readAll[C any](dir string, read func(path string) (C, error)) ([]C, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("casefile: no cases in %s", dir)
	}
	var cases []C
	for _, path := range paths {
		c, err := read(path)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Read reads a case file.
func Read(path string) (*Case, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(doc))
}

// Parse reads what is in the case file at path.
func Parse(path, doc string) (*Case, error) {
	c := &Case{Name: nameOf(path)}
	var err error
	if c.head, c.Want, err = parse(path, doc, c.configure, c.step); err != nil {
		return nil, err
	}
	return c, nil
}

// ReadTimeline reads NAME.ndjson, a script with a line "# $ tidemark" and the flags of
// the command that plays it. What it wants is in NAME.rows.ndjson and
// NAME.late.ndjson, as the command puts it out.
func ReadTimeline(path string) (*Case, error) {
	base := strings.TrimSuffix(path, ".ndjson")
	var docs [3]string
	for i, name := range []string{path, base + ".rows.ndjson", base + ".late.ndjson"} {
		doc, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		docs[i] = string(doc)
	}
	_, below, ok := strings.Cut(docs[0], "# $ tidemark ")
	if !ok {
		return nil, fmt.Errorf("%s: no line of flags", path)
	}
	c := &Case{Name: filepath.Base(base)}
	var err error
	if c.head, _, err = parse(path, below+divider, c.configure, c.step); err != nil {
		return nil, err
	}
	c.Want, err = c.Output(linesOf(docs[1]), nil, linesOf(docs[2]))
	return c, err
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".txt") }

// parse gives the line of flags to configure and those behind it to step, and
// returns the two parts of the file.
func parse(path, doc string, configure, step func(line string) error) (head string, want []string, err error) {
	head, below, ok := strings.Cut(doc, divider)
	if !ok {
		return "", nil, fmt.Errorf("%s: no line ----", path)
	}
	want = linesOf(below)
	read := configure
	for i, line := range strings.Split(head, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if err := read(line); err != nil {
			return "", nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		read = step
	}
	return head, want, nil
}

// Rewrite puts lines in the place of what the file at path wants.
func (c *Case) Rewrite(path string, lines []string) error {
	return os.WriteFile(path, []byte(c.head+divider+strings.Join(append(lines, ""), "\n")), 0o644)
}

// configure reads the line of flags.
func (c *Case) configure(line string) error {
	args := strings.Fields(line)
	if args[0] != "gmv" && args[0] != "average" {
		return fmt.Errorf("command %q, want gmv or average", args[0])
	}
	c.Command, c.Args = args[0], args[1:]
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&c.fields.key, "key_field", "key", "")
	fs.StringVar(&c.fields.time, "time_field", "time", "")
	fs.StringVar(&c.fields.amount, "amount_field", "amount_cents", "")
	fs.StringVar(&c.fields.value, "value_field", "value", "")
	fs.StringVar(&c.fields.currency, "currency_field", "", "")
	size := fs.Duration("window", 0, "")
	every := fs.Duration("every", 0, "")
	offset := fs.Duration("window_offset", 0, "")
	step := fs.Duration("cumulative_step", 0, "")
	unit := fs.String("calendar", "", "")
	zone := fs.String("time_zone", "", "")
	gap := fs.Duration("session_gap", 0, "")
	fs.DurationVar(&c.Config.AllowedLateness, "allowed_lateness", 0, "")
	fs.IntVar(&c.Config.EarlyCount, "early_count", 0, "")
	fs.DurationVar(&c.Config.EarlyDelay, "early_delay", 0, "")
	fs.BoolVar(&c.Config.FinalRows, "final_rows", false, "")
	if err := fs.Parse(c.Args); err != nil {
		return err
	}
	switch {
	case *gap > 0:
		c.Config.Windows = windowfns.Session{Gap: *gap}
	case *unit != "":
		c.Config.Windows = windowfns.Calendar{Unit: windowfns.CalendarUnit(*unit), Zone: *zone}
	case *step > 0:
		c.Config.Windows = windowfns.Cumulative{Step: *step, Size: *size, Offset: *offset}
	case *every > 0:
		c.Config.Windows = windowfns.Sliding{Size: *size, Period: *every, Offset: *offset}
	default:
		c.Config.Windows = windowfns.Tumbling{Size: *size, Offset: *offset}
	}
	return c.Config.Windows.Validate()
}

// step reads one line of the timeline.
func (c *Case) step(line string) error {
	var st struct {
		Event          json.RawMessage
		Watermark      any
		ProcessingTime string `json:"processing_time"`
	}
	if err := unmarshal([]byte(line), &st); err != nil {
		return err
	}
	switch {
	case st.Event != nil:
		return c.event(st.Event)
	case st.ProcessingTime != "":
		d, err := time.ParseDuration(st.ProcessingTime)
		if err != nil {
			return err
		}
		c.add(oracle.Elapse(d), "")
	default:
		ms, err := timeMs(st.Watermark)
		if err != nil {
			return err
		}
		c.add(oracle.Watermark(ms), "")
	}
	return nil
}

func (c *Case) add(st oracle.Step, raw string) {
	c.Steps, c.Raw = append(c.Steps, st), append(c.Raw, raw)
}

// event reads an event. One of money has a value too, the same number, so that it
// can be averaged.
func (c *Case) event(doc []byte) error {
	var fields map[string]any
	if err := unmarshal(doc, &fields); err != nil {
		return err
	}
	ms, err := timeMs(fields[c.fields.time])
	if err != nil {
		return err
	}
	name := c.fields.amount
	if c.Command == "average" {
		name = c.fields.value
	}
	number, ok := fields[name].(json.Number)
	if !ok {
		return fmt.Errorf("no number in %q", name)
	}
	e := oracle.Element{Key: fmt.Sprint(fields[c.fields.key]), TimeMs: ms}
	e.Value, err = number.Float64()
	if c.Command == "gmv" {
		var whole error
		e.Minor, whole = number.Int64()
		err = errors.Join(err, whole)
	}
	if err != nil {
		return err
	}
	if c.fields.currency != "" {
		e.Currency = fmt.Sprint(fields[c.fields.currency])
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, doc); err != nil {
		return err
	}
	c.add(oracle.Add(e), raw.String())
	return nil
}

// Fields says where the command finds what is in an event.
func (c *Case) Fields() records.Fields {
	f := records.Fields{
		Key: strings.Split(c.fields.key, ","), Time: c.fields.time, TimeUnit: "ms", Currency: c.fields.currency,
	}
	if c.Command == "average" {
		f.Value = c.fields.value
	} else {
		f.Amount = c.fields.amount
	}
	return f
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

// Script is the steps as the command plays them.
func (c *Case) Script() string {
	var b strings.Builder
	for i, st := range c.Steps {
		switch {
		case st.Element != nil:
			fmt.Fprintf(&b, `{"event": %s}`, c.Raw[i])
		case st.Elapsed > 0:
			fmt.Fprintf(&b, `{"processing_time": %q}`, st.Elapsed)
		case st.WatermarkMs == math.MaxInt64:
			b.WriteString(`{"watermark": "+inf"}`)
		default:
			fmt.Fprintf(&b, `{"watermark": %d}`, st.WatermarkMs)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Averages reports whether the case makes sense for averages too: those know no
// currencies, and round sums that come near the limits of int64.
func (c *Case) Averages() bool {
	for _, st := range c.Steps {
		if e := st.Element; e != nil && (e.Currency != "" || e.Value > 1<<53 || e.Value < -1<<53) {
			return false
		}
	}
	return true
}
