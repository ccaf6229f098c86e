package rows

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"tidemark/windowfns"
)

// Late is a record that came too late for at least one of its windows.
type Late struct {
	Event    []byte             // the record as it came in, JSON
	TimeMs   int64              // its event time
	Missed   []windowfns.Window // the windows it was too late for, by ascending end
	All      bool               // it has no other windows
	Source   string             // where it was read
	Position int64              // line, byte offset or step in the source
}

// AppendLate appends the row of a late record: event, time, missed (a list of
// objects with window_start and window_end), missed_all, source, position.
//
// The event is embedded as it is, apart from white space: none is left around
// it, and line breaks inside it, which can only stand between its tokens, are
// spaces. An event that is not JSON in valid UTF-8, or nested so deep that
// encoding/json would refuse the row, becomes a string.
func AppendLate(dst []byte, rec *Late) []byte {
	start := len(dst)
	dst = appendName(append(dst, '{'), "event")
	dst = appendJSON(dst, start, rec.Event)
	dst = appendTime(dst, "time", rec.TimeMs)
	dst = appendMissed(appendName(dst, "missed"), rec.Missed)
	dst = appendBool(dst, "missed_all", rec.All)
	dst = appendText(dst, "source", rec.Source)
	dst = appendInt(dst, "position", rec.Position)
	return append(dst, '}')
}

// appendMissed appends a list of windows.
func appendMissed(dst []byte, missed []windowfns.Window) []byte {
	dst = append(dst, '[')
	for i, w := range missed {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendWindow(append(dst, '{'), w.StartMs, w.EndMs)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// maxDepth is the deepest nesting that encoding/json reads.
const maxDepth = 10000

// appendJSON appends raw as the value of a member; the row that it belongs to is
// dst[start:].
func appendJSON(dst []byte, start int, raw []byte) []byte {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return appendString(dst, raw)
	}
	at := len(dst)
	dst = append(dst, bytes.Trim(raw, " \t\r\n")...)
	// The row is one level deeper than the event, which takes this many bytes
	// to be as deep as can be.
	if len(dst)-at >= 2*maxDepth && !json.Valid(append(dst, '}')[start:]) {
		return appendString(dst[:at], raw)
	}
	unbreak(dst[at:])
	return dst
}

// unbreak puts spaces in place of line breaks, which stand between the tokens of
// JSON only.
func unbreak(text []byte) {
	for _, c := range [2]byte{'\n', '\r'} {
		for from := 0; ; {
			i := bytes.IndexByte(text[from:], c)
			if i < 0 {
				break
			}
			text[from+i] = ' '
			from += i + 1
		}
	}
}

// Bad is a record that could not be used.
type Bad struct {
	Source   string // where it was read
	Position int64  // line, byte offset or step in the source
	Raw      []byte // the record as it came in; any bytes
	Reason   string // what is wrong with it, for people
}

// AppendBad appends the row of a bad record: source, position, raw, reason. Raw
// is a string of all the record's bytes, a carriage return at its end among
// them. Where they are not valid UTF-8, raw cannot hold them as they are, and
// one more member, raw_base64, does: in standard base64 with padding.
func AppendBad(dst []byte, rec *Bad) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "source", rec.Source)
	dst = appendInt(dst, "position", rec.Position)
	dst = appendText(dst, "raw", rec.Raw)
	dst = appendText(dst, "reason", rec.Reason)
	if !utf8.Valid(rec.Raw) {
		dst = append(appendName(dst, "raw_base64"), '"')
		dst = base64.StdEncoding.AppendEncode(dst, rec.Raw)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}
