package files

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// errWait says that a pipe has nothing for now.
var errWait = errors.New("files: nothing to read yet")

// pipes holds the open pipes of this process by id: a DoFn is shipped as JSON and
// cannot point to one.
var pipes sync.Map // string to *Pipe

// Pipe is a stream that can be read only once, and that may stay open without
// having anything to say: standard input, a named pipe. What is read of it waits
// in a few buffers until the pipeline takes it; while they are full, nothing is
// read.
type Pipe struct {
	chunks chan []byte
	end    error // what the stream ended with; set before chunks is closed

	rest   []byte
	cursor *cursor // where the pipeline is in it
}

// pipeChunks is how many buffers a pipe fills ahead of the pipeline.
const pipeChunks = 16

// OpenPipe begins to read r, and lets [Stream] read it as a [File] with this id.
// What is compressed has to go through [Unzip].
// It panics if the id is in use.
func OpenPipe(id string, r io.Reader) {
	p := &Pipe{chunks: make(chan []byte, pipeChunks)}
	if _, taken := pipes.LoadOrStore(id, p); taken {
		panic(fmt.Errorf("files.OpenPipe: id %q is open already", id))
	}
	go p.pump(r)
}

// ForgetPipe ends what [OpenPipe] has begun. The reading goes on until the
// buffers are full or r ends.
func ForgetPipe(id string) { pipes.Delete(id) }

func pipeOf(id string) (*Pipe, error) {
	p, ok := pipes.Load(id)
	if !ok {
		return nil, errors.New("no such pipe in this process, want a worker in the process that submits the pipeline: " +
			"use Prism, or --environment_type=LOOPBACK")
	}
	return p.(*Pipe), nil
}

func (p *Pipe) pump(r io.Reader) {
	for {
		buf := make([]byte, pipeBytes)
		n, err := r.Read(buf)
		if n > 0 {
			p.chunks <- buf[:n]
		}
		if err != nil {
			p.end = err
			close(p.chunks)
			return
		}
	}
}

// Read returns what there is, and errWait where there is nothing now.
func (p *Pipe) Read(buf []byte) (int, error) {
	if len(p.rest) == 0 {
		select {
		case chunk, ok := <-p.chunks:
			if !ok {
				return 0, p.end
			}
			p.rest = chunk
		default:
			return 0, errWait
		}
	}
	n := copy(buf, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// source is what a pipe has to say. That of no pipe is nothing, for ever.
func (p *Pipe) source() <-chan []byte {
	if p == nil {
		return nil
	}
	return p.chunks
}

// await waits, for as long as d, until one of two pipes whose Read has returned
// errWait has something to say or has ended, and reports whether one has. Either
// may be nil.
func await(d time.Duration, a, b *Pipe) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case chunk := <-a.source():
		a.rest = chunk // nothing where it has ended: Read finds that out again
	case chunk := <-b.source():
		b.rest = chunk
	case <-timer.C:
		return false
	}
	return true
}
