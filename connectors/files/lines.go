package files

import (
	"bytes"
	"io"
)

const (
	// chunkBytes is how much of a file is read at a time.
	chunkBytes = 1 << 20

	// pipeBytes is how much of a pipe is read at a time.
	pipeBytes = 64 << 10

	// minRoom is how much room is left at least to read on without new memory.
	minRoom = 4 << 10
)

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
	r     io.Reader
	off   int64 // offset of rest[0]
	max   int   // limit on the length of a line
	chunk int   // how much to read at a time
	whole bool  // wait for whole chunks

	rest []byte // read and not yet handed out
	scan int    // how much of rest has no newline, as far as known
	skip *line  // the beginning of a line over the limit whose rest is being read over
	err  error  // what the reader ended with
}

func newLineReader(r io.Reader, off int64, limit int) *lineReader {
	return &lineReader{r: r, off: off, max: limit, chunk: chunkBytes, whole: true}
}

// newPipeReader takes what there is: next returns errWait where there is no
// whole line yet, and can be called again.
func newPipeReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, max: limit, chunk: pipeBytes}
}

// next returns the next line, or io.EOF behind the last one. Another error
// comes after the lines in front of it; the part of a line before an error is
// not handed out, but is what rest holds.
func (l *lineReader) next() (line, error) {
	for {
		if l.skip != nil {
			return l.skipOn()
		}
		if i := bytes.IndexByte(l.rest[l.scan:], '\n'); i >= 0 {
			return l.take(l.scan+i, l.scan+i+1), nil
		}
		l.scan = len(l.rest)
		switch {
		case l.err == io.EOF && len(l.rest) > 0:
			return l.take(len(l.rest), len(l.rest)), nil
		case l.err != nil:
			return line{}, l.err
		case len(l.rest) > l.max+1: // a carriage return may be the last byte
			l.skip = &line{text: bytes.Clone(l.rest[:keep(l.max)]), start: l.off, long: true}
			continue
		}
		if err := l.fill(); err != nil {
			return line{}, err
		}
	}
}

// take hands out the first n bytes and drops m.
func (l *lineReader) take(n, m int) line {
	ln := line{text: l.rest[:n:n], start: l.off, next: l.off + int64(m)}
	if len(bytes.TrimSuffix(l.rest[:n], []byte("\r"))) > l.max {
		ln.long, ln.text = true, bytes.Clone(l.rest[:keep(l.max)])
	}
	l.drop(m)
	return ln
}

func (l *lineReader) drop(n int) {
	l.rest, l.scan = l.rest[n:], 0
	l.off += int64(n)
}

// skipOn hands out the beginning of a line that is over the limit once it has
// read over the rest of it, which may be longer than memory.
func (l *lineReader) skipOn() (line, error) {
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			l.drop(len(l.rest))
			if l.err == nil {
				if err := l.fill(); err != nil {
					return line{}, err
				}
				continue
			}
			if l.err != io.EOF {
				return line{}, l.err
			}
		}
		l.drop(i + 1)
		ln := *l.skip
		l.skip, ln.next = nil, l.off
		return ln, nil
	}
}

func keep(limit int) int { return min(limit, keptOfLong) }

// fill reads more behind what is left, into fresh memory where there is no room.
// It returns errWait where there is nothing yet.
func (l *lineReader) fill() error {
	buf := l.rest
	if l.whole || cap(buf)-len(buf) < minRoom {
		buf = make([]byte, len(l.rest), len(l.rest)+max(l.chunk, len(l.rest)))
		copy(buf, l.rest)
	}
	var n int
	var err error
	if l.whole {
		n, err = readFull(l.r, buf[len(buf):cap(buf)])
	} else if n, err = l.r.Read(buf[len(buf):cap(buf)]); err == errWait {
		return err
	}
	l.rest, l.err = buf[:len(buf)+n], err
	return nil
}

// readFull fills buf. Other than io.ReadFull, it leaves the reader's errors as
// they are: one that says that the data is cut short is not the end of it.
func readFull(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}
