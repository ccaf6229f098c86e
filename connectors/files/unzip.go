package files

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Unzip reads the text of gzip data. Of a pipe that stays open it returns what
// is there before it waits for more.
func Unzip(r io.Reader) io.Reader {
	return &unzip{from: bufio.NewReaderSize(r, 256<<10)}
}

// unzip reads compressed data, and tells what is wrong with it from what is
// wrong with the file.
type unzip struct {
	from *bufio.Reader
	gz   *gzip.Reader
	over bool // a member has ended, and what is behind it has not been looked at
}

// unzipError says that compressed data cannot be read on.
type unzipError struct{ err error }

func (e *unzipError) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) || errors.Is(e.err, io.EOF) {
		return "the gzip data is cut short here: what was behind cannot be read"
	}
	return fmt.Sprintf("the gzip data is damaged here: %v: what is behind cannot be read", e.err)
}

func (u *unzip) Read(b []byte) (n int, err error) {
	switch {
	case u.gz == nil:
		if u.gz, err = gzip.NewReader(u.from); err != nil {
			return 0, wrapUnzip(err)
		}
	case u.over:
		if err := u.nextMember(); err != nil {
			return 0, err
		}
	}
	// Left alone, a gzip.Reader waits for the next member with the end of the
	// last one in hand.
	u.gz.Multistream(false)
	n, err = u.gz.Read(b)
	u.over = err == io.EOF
	if err != nil && !u.over {
		return n, wrapUnzip(err)
	}
	return n, nil
}

// nextMember goes on to the next member, or returns io.EOF. Zeros behind the last
// one are padding, as of tapes.
func (u *unzip) nextMember() error {
	for {
		b, err := u.from.ReadByte()
		if err != nil {
			return err // of the file, or io.EOF
		}
		if b == 0 {
			continue
		}
		if err := u.from.UnreadByte(); err != nil {
			return err
		}
		if magic, err := u.from.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
			return &unzipError{errBehind}
		}
		return wrapUnzip(u.gz.Reset(u.from))
	}
}

var errBehind = errors.New("what follows is not gzip data")

func wrapUnzip(err error) error {
	if err == nil {
		return nil
	}
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		return err
	}
	return &unzipError{err}
}
