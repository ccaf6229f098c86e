package sink

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// disk is the part of a spool that is on disk. Sorted lines come as runs, and
// runs are on levels: when a level has as many runs as can be merged at once,
// they become one run of the next level. That bounds the runs that there are in
// the end by the logarithm of the lines.
type disk struct {
	levels []*level
}

// level is a temporary file of runs.
type level struct {
	file *tempFile
	runs []span
}

// span is a part of a file.
type span struct{ at, size int64 }

// level returns the level i, which is at most one more than there are.
func (d *disk) level(dir string, i int) (*level, error) {
	if i == len(d.levels) {
		f, err := newTempFile(dir)
		if err != nil {
			return nil, err
		}
		d.levels = append(d.levels, &level{file: f})
	}
	return d.levels[i], nil
}

// addRun adds what src reads, which is sorted, as a run.
func (d *disk) addRun(dir string, fanIn int, src ...*source) error {
	for i := 0; ; i++ {
		l, err := d.level(dir, i)
		if err != nil {
			return err
		}
		if err := l.write(src); err != nil {
			return err
		}
		if i > 0 {
			if err := d.levels[i-1].truncate(); err != nil {
				return err
			}
		}
		if len(l.runs) < fanIn {
			return nil
		}
		src = l.sources()
	}
}

// sources reads every run.
func (d *disk) sources() []*source {
	var all []*source
	for _, l := range d.levels {
		all = append(all, l.sources()...)
	}
	return all
}

func (d *disk) close() error {
	var errs []error
	for _, l := range d.levels {
		errs = append(errs, l.file.Close())
	}
	d.levels = nil
	return errors.Join(errs...)
}

// write merges sources to one run.
func (l *level) write(src []*source) error {
	at := l.file.size
	out := bufio.NewWriterSize(l.file, bufferBytes)
	var head []byte
	err := merge(src, func(order, line []byte) error {
		head = binary.AppendUvarint(head[:0], uint64(len(order)))
		head = binary.AppendUvarint(head, uint64(len(line)))
		for _, b := range [][]byte{head, order, line} {
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	l.runs = append(l.runs, span{at, l.file.size - at})
	return nil
}

func (l *level) sources() []*source {
	all := make([]*source, len(l.runs))
	for i, r := range l.runs {
		all[i] = runSource(io.NewSectionReader(l.file, r.at, r.size))
	}
	return all
}

func (l *level) truncate() error {
	l.runs, l.file.size = nil, 0
	return l.file.Truncate(0)
}

// runSource reads a run.
func runSource(r io.Reader) *source {
	in := bufio.NewReaderSize(r, bufferBytes)
	var buf []byte
	return &source{read: func() (order, line []byte, err error) {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, nil, err // io.EOF between lines
		}
		m, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, nil, truncated(err)
		}
		if size := int(n + m); size > cap(buf) {
			buf = make([]byte, size)
		}
		buf = buf[:n+m]
		if _, err := io.ReadFull(in, buf); err != nil {
			return nil, nil, truncated(err)
		}
		return buf[:n], buf[n:], nil
	}}
}

// truncated keeps the end of a file inside a line from passing for the end of a
// run.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// tempFile is a file for writing at its end and reading anywhere. Where the
// system allows it, it has no name any more, so that it goes away with the
// process however that ends.
type tempFile struct {
	*os.File
	size  int64
	named bool
}

func newTempFile(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "tidemark-*.spool")
	if err != nil {
		return nil, err
	}
	return &tempFile{File: f, named: os.Remove(f.Name()) != nil}, nil
}

// Write appends to the file.
func (f *tempFile) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, f.size)
	f.size += int64(n)
	return n, err
}

// Close closes the file and removes it.
func (f *tempFile) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	return nil
}
