package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxDepth is the deepest nesting of objects and arrays in a record, the same
// as that of encoding/json. The validation is recursive, so that a bound keeps
// a record of brackets from taking the process down.
const maxDepth = 10000

// check returns nil if raw is one JSON object in valid UTF-8, or else the
// reason why it is not.
func check(raw []byte) error {
	if i := skipSpace(raw, 0); i < len(raw) && raw[i] == '{' &&
		utf8.Valid(raw) && !tooDeep(raw) && gjson.ValidBytes(raw) {
		return nil
	}
	return reason(raw)
}

// tooDeep reports whether raw nests deeper than maxDepth.
func tooDeep(raw []byte) bool {
	if len(raw) <= maxDepth || bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// reason says why raw is not one JSON object. It is called for bad records only
// and takes the time to find the place.
func reason(raw []byte) error {
	start := skipSpace(raw, 0)
	switch {
	case start == len(raw):
		return errors.New("empty record, want a JSON object")
	case bytes.HasPrefix(raw, []byte("\ufeff")):
		return errors.New("starts with a byte order mark, want a JSON object")
	case bytes.HasPrefix(raw, []byte("\x1f\x8b")):
		return errors.New("gzip data, want text: decompress it first, or name the file .gz")
	case !utf8.Valid(raw):
		return fmt.Errorf("invalid UTF-8 at byte offset %d", invalidUTF8(raw))
	case tooDeep(raw):
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	var value json.RawMessage
	switch err := d.Decode(&value).(type) {
	case nil:
	case *json.SyntaxError:
		at := min(max(0, int(err.Offset)-1), len(raw)-1)
		r, _ := utf8.DecodeRune(raw[at:])
		return fmt.Errorf("invalid JSON: unexpected %q at byte offset %d", r, at)
	default: // io.ErrUnexpectedEOF
		return fmt.Errorf("truncated JSON: ends at byte offset %d", len(raw))
	}
	if k := kindOf(value); k != object {
		return fmt.Errorf("%s, want a JSON object", k)
	}
	end := skipSpace(raw, int(d.InputOffset()))
	return fmt.Errorf("more text after the JSON object, at byte offset %d", end)
}

// invalidUTF8 returns the offset of the first byte of raw that is not part of
// valid UTF-8.
func invalidUTF8(raw []byte) int {
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(raw)
}
