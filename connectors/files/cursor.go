package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark/connectors/records"
)

// item is one record as it stands in a file: what it takes to decode it, or the
// reason why that cannot be done.
type item struct {
	text   []byte // as it came in, or its beginning where it is over the limit
	cells  []string
	start  int64 // offsets, in the text that a compressed file holds
	next   int64
	line   int64 // number of its first line, from 1; 0 where positions are offsets
	lines  int64 // how many it takes up
	reason string
}

// position is what users are told.
func (it *item) position() int64 {
	if it.line > 0 {
		return it.line
	}
	return it.start
}

// cursor reads the records of a file in order.
type cursor struct {
	file  File
	limit int

	in    io.Closer // nil for a pipe
	lines *lineReader
	line  int64 // number of the next line; 0 where positions are offsets

	csv     *csvReader
	header  bool // has been looked for
	columns records.Columns
	broken  string // why no row can be understood

	size int64 // the file has to be this long; 0 where that is not known
	pos  int64 // the offset behind the last record
	done bool
}

// openCursor opens a file at a span. Compressed files and tables are read from
// their beginning, up to there.
func openCursor(f File, s span, limit int, dec *records.Decoder) (*cursor, error) {
	c := &cursor{file: f, limit: limit, line: s.Line}
	if f.Pipe != "" {
		p, err := pipeOf(f.Pipe)
		if err != nil {
			return nil, err
		}
		if p.cursor != nil {
			return p.cursor, nil
		}
		c.lines = newPipeReader(p, limit)
		p.cursor = c
		return c.table(), nil
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	c.in = in
	if err := c.seek(in, s, dec); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return c, nil
}

// table readies c for a table, if its file is one.
func (c *cursor) table() *cursor {
	if c.file.Format == CSV {
		c.csv = newCSVReader(c.lines)
	}
	return c
}

func (c *cursor) seek(in *os.File, s span, dec *records.Decoder) error {
	if s.End < math.MaxInt64 {
		c.size = s.End
	}
	switch {
	case c.file.Gzip:
		c.lines = newLineReader(Unzip(in), 0, c.limit)
	case c.file.Format == CSV:
		c.lines = newLineReader(in, 0, c.limit)
	default:
		return c.seekLine(in, s)
	}
	c.table()
	if s.Start == 0 {
		return nil
	}
	for c.line = 1; c.pos < s.Start && !c.done; {
		if _, err := c.next(dec); err != nil {
			return err
		}
	}
	return nil
}

// seekLine goes to the first line that begins in s.
func (c *cursor) seekLine(in *os.File, s span) error {
	at := s.Start
	if s.Cut {
		// A line that begins at Start is ours if a newline is in front of it.
		at--
	}
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return err
	}
	c.lines = newLineReader(in, at, c.limit)
	if s.Cut {
		if _, err := c.lines.next(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// pipe is what c reads where that is a pipe, or nil.
func (c *cursor) pipe() *Pipe {
	p, _ := c.lines.r.(*Pipe)
	return p
}

func (c *cursor) close() {
	if c.in != nil {
		_ = c.in.Close() // nothing was written
	}
}

// next returns the next record, io.EOF behind the last one, or errWait. Blank
// lines are passed over.
func (c *cursor) next(dec *records.Decoder) (item, error) {
	for {
		if c.done {
			return item{}, io.EOF
		}
		it, err := c.read()
		if err != nil {
			return c.ended(err)
		}
		it.text = bytes.TrimSuffix(it.text, []byte("\r"))
		if it.reason == "" && len(bytes.TrimSpace(it.text)) == 0 {
			continue
		}
		switch {
		case c.csv != nil && !c.header:
			if c.head(&it, dec) {
				continue
			}
		case it.reason == "":
			it.reason = c.broken
		}
		c.pos = it.next
		return it, nil
	}
}

// read returns the next line or row.
func (c *cursor) read() (it item, err error) {
	it.lines = 1
	var long bool
	if c.csv == nil {
		ln, err := c.lines.next()
		if err != nil {
			return item{}, err
		}
		it.text, it.start, it.next, long = withoutMark(ln), ln.start, ln.next, ln.long
	} else {
		r, err := c.csv.next()
		if err != nil {
			return item{}, err
		}
		it.text, it.start, it.next, long = r.text, r.start, r.next, r.long
		it.cells, it.lines = r.cells, r.count
		if r.err != nil {
			it.reason = r.err.Error()
		}
	}
	if long {
		it.reason = TooLong(c.limit)
	}
	if it.line = c.line; c.line > 0 {
		c.line += it.lines
	}
	return it, nil
}

// head takes the header of a table. One that is malformed is a bad record like
// every row behind it: there may be none, and then nothing would say that the
// file was not understood.
func (c *cursor) head(it *item, dec *records.Decoder) (ok bool) {
	c.header = true
	switch {
	case it.reason != "":
	case !utf8.Valid(it.text):
		it.reason = "invalid UTF-8"
	case slices.ContainsFunc(it.cells, func(name string) bool { return strings.Contains(name, "\r") }):
		it.reason = "a carriage return inside a line, want lines that end with a newline"
	}
	if it.reason == "" {
		c.columns = dec.Columns(slices.Clone(it.cells))
		return true
	}
	c.broken = fmt.Sprintf("the header, line %d, is malformed: %s", it.line, it.reason)
	it.reason = "the header is malformed: " + it.reason
	return false
}

// withoutMark is the text of a line without the byte order mark that a file may
// begin with.
func withoutMark(ln line) []byte {
	if ln.start > 0 {
		return ln.text
	}
	return bytes.TrimPrefix(ln.text, []byte("\ufeff"))
}

// ended is what next returns once no more can be read.
func (c *cursor) ended(err error) (item, error) {
	var cut *unzipError
	switch {
	case errors.Is(err, errWait):
	case errors.As(err, &cut):
		// What is there of the last line, and behind it, is one bad record.
		c.done = true
		text := bytes.Clone(c.lines.rest[:min(len(c.lines.rest), keep(c.limit))])
		c.pos = c.lines.off + int64(len(c.lines.rest)) + 1
		return item{text: text, start: c.lines.off, next: c.pos, line: c.line, lines: 1, reason: cut.Error()}, nil
	case errors.Is(err, io.EOF):
		c.done = true
		if at := c.lines.off; at < c.size {
			return item{}, fmt.Errorf("the file has become shorter while it was read: it ends at byte %d, and was %d bytes long", at, c.size)
		}
	}
	return item{}, err
}

// decode reads the values of a record.
func (c *cursor) decode(dec *records.Decoder, it *item, v *records.Values) (reason string) {
	var err error
	switch {
	case it.reason != "":
		return it.reason
	case c.csv != nil:
		err = dec.DecodeRow(&c.columns, it.cells, v)
	default:
		err = dec.Decode(it.text, v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// raw is the record as it came in, as JSON: what a late record shows.
func (c *cursor) raw(it *item) []byte {
	if c.csv != nil {
		return c.columns.Object(it.cells)
	}
	return it.text
}

// TooLong is the reason of a record that is over the limit.
func TooLong(limit int) string {
	return fmt.Sprintf("longer than %d bytes, the limit on records", limit)
}
