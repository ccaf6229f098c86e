// Package timeline reads scripts of a stream, as the --timeline flag takes them.
//
// A script is newline-delimited JSON, one step a line; blank lines and lines
// that begin with # are ignored:
//
//	{"event": {"key": "Chicago", "time": "2019-07-24T08:04:00Z", "amount_cents": 10}}
//	{"watermark": "2019-07-24T08:05:00Z"}
//	{"processing_time": "30s"}
//
// In the script of a join, an event is one of the left or of the right side:
//
//	{"left": {"key": "a", "time": 1718089200000}}
//	{"right": {"key": "a", "time": 1718089201000}}
//
// A watermark is an RFC 3339 string, an integer in ms, or "+inf"; one that is
// not higher than the last has no effect. Processing time advances by a
// duration. The script ends with an implicit watermark of +inf.
package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/connectors/records"
)

// Infinity is the watermark past every time, in ms.
const Infinity = math.MaxInt64

// Kind says what a step does.
type Kind int

// The kinds of steps.
const (
	Event Kind = iota
	Watermark
	ProcessingTime
	Left  // an event of the left side of a join
	Right // an event of its right side
)

// names are the names of steps, by kind, and shapes their forms.
var (
	names  = [...]string{"event", "watermark", "processing_time", "left", "right"}
	shapes = [...]string{`{"event": {...}}`, `{"watermark": ...}`, `{"processing_time": "..."}`, `{"left": {...}}`, `{"right": {...}}`}
)

// IsEvent reports whether the step is an event, of either side or of none.
func (k Kind) IsEvent() bool { return k == Event || k == Left || k == Right }

// Step is one step of a script.
type Step struct {
	Number int // from 1
	Kind   Kind

	Event       []byte        // the record as it stands in the script
	WatermarkMs int64         // [Infinity] for +inf and everything after 2185
	Advance     time.Duration // of processing time
}

// Parse reads a script whose events are of the given kinds: [Event] where none is
// given, [Left] and [Right] for a join. An error names the line of the first
// malformed step.
func Parse(script []byte, events ...Kind) ([]Step, error) {
	if len(events) == 0 {
		events = []Kind{Event}
	}
	kinds := append(slices.Clone(events), Watermark, ProcessingTime)
	var steps []Step
	ended := false
	number := 0
	for ln := range bytes.Lines(script) {
		number++
		if number == 1 {
			ln = bytes.TrimPrefix(ln, []byte("\ufeff"))
		}
		ln = bytes.TrimSpace(ln)
		if len(ln) == 0 || ln[0] == '#' {
			continue
		}
		st, err := parseStep(ln, kinds)
		switch {
		case err != nil:
		case st.Kind.IsEvent() && ended:
			err = errors.New("an event after a watermark of +inf")
		case st.Kind == Watermark && st.WatermarkMs == Infinity:
			ended = true
		}
		if err != nil {
			return nil, fmt.Errorf("line %d, step %d: %w", number, len(steps)+1, err)
		}
		st.Number = len(steps) + 1
		steps = append(steps, st)
	}
	return steps, nil
}

func parseStep(ln []byte, kinds []Kind) (Step, error) {
	fail := func(format string, args ...any) (Step, error) {
		var want []string
		for _, k := range kinds {
			want = append(want, shapes[k])
		}
		return Step{}, fmt.Errorf("%s, want one of %s", fmt.Sprintf(format, args...), strings.Join(want, ", "))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(ln, &fields); err != nil || fields == nil {
		return fail("not a JSON object")
	}
	if n := countFields(ln); n != 1 {
		return fail("%d fields", n)
	}
	for name, value := range fields {
		kind := Kind(slices.Index(names[:], name))
		if !slices.Contains(kinds, kind) {
			return fail("field %.64q", name)
		}
		st := Step{Kind: kind}
		var err error
		switch kind {
		case Watermark:
			st.WatermarkMs, err = parseWatermark(value)
		case ProcessingTime:
			st.Advance, err = parseAdvance(value)
		default:
			st.Event = value
		}
		if err != nil {
			return Step{}, fmt.Errorf("%s: %w", name, err)
		}
		return st, nil
	}
	panic("unreachable: the object has one field")
}

// countFields counts the fields of a valid object, also those of one name.
func countFields(object []byte) (n int) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // the brace
	for ; d.More(); n++ {
		var value json.RawMessage
		_, _ = d.Token() // the name
		_ = d.Decode(&value)
	}
	return n
}

func parseWatermark(value json.RawMessage) (int64, error) {
	const want = `want an RFC 3339 string, an integer in ms, or "+inf"`
	var text string
	isString := value[0] == '"'
	if isString {
		if err := json.Unmarshal(value, &text); err != nil {
			return 0, err
		}
		if text == "+inf" {
			return Infinity, nil
		}
	} else {
		text = string(value)
		if c := text[0]; c != '-' && (c < '0' || c > '9') {
			return 0, fmt.Errorf("%s, %s", shown(value), want)
		}
	}
	ms, err := records.ParseTime(text, isString, "ms")
	switch {
	case errors.Is(err, records.ErrTooLate):
		return Infinity, nil
	case errors.Is(err, records.ErrTooEarly):
		// Below every accepted time, so that it cannot matter how far.
		return records.MinTimeMs - 1, nil
	case err != nil:
		return 0, fmt.Errorf("%w, %s", err, want)
	}
	return ms, nil
}

func parseAdvance(value json.RawMessage) (time.Duration, error) {
	const want = "want a positive whole number of milliseconds, as in \"30s\""
	var text string
	if err := json.Unmarshal(value, &text); err != nil || value[0] != '"' {
		return 0, fmt.Errorf("%s, %s", shown(value), want)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d%time.Millisecond != 0 {
		return 0, fmt.Errorf("%.64q, %s", text, want)
	}
	return d, nil
}

// shown is a value as an error shows it: on one line, and not too long.
func shown(value json.RawMessage) string {
	return fmt.Sprintf("%.64s", bytes.Join(bytes.Fields(value), []byte(" ")))
}
