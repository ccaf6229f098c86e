package sink

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Parts gathers the lines of an output that workers in other processes write: each
// process has a file of its own in a folder, which they share with whoever puts the
// lines together. A batch is there whole or not at all, also if a process is killed.
type Parts struct {
	Dir  string // of the workers' machines
	Name string // of the output
}

// Place is where workers write to.
func (p Parts) Place() (Place, error) { return PlaceOf("parts", p) }

// part is the file of this process.
type part struct {
	mu   sync.Mutex
	file *os.File
	buf  []byte
}

func openPart(config []byte) (Receiver, error) {
	var p Parts
	if err := json.Unmarshal(config, &p); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(p.Dir, p.Name+"-*.part")
	if err != nil {
		return nil, fmt.Errorf("sink: the folder for lines on their way: %w", err)
	}
	return &part{file: f}, nil
}

// AddBatch implements [Receiver].
func (p *part) AddBatch(b Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf = append(binary.AppendUvarint(p.buf[:0], uint64(len(b))), b...)
	_, err := p.file.Write(p.buf)
	return err
}

// CopyTo adds all lines to a receiver. No worker may be writing any more.
func (p Parts) CopyTo(to Receiver) error {
	names, err := filepath.Glob(filepath.Join(p.Dir, p.Name+"-*.part"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyPart(name, to); err != nil {
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
