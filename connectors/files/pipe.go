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

	deadline time.Time // until when Read waits
	rest     []byte
	cursor   *cursor // where the pipeline is in it
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

// Read returns what there is, waiting for it until the deadline, and errWait
// where there is nothing then.
func (p *Pipe) Read(buf []byte) (int, error) {
	if len(p.rest) == 0 {
		chunk, ok, err := p.receive()
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, p.end
		}
		p.rest = chunk
	}
	n := copy(buf, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *Pipe) receive() (chunk []byte, ok bool, err error) {
	select {
	case chunk, ok = <-p.chunks:
		return chunk, ok, nil
	default:
	}
	wait := time.Until(p.deadline)
	if wait <= 0 {
		return nil, false, errWait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case chunk, ok = <-p.chunks:
		return chunk, ok, nil
	case <-timer.C:
		return nil, false, errWait
	}
}
