package rows

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/sink"
)

var joinColumns = []column{{"key", false}, {"left", false}, {"right", false}, {"time", false}}

const joinLateHeader = "side,event,time,source,position"

// JoinLayout is what stands around the rows of joins. There is no pipe format;
// Pipe is JSON.
func JoinLayout(f Format) sink.Layout { return layout(f, joinColumns) }

// JoinLateLayout is what stands around the late records of joins.
func JoinLateLayout(f Format) sink.Layout { return headed(f, joinLateHeader) }

// AppendJoined appends a row of a join, whose time is timeMs: key, left, right,
// time. A side that is not there is null.
//
// Records are embedded as the events of [AppendLate] are, but what is in them is
// not validated again: it has to be a JSON object in valid UTF-8.
func AppendJoined(dst []byte, timeMs int64, j *Joined) []byte {
	return appendJoined(dst, JSON, timeMs, j)
}

// appendJoined appends a row in a format. In the format Mart come, behind the other
// members, left_source and left_position, and right_source and right_position, of
// the sides that are there.
func appendJoined(dst []byte, f Format, timeMs int64, j *Joined) []byte {
	if f == CSV {
		return appendJoinedCSV(dst, timeMs, j)
	}
	if f == Table {
		return appendJoinedCells(dst, timeMs, j)
	}
	start := len(dst)
	dst = append(dst, '{')
	dst = appendText(dst, "key", j.Key)
	dst = appendSide(dst, start, "left", j.Left)
	dst = appendSide(dst, start, "right", j.Right)
	dst = appendTime(dst, "time", timeMs)
	if r := j.Left; f == Mart && r != nil {
		dst = appendInt(appendText(dst, "left_source", r.Source), "left_position", r.Position)
	}
	if r := j.Right; f == Mart && r != nil {
		dst = appendInt(appendText(dst, "right_source", r.Source), "right_position", r.Position)
	}
	return append(dst, '}')
}

func appendSide(dst []byte, start int, name string, r *files.Row) []byte {
	if r == nil {
		return appendNull(dst, name)
	}
	return appendRecord(appendName(dst, name), start, r.Raw)
}

// appendRecord is [appendJSON] for a JSON object in valid UTF-8.
func appendRecord(dst []byte, start int, raw []byte) []byte {
	text := raw
	if !braced(text) {
		text = bytes.Trim(text, " \t\r\n")
	}
	// What is too deep is long, and what is no object is better looked at.
	if len(text) >= 2*maxDepth || !braced(text) {
		return appendJSON(dst, start, raw)
	}
	at := len(dst)
	dst = append(dst, text...)
	unbreak(dst[at:])
	return dst
}

func braced(raw []byte) bool {
	n := len(raw)
	return n >= 2 && raw[0] == '{' && raw[n-1] == '}'
}

// appendJoinedCSV appends a row of a join as CSV. Its cells go to dst one by one,
// because lists of cells are slow to make.
func appendJoinedCSV(dst []byte, timeMs int64, j *Joined) []byte {
	dst = appendCell(dst, j.Key)
	for _, r := range [2]*files.Row{j.Left, j.Right} {
		dst = append(dst, ',')
		if r != nil {
			dst = appendRecordCell(dst, r.Raw)
		}
	}
	return records.AppendTime(append(dst, ','), timeMs)
}

// appendRecordCell appends a record as a cell of CSV, the text of appendRecord.
func appendRecordCell(dst, raw []byte) []byte {
	// The text is made at the end of dst, then replaced by its quoted form.
	start := len(dst)
	dst = appendRecord(append(dst, `{"":`...), start, raw)
	at, end := start+len(`{"":`), len(dst)
	dst = appendCell(dst, dst[at:end])
	return append(dst[:start], dst[end:]...)
}

// appendJoinedCells appends a row of a join for a table.
func appendJoinedCells(dst []byte, timeMs int64, j *Joined) []byte {
	dst = append(dst, printable(j.Key)...)
	for _, r := range [2]*files.Row{j.Left, j.Right} {
		dst = append(dst, '\t')
		if r != nil {
			dst = appendPlainRecord(dst, r.Raw)
		}
	}
	return records.AppendTime(append(dst, '\t'), timeMs)
}

// appendPlainRecord appends a record as JSON that keeps to its line and cell, and
// has no character that a terminal could obey: control characters outside of
// strings are spaces, and those inside are escaped.
func appendPlainRecord(dst, raw []byte) []byte {
	text := appendRecord([]byte(`{"":`), 0, raw)[len(`{"":`):]
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\t':
			dst = append(dst, ' ')
		case unicode.IsControl(r): // below U+0100
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xF])
		default:
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return dst
}

// JoinLate is a record that came too late to be joined.
type JoinLate struct {
	Side     Side
	Key      string // only in a mart
	Event    []byte // the record as it came in, JSON
	TimeMs   int64  // its event time
	Source   string // where it was read
	Position int64  // line, byte offset or step in the source
}

// AppendJoinLate appends the row of a late record of a join: side, event, time,
// source, position. The event is embedded as in [AppendLate].
func AppendJoinLate(dst []byte, rec *JoinLate) []byte { return appendJoinLate(dst, JSON, rec) }

// appendJoinLate appends a late record in a format. In the format Mart the key
// comes last.
func appendJoinLate(dst []byte, f Format, rec *JoinLate) []byte {
	start := len(dst)
	if f == CSV {
		dst = append(append(dst, rec.Side...), ',')
		dst = append(appendRecordCell(dst, rec.Event), ',')
		dst = append(records.AppendTime(dst, rec.TimeMs), ',')
		dst = append(appendCell(dst, rec.Source), ',')
		return strconv.AppendInt(dst, rec.Position, 10)
	}
	dst = append(dst, '{')
	dst = appendText(dst, "side", string(rec.Side))
	dst = appendJSON(appendName(dst, "event"), start, rec.Event)
	dst = appendTime(dst, "time", rec.TimeMs)
	dst = appendText(dst, "source", rec.Source)
	dst = appendInt(dst, "position", rec.Position)
	if f == Mart {
		dst = appendText(dst, "key", rec.Key)
	}
	return append(dst, '}')
}

// appendSideBad appends a bad record of a side of a join in a format. In the format
// Mart the side comes last, since a join of a file with itself can have the same
// record on both.
func appendSideBad(dst []byte, f Format, side Side, rec *Bad) []byte {
	if f == CSV {
		return appendBadCSV(dst, rec)
	}
	dst = AppendBad(dst, rec)
	if f == Mart && side != "" {
		dst = append(appendText(dst[:len(dst)-1], "side", string(side)), '}')
	}
	return dst
}
