package mart

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
)

// walk calls visit with each member of the object that line is.
func walk(line []byte, visit func(name string, value gjson.Result) error) (err error) {
	if !gjson.ValidBytes(line) {
		return errors.New("is not valid JSON")
	}
	root := gjson.ParseBytes(line)
	if !root.IsObject() {
		return errors.New("is not an object")
	}
	root.ForEach(func(name, value gjson.Result) bool {
		err = visit(name.Str, value)
		if err != nil {
			err = fmt.Errorf("has the member %s = %.50s, %w", name.Str, value.Raw, err)
		}
		return err == nil
	})
	return err
}

// missing stands for a member that has not been seen.
var missing any = new(int)

// values appends to dst what line holds for the columns of t, key first.
func (t *table) values(dst []any, line []byte) ([]any, error) {
	at := len(dst)
	for _, cols := range [2][]column{t.key, t.content} {
		for i := range cols {
			if cols[i].optional {
				dst = append(dst, cols[i].absent)
			} else {
				dst = append(dst, missing)
			}
		}
	}
	err := walk(line, func(name string, value gjson.Result) error {
		slot := at
		for _, cols := range [2][]column{t.key, t.content} {
			for i := range cols {
				if cols[i].member == name {
					v, err := cols[i].read(value)
					if err != nil {
						return err
					}
					dst[slot] = v
				}
				slot++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, v := range dst[at:] {
		if v == missing {
			return nil, fmt.Errorf("has no member %s", columns(t.key, t.content...)[i].member)
		}
	}
	return dst, nil
}

func readText(v gjson.Result) (any, error) {
	if v.Type != gjson.String {
		return nil, errors.New("want a string")
	}
	return v.Str, nil
}

func readInt(v gjson.Result) (any, error) {
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil {
		return nil, errors.New("want a whole number of 64 bits")
	}
	return n, nil
}

func readIntOrNull(v gjson.Result) (any, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	return readInt(v)
}

func readFloatOrNull(v gjson.Result) (any, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	x, err := strconv.ParseFloat(v.Raw, 64)
	if err != nil || v.Type != gjson.Number {
		return nil, errors.New("want a number within float64")
	}
	return x, nil
}

func readBool(v gjson.Result) (any, error) {
	if !v.IsBool() {
		return nil, errors.New("want true or false")
	}
	return v.Bool(), nil
}

// readRaw keeps the JSON as it is.
func readRaw(v gjson.Result) (any, error) { return v.Raw, nil }

func readRawOrNull(v gjson.Result) (any, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	return readRaw(v)
}

func readBase64(v gjson.Result) (any, error) {
	b, err := base64.StdEncoding.DecodeString(v.Str)
	if err != nil {
		return nil, errors.New("want base64")
	}
	return b, nil
}

func readTime(v gjson.Result) (any, error) { return parseTime(v) }

// parseTime takes any year of four digits: windows can begin before the first
// event time that is accepted, and end after the last.
func parseTime(v gjson.Result) (ms int64, err error) {
	t, err := time.Parse(time.RFC3339, v.Str)
	if err != nil {
		return 0, errors.New("want an RFC 3339 time")
	}
	return t.UnixMilli(), nil
}

func readTimeOrNull(v gjson.Result) (any, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	return readTime(v)
}

// readMissed turns the times in a list of windows to milliseconds.
func readMissed(v gjson.Result) (any, error) {
	out, list, err := []byte{'['}, v, error(nil)
	list.ForEach(func(_, w gjson.Result) bool {
		var start, end int64
		if start, err = parseTime(w.Get("window_start")); err != nil {
			return false
		}
		if end, err = parseTime(w.Get("window_end")); err != nil {
			return false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(out, `{"window_start_ms":`...), start, 10)
		out = strconv.AppendInt(append(out, `,"window_end_ms":`...), end, 10)
		out = append(out, '}')
		return true
	})
	return string(append(out, ']')), err
}

// readUnshown reads a member of the row that an overflow stands for, which is
// text in the line.
func readUnshown(member string, read func(gjson.Result) (any, error)) func(gjson.Result) (any, error) {
	return func(v gjson.Result) (any, error) { return read(gjson.Get(v.Str, member)) }
}
