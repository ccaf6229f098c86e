package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// csvReader cuts lines into the rows of comma-separated values (RFC 4180): a row
// goes on over the end of a line inside quotes. A row that is not well-formed is
// its first line only, so that a quote that never closes does not swallow the
// rows behind it.
type csvReader struct {
	lines *lineReader
	max   int

	ahead []line // read in search of the end of a row, to be handed out again
	feed  feeder
	parse *csv.Reader
}

func newCSVReader(lines *lineReader) *csvReader {
	c := &csvReader{lines: lines, max: lines.max}
	c.reset()
	return c
}

// row is one row: its first line where it could not be read.
type row struct {
	line
	cells []string // valid until the next call
	count int64    // lines
	err   error    // why it is not well-formed
}

// next returns the next row, or an error of the lines'.
func (c *csvReader) next() (row, error) {
	first, err := c.line()
	if err != nil {
		return row{}, err
	}
	r := row{line: first, count: 1}
	if first.long || len(bytes.TrimSpace(first.text)) == 0 {
		return r, nil
	}
	if bytes.IndexByte(first.text, '"') < 0 || even(first.text) {
		r.cells, r.err = c.cells(first.text)
		return r, nil
	}
	whole, more, err := c.gather(first)
	if err != nil {
		return row{}, err
	}
	if whole == nil {
		c.ahead = append(more, c.ahead...)
		r.err = errOpenQuote
		return r, nil
	}
	if r.cells, r.err = c.cells(whole); r.err != nil {
		c.ahead = append(more, c.ahead...)
		return r, nil
	}
	r.text, r.next, r.count = whole, more[len(more)-1].next, int64(1+len(more))
	return r, nil
}

var errOpenQuote = errors.New("invalid CSV: a quote is opened and never closed")

// gather reads on until the quotes of a row are closed. It returns no text where
// they never are, or only past the limit on records, and the lines that it has
// read in any case.
func (c *csvReader) gather(first line) (whole []byte, more []line, err error) {
	text := append(bytes.Clone(first.text), '\n')
	for {
		ln, err := c.line()
		if errors.Is(err, errWait) {
			c.ahead = append(append([]line{first}, more...), c.ahead...) // the same lines come again
			return nil, nil, err
		}
		if err != nil {
			// It comes again behind the lines that were read: nobody reads on
			// after it, and they have to be handed out first.
			return nil, more, nil
		}
		more = append(more, ln)
		if ln.long || len(text)+len(ln.text) > c.max {
			return nil, more, nil
		}
		text = append(text, ln.text...)
		if !even(ln.text) {
			return text, more, nil
		}
		text = append(text, '\n')
	}
}

func (c *csvReader) line() (line, error) {
	if len(c.ahead) == 0 {
		ln, err := c.lines.next()
		ln.text = withoutMark(ln)
		return ln, err
	}
	ln := c.ahead[0]
	c.ahead = c.ahead[1:]
	return ln, nil
}

// even reports whether as many quotes are opened as are closed.
func even(text []byte) bool { return bytes.Count(text, []byte(`"`))%2 == 0 }

// cells reads one row.
func (c *csvReader) cells(text []byte) ([]string, error) {
	c.feed.text = append(append(c.feed.text[:0], text...), '\n')
	c.feed.at = 0
	cells, err := c.parse.Read()
	if err == nil {
		return cells, nil
	}
	c.reset()
	var where *csv.ParseError
	if errors.As(err, &where) {
		return nil, fmt.Errorf("invalid CSV: %w at byte %d", where.Err, where.Column)
	}
	return nil, fmt.Errorf("invalid CSV: %w", err)
}

// reset forgets what a failed row has left in the parser.
func (c *csvReader) reset() {
	c.parse = csv.NewReader(&c.feed)
	c.parse.ReuseRecord = true
	c.parse.FieldsPerRecord = -1 // checked against the header
}

// feeder hands one row at a time to a csv.Reader, which reads no further than to
// the end of a row.
type feeder struct {
	text []byte
	at   int
}

func (f *feeder) Read(b []byte) (int, error) {
	if f.at == len(f.text) {
		return 0, io.EOF
	}
	n := copy(b, f.text[f.at:])
	f.at += n
	return n, nil
}
