package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Appender writes the lines of an output to its target as they come: behind what
// a file holds already, or to standard output. It is safe for concurrent use, and
// several processes can append to one file where the system locks files, as Unix
// does. What one of them has left of a line when it was killed gets a newline.
type Appender struct {
	target Target
	layout Layout

	mu    sync.Mutex
	file  *os.File // nil for standard output
	out   io.Writer
	lines *writer
	text  bytes.Buffer
	size  int64 // of the file, while it is locked
	err   error // what it has failed of, for good
}

// NewAppender opens t for appending. A file that ends inside a line, which
// a crash can leave, gets a newline first; an empty one, and standard output, get
// the header.
func NewAppender(t Target, l Layout, stdout io.Writer) (*Appender, error) {
	a := &Appender{target: t, layout: l, out: stdout}
	a.lines = newWriter(l, &a.text)
	var err error
	if !t.IsStdout() {
		err = a.open()
	}
	if err == nil {
		err = a.locked(a.begin)
	}
	if err != nil {
		return nil, errors.Join(a.wrap(err), a.Close())
	}
	return a, nil
}

func (a *Appender) open() (err error) {
	a.file, err = os.OpenFile(a.target.uri, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		a.out = a.file
	}
	return err
}

// locked calls f while no other process writes to the file, whose size is known
// then.
func (a *Appender) locked(f func() error) error {
	if a.file == nil {
		return f()
	}
	if err := lock(a.file); err != nil {
		return err
	}
	defer unlock(a.file)
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	a.size = info.Size()
	return f()
}

// begin readies the target for lines.
func (a *Appender) begin() error {
	if a.file != nil && a.size > 0 {
		if err := checkHeader(a.file, a.layout); err != nil {
			return err
		}
	}
	return errors.Join(a.startLine(), a.write())
}

// startLine puts in front of a line what is missing: the header where nothing is
// there, and a newline where the file ends inside a line.
func (a *Appender) startLine() error {
	if a.size == 0 {
		return a.lines.header()
	}
	if a.file == nil {
		return nil
	}
	var last [1]byte
	if _, err := a.file.ReadAt(last[:], a.size-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		a.text.WriteByte('\n')
	}
	return nil
}

// CheckAppend reports why lines in the layout l could not be appended to t: what
// [Target.Check] would say, or that the file has another header. It changes
// nothing.
func CheckAppend(t Target, l Layout) error {
	if err := t.Check(); err != nil || t.IsStdout() {
		return err
	}
	f, err := os.Open(t.uri)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(checkHeader(f, l), f.Close())
	}
	if err != nil {
		return fmt.Errorf("output %q: %w", t.uri, cause(err))
	}
	return nil
}

// checkHeader refuses a file with another header. An empty one has none yet.
func checkHeader(f *os.File, l Layout) error {
	if l.Header == "" {
		return nil
	}
	want := []byte(l.Header + "\n")
	have := make([]byte, len(want))
	n, err := f.ReadAt(have, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n > 0 && string(bytes.TrimSuffix(have[:n], []byte("\n"))) != l.Header {
		first, _, _ := bytes.Cut(have[:n], []byte("\n"))
		return fmt.Errorf("begins with %q, want the header %q, or an empty file", first, l.Header)
	}
	return nil
}

func (a *Appender) wrap(err error) error {
	return fmt.Errorf("output %q: %w", a.target.uri, cause(err))
}

// AddBatch writes the lines of a batch, all of them or none: what a full disk has
// left of them is taken back. After an error every further call fails.
func (a *Appender) AddBatch(batch Batch) error {
	return a.add(func(line func([]byte) error) error {
		return batch.Each(func(_, text []byte) error { return line(text) })
	})
}

// AddSpool writes the lines of a spool, as AddBatch does.
func (a *Appender) AddSpool(sp *Spool) error {
	return a.add(sp.Each)
}

func (a *Appender) add(each func(func([]byte) error) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	if err := a.locked(func() error { return a.addLocked(each) }); err != nil {
		a.err = a.wrap(err)
	}
	return a.err
}

func (a *Appender) addLocked(each func(func([]byte) error) error) error {
	start := a.size
	if err := a.startLine(); err != nil { // another process may have been killed inside a line
		return err
	}
	err := each(func(line []byte) error {
		if err := a.lines.line(line); err != nil {
			return err
		}
		if a.text.Len() < bufferBytes {
			return nil
		}
		return a.write()
	})
	if err == nil {
		err = a.write()
	}
	if err != nil && a.file != nil {
		return errors.Join(err, a.file.Truncate(start))
	}
	return err
}

// write hands on what is there, in one call.
func (a *Appender) write() error {
	if err := a.lines.out.Flush(); err != nil {
		return err
	}
	n, err := a.out.Write(a.text.Bytes())
	a.size += int64(n)
	a.text.Reset()
	return err
}

// Close closes the file.
func (a *Appender) Close() error {
	if a.file == nil {
		return nil
	}
	if err := a.file.Close(); err != nil {
		return a.wrap(err)
	}
	return nil
}
