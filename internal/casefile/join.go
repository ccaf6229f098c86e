package casefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"tidemark/connectors/records"
	"tidemark/testing/oracle"
)

// JoinCase is what a case file of a join says. Its command is join, its events
// have a member id, which is what lines call them; see [JoinCase.Lines].
type JoinCase struct {
	Name   string   // of the file, without folder and extension
	Args   []string // the flags of join
	Config oracle.JoinConfig
	Steps  []oracle.JoinStep
	Raw    []string // the event of each step, empty where the step is none
	Want   []string // lines

	scale
	left, right sideFields
}

type sideFields struct{ key, time string }

// ReadJoins is [ReadAll] of joins.
func ReadJoins(dir string) ([]*JoinCase, error) { return readAll(dir, ReadJoin) }

// ReadJoin is [Read] of a join.
func ReadJoin(path string) (*JoinCase, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseJoin(path, string(doc))
}

// ParseJoin reads what is in the case file at path.
func ParseJoin(path, doc string) (*JoinCase, error) {
	c := &JoinCase{Name: nameOf(path)}
	var err error
	if _, c.Want, err = parse(path, doc, c.configure, c.step); err != nil {
		return nil, err
	}
	return c, nil
}

// configure reads the line of flags.
func (c *JoinCase) configure(line string) error {
	args := strings.Fields(line)
	if args[0] != "join" {
		return fmt.Errorf("command %q, want join", args[0])
	}
	c.Args = args[1:]
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	key := fs.String("key_field", "key", "")
	at := fs.String("time_field", "time", "")
	fs.StringVar(&c.left.key, "left_key_field", "", "")
	fs.StringVar(&c.left.time, "left_time_field", "", "")
	fs.StringVar(&c.right.key, "right_key_field", "", "")
	fs.StringVar(&c.right.time, "right_time_field", "", "")
	lower := fs.Duration("lower", 0, "")
	upper := fs.Duration("upper", 0, "")
	fs.BoolVar(&c.Config.ExclusiveLower, "exclusive_lower", false, "")
	fs.BoolVar(&c.Config.ExclusiveUpper, "exclusive_upper", false, "")
	fs.StringVar(&c.Config.Type, "type", "inner", "")
	lateness := fs.Duration("allowed_lateness", 0, "")
	if err := fs.Parse(c.Args); err != nil {
		return err
	}
	for _, side := range []*sideFields{&c.left, &c.right} {
		if side.key == "" {
			side.key = *key
		}
		if side.time == "" {
			side.time = *at
		}
	}
	if fs.NArg() > 0 || (*lower)%time.Millisecond != 0 || (*upper)%time.Millisecond != 0 || (*lateness)%time.Millisecond != 0 {
		return errors.New("want flags only, and whole milliseconds")
	}
	c.Config.LowerMs, c.Config.UpperMs = lower.Milliseconds(), upper.Milliseconds()
	c.Config.LatenessMs = lateness.Milliseconds()
	return c.Config.Validate()
}

// Fields says where the command finds what is in an event of each side.
func (c *JoinCase) Fields() (left, right records.Fields) {
	return c.left.fields(), c.right.fields()
}

func (f sideFields) fields() records.Fields {
	return records.Fields{Key: strings.Split(f.key, ","), Time: f.time, TimeUnit: "ms"}
}

// step reads one line of the timeline.
func (c *JoinCase) step(line string) error {
	var st struct {
		Left, Right json.RawMessage
		Watermark   any
	}
	if err := unmarshal([]byte(line), &st); err != nil {
		return err
	}
	switch {
	case st.Left != nil:
		e, raw, err := c.left.element(st.Left)
		c.add(oracle.Left(e), raw)
		return err
	case st.Right != nil:
		e, raw, err := c.right.element(st.Right)
		c.add(oracle.Right(e), raw)
		return err
	default:
		ms, err := timeMs(st.Watermark)
		c.add(oracle.JoinWatermark(ms), "")
		return err
	}
}

func (c *JoinCase) add(st oracle.JoinStep, raw string) {
	c.Steps, c.Raw = append(c.Steps, st), append(c.Raw, raw)
}

// element reads an event, and returns it in compact form, too.
func (f sideFields) element(doc []byte) (e oracle.JoinElement, raw string, err error) {
	var top map[string]any
	if err := unmarshal(doc, &top); err != nil {
		return e, "", err
	}
	var key []string
	for field := range strings.SplitSeq(f.key, ",") {
		switch v := member(top, field).(type) {
		case string:
			key = append(key, v)
		case json.Number:
			key = append(key, v.String())
		default:
			return e, "", fmt.Errorf("no key in %q", field)
		}
	}
	e.Key = strings.Join(key, "|")
	if e.TimeMs, err = timeMs(member(top, f.time)); err != nil {
		return e, "", err
	}
	if e.ID, err = idOf(top); err != nil {
		return e, "", err
	}
	var b bytes.Buffer
	err = json.Compact(&b, doc)
	return e, b.String(), err
}

// member is that of a name in which dots lead into objects.
func member(top map[string]any, name string) any {
	var v any = top
	for part := range strings.SplitSeq(name, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[part]
	}
	return v
}

// idOf is the id of an event.
func idOf(event map[string]any) (string, error) {
	id, ok := event["id"].(string)
	if !ok || id == "" || id == none || strings.ContainsAny(id, " @") {
		return "", fmt.Errorf("id %v, want a word", event["id"])
	}
	return id, nil
}

// Script is the steps as the command plays them. Step i of Steps has the number
// i+1 there.
func (c *JoinCase) Script() string {
	var b strings.Builder
	for i, st := range c.Steps {
		switch {
		case st.Left != nil:
			fmt.Fprintf(&b, `{"left": %s}`, c.Raw[i])
		case st.Right != nil:
			fmt.Fprintf(&b, `{"right": %s}`, c.Raw[i])
		case st.WatermarkMs == math.MaxInt64:
			b.WriteString(`{"watermark": "+inf"}`)
		default:
			fmt.Fprintf(&b, `{"watermark": %d}`, st.WatermarkMs)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
