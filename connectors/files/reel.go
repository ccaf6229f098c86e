package files

import (
	"errors"
	"fmt"
)

// reel is one input of a stream in a bundle: files and pipes, one after the
// other.
type reel struct {
	*opener
	files []File
	side  string  // of a join, as bad records name it
	at    span    // what is not read yet
	in    *cursor // where the bundle is in the file; nil before it has begun
	bytes int64   // read in this bundle
}

// over reports whether the last file has ended.
func (r *reel) over() bool { return r.at.File == int64(len(r.files)) }

// file is the one that is read. The input must not be over.
func (r *reel) file() *File { return &r.files[r.at.File] }

// next returns the next record of the file, io.EOF behind the last one, or errWait
// where a pipe has nothing now.
func (r *reel) next() (item, error) {
	if r.in == nil {
		in, err := r.resume(*r.file(), r.at)
		if err != nil {
			return item{}, r.wrap(err)
		}
		r.in = in
	}
	it, err := r.in.next(r.dec)
	if err == nil || errors.Is(err, errWait) {
		return it, err
	}
	r.in.close()
	r.in = nil
	return it, r.wrap(err)
}

func (r *reel) wrap(err error) error {
	return fmt.Errorf("reading %s: %w", r.file().Name, err)
}

// claim is that of a record, from which on the input goes on behind it.
func (r *reel) claim(it *item) claim {
	c := it.claim()
	c.file = r.at.File
	r.bytes += c.next - r.at.Start
	r.at = r.at.after(c)
	return c
}

// turn goes to the next file, and is the claim of that.
func (r *reel) turn() claim {
	c := claim{file: r.at.File + 1, line: 1}
	r.at = r.at.after(c)
	r.in = nil
	return c
}

// pipe is what is read where that is a pipe, or nil.
func (r *reel) pipe() *Pipe {
	if r.in == nil {
		return nil
	}
	return r.in.pipe()
}

// raw is a record as it came in.
func (r *reel) raw(it *item) []byte { return r.in.raw(it) }

// park leaves the file open for the next bundle. A pipe stays open anyway.
func (r *reel) park() {
	if r.in != nil && r.file().Pipe == "" {
		r.opener.park(*r.file(), r.at.Start, r.in)
	}
	r.in = nil
}
