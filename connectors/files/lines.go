package files

import (
	"bytes"
	"io"
)

// chunkBytes is how much is read at a time.
const chunkBytes = 1 << 20

// keptOfLong is how much is kept of a line that is over the limit.
const keptOfLong = 1 << 10

// line is one line of a file, without its newline.
type line struct {
	text  []byte // shares memory with nothing that is written to again
	start int64  // offset of its first byte
	next  int64  // offset of the next line
	long  bool   // over the limit: text is only its beginning
}

// lineReader cuts a stream into lines. Each chunk of the stream is read into
// memory of its own, so that lines can be kept without copying them.
type lineReader struct {
	r   io.Reader
	off int64 // offset of rest[0]
	max int   // limit on the length of a line

	rest []byte // read and not yet handed out
	err  error  // what the reader ended with
}

func newLineReader(r io.Reader, off int64, limit int) *lineReader {
	return &lineReader{r: r, off: off, max: limit}
}

// next returns the next line, or io.EOF behind the last one. Another error
// comes after the lines in front of it; the part of a line before an error is
// not handed out.
func (l *lineReader) next() (line, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.rest[scanned:], '\n'); i >= 0 {
			return l.take(scanned+i, scanned+i+1), nil
		}
		scanned = len(l.rest)
		switch {
		case l.err == io.EOF && len(l.rest) > 0:
			return l.take(len(l.rest), len(l.rest)), nil
		case l.err != nil:
			return line{}, l.err
		case len(l.rest) > l.max+1: // a carriage return may be the last byte
			return l.skip()
		}
		l.fill()
	}
}

// take hands out the first n bytes and drops m.
func (l *lineReader) take(n, m int) line {
	ln := line{text: l.rest[:n:n], start: l.off, next: l.off + int64(m)}
	if len(bytes.TrimSuffix(l.rest[:n], []byte("\r"))) > l.max {
		ln.long, ln.text = true, bytes.Clone(l.rest[:keep(l.max)])
	}
	l.rest = l.rest[m:]
	l.off = ln.next
	return ln
}

// skip hands out the beginning of a line that is over the limit and reads over
// the rest of it, which may be longer than memory.
func (l *lineReader) skip() (line, error) {
	ln := line{text: bytes.Clone(l.rest[:keep(l.max)]), start: l.off, long: true}
	for {
		if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
			l.off += int64(i + 1)
			l.rest = l.rest[i+1:]
			break
		}
		l.off += int64(len(l.rest))
		l.rest = nil
		if l.err == io.EOF {
			break
		}
		if l.err != nil {
			return line{}, l.err
		}
		l.fill()
	}
	ln.next = l.off
	return ln, nil
}

func keep(limit int) int { return min(limit, keptOfLong) }

// fill reads more behind what is left, into fresh memory.
func (l *lineReader) fill() {
	buf := make([]byte, len(l.rest), len(l.rest)+max(chunkBytes, len(l.rest)))
	copy(buf, l.rest)
	n, err := io.ReadFull(l.r, buf[len(buf):cap(buf)])
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	l.rest, l.err = buf[:len(buf)+n], err
}
