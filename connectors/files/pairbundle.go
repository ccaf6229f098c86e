package files

import (
	"errors"
	"io"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
)

// side is one of two inputs in a bundle.
type side struct {
	reel
	mark  *sideMark
	emit  emitRow
	right bool
}

// blocked reports whether a file has to wait for a pipe that has nothing to say.
func (s *side) blocked(silent *sideMark, aheadMs int64) bool {
	return s.file().Pipe == "" && aheadMs > 0 && !silent.Idle && s.mark.Ms > silent.Ms+aheadMs
}

// pairBundle is one bundle of a stream of two inputs.
type pairBundle struct {
	sitting
	*pairFn
	joint       *joint
	left, right side
}

// read reads on and reports whether the stream has ended, or is to.
func (b *pairBundle) read() (ended bool, err error) {
	if b.halt.Asked() {
		b.halt.Stopped(b.joint.Ms)
		return true, nil
	}
	defer b.left.park()
	defer b.right.park()
	for b.left.bytes+b.right.bytes < b.BundleBytes {
		s, it, err := b.next()
		switch {
		case errors.Is(err, errWait):
			if !await(b.wait(), b.left.pipe(), b.right.pipe()) {
				return false, nil
			}
			continue
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
		if err := b.claim(s, s.claim(&it)); err != nil {
			return false, err
		}
		b.take(s, &it)
	}
	return false, nil
}

// next returns the next record and its side, errWait where there is none now, or
// io.EOF where there is no more.
func (b *pairBundle) next() (*side, item, error) {
	for {
		first, other := b.order()
		if first == nil {
			return nil, item{}, io.EOF
		}
		it, err := b.ask(first)
		if errors.Is(err, errWait) && !other.over() && !other.blocked(first.mark, b.AheadMs) {
			// It does not hold the watermark, and is not silent for it.
			first = other
			if it, err = first.next(); err == nil {
				first.mark.hear()
			}
		}
		if !errors.Is(err, io.EOF) {
			return first, it, err
		}
		if err := b.turn(first); err != nil {
			return nil, item{}, err
		}
	}
}

// order says which side's turn it is, and which one is the other. The first is nil
// where both are over.
func (b *pairBundle) order() (first, other *side) {
	l, r := &b.left, &b.right
	for _, s := range []*side{l, r} {
		if s.over() && !s.mark.Ended {
			s.mark.Ended = true // its last file has ended, or it has none
			b.joint.advance()
		}
	}
	switch {
	case l.over() && r.over():
		return nil, nil
	case l.over() || !r.over() && r.mark.Ms < l.mark.Ms:
		return r, l
	default:
		return l, r
	}
}

// ask asks a side for its next record.
func (b *pairBundle) ask(s *side) (item, error) {
	it, err := s.next()
	switch {
	case err == nil:
		s.mark.hear()
	case errors.Is(err, errWait):
		s.mark.miss(b.now().UnixMilli(), b.IdleMs)
		b.joint.advance()
	}
	return it, err
}

// turn goes to the next file of a side. Behind a pipe that was the last one an
// interrupt is waited for, while the side still holds the watermark; if one comes
// turn returns io.EOF.
func (b *pairBundle) turn(s *side) error {
	pipe := s.file().Pipe != ""
	if err := b.claim(s, s.turn()); err != nil {
		return err
	}
	if pipe && s.over() && b.halt.AskedWithin(b.Grace) {
		b.halt.Stopped(b.joint.Ms)
		return io.EOF
	}
	return nil
}

func (b *pairBundle) claim(s *side, c claim) error {
	return b.sitting.claim(pairClaim{claim: c, right: s.right})
}

// wait is how long the bundle may wait for pipes: until one of them is idle at
// most, for the watermark or a file that was blocked may go on then.
func (b *pairBundle) wait() time.Duration {
	d := b.remaining()
	for _, m := range []*sideMark{b.left.mark, b.right.mark} {
		if b.IdleMs > 0 && m.SilentMs > 0 && !m.Idle && !m.Ended {
			idle := time.UnixMilli(m.SilentMs + b.IdleMs)
			d = min(d, idle.Sub(b.now()))
		}
	}
	return d
}

// take emits one record.
func (b *pairBundle) take(s *side, it *item) {
	if !b.understand(&s.reel, it) {
		return
	}
	s.emit(mtime.Time(b.v.TimeMs), string(b.v.Key), rowOf(s.in, it, s.file().Name, b.joint.Ms))
	s.mark.see(b.v.TimeMs, b.OutOfOrderMs)
	b.joint.advance()
}

// finish goes behind both sides.
func (b *pairBundle) finish() {
	for _, s := range []*side{&b.left, &b.right} {
		s.mark.Ended = true
		b.rt.TryClaim(pairClaim{claim: claim{file: int64(len(s.files))}, right: s.right})
	}
	b.joint.advance()
}
