package sink

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const partSuffix = ".part"

// Parts gathers the lines of an output that workers in other processes write: each
// process has a file of its own in a folder, which they share with whoever puts the
// lines together. A batch is there whole or not at all, also if a process is killed
// or the disk is full.
type Parts struct {
	Dir  string // of the workers' machines
	Name string // of the output

	// Optional says that nobody may want the lines any more: where Dir is gone,
	// before a worker begins or while it writes, they are dropped. Otherwise the
	// job fails where Dir is not there.
	Optional bool
}

// Place is where workers write to.
func (p Parts) Place() (Place, error) { return PlaceOf("parts", p) }

// part is the file of this process.
type part struct {
	optional bool

	mu   sync.Mutex
	file *os.File // nil where lines are dropped
	out  io.WriterAt
	size int64 // of the batches that are whole
	buf  []byte
	err  error // what it has failed of, for good
}

func openPart(config []byte) (Receiver, error) {
	var p Parts
	if err := json.Unmarshal(config, &p); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(p.Dir, p.Name+"-*"+partSuffix)
	switch {
	case p.Optional && errors.Is(err, fs.ErrNotExist):
		return &part{}, nil
	case err != nil:
		return nil, fmt.Errorf("sink: the folder for lines on their way: %w", err)
	}
	return &part{optional: p.Optional, file: f, out: f}, nil
}

// AddBatch implements [Receiver]. What a full disk has left of a batch is taken back.
func (p *part) AddBatch(b Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.optional && p.file != nil && p.gone() {
		// A file without a name would take space for nobody.
		p.file.Close() //nolint:errcheck // nobody reads it
		p.file = nil
	}
	if p.file == nil {
		return nil
	}
	p.buf = append(binary.AppendUvarint(p.buf[:0], uint64(len(b))), b...)
	if _, err := p.out.WriteAt(p.buf, p.size); err != nil {
		if undo := p.file.Truncate(p.size); undo != nil {
			p.err = errors.Join(err, undo)
			return p.err
		}
		return err
	}
	p.size += int64(len(p.buf))
	return nil
}

// gone reports whether the file was removed.
func (p *part) gone() bool {
	_, err := os.Lstat(p.file.Name())
	return errors.Is(err, fs.ErrNotExist)
}

// CopyTo adds all lines to a receiver, file by file in the order of their names. No
// worker may be writing any more.
func (p Parts) CopyTo(to Receiver) error {
	files, err := os.ReadDir(p.Dir)
	if err != nil {
		return fmt.Errorf("sink: reading lines of workers: %w", err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), p.Name+"-") || !strings.HasSuffix(f.Name(), partSuffix) {
			continue
		}
		if err := copyPart(filepath.Join(p.Dir, f.Name()), to); err != nil {
			return fmt.Errorf("sink: reading lines of workers: %w", err)
		}
	}
	return nil
}

func copyPart(name string, to Receiver) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	in := bufio.NewReaderSize(f, bufferBytes)
	var b Batch
	for {
		n, err := binary.ReadUvarint(in)
		if err == nil {
			if uint64(cap(b)) < n {
				b = make(Batch, n)
			}
			b = b[:n]
			_, err = io.ReadFull(in, b)
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil // what a worker was killed in, another one has written
		case err != nil:
			return err
		}
		if err := to.AddBatch(b); err != nil {
			return err
		}
	}
}
