package files

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func init() {
	beam.RegisterType(reflect.TypeFor[span]())
}

// span is a restriction: the records of a file that begin in [Start, End).
type span struct {
	// File is the index of the file among those of a stream; 0 in batch.
	File int64

	Start int64
	End   int64

	// Line is the number of the line at Start; 0 where positions are offsets.
	Line int64

	// Cut says that Start may be in the middle of a line, which then belongs to
	// the span before.
	Cut bool
}

// claim is the position of one record.
type claim struct {
	file  int64
	start int64 // where it begins
	next  int64 // where the next one begins
	line  int64 // the number of the next line; 0 where positions are offsets
}

// after is s without what c claims.
func (s span) after(c claim) span {
	s.File, s.Start, s.Line, s.Cut = c.file, c.next, c.line, false
	return s
}

// claim is that of it.
func (it *item) claim() claim {
	c := claim{start: it.start, next: it.next}
	if it.line > 0 {
		c.line = it.line + it.lines
	}
	return c
}

// tracker tracks a span. It can be split where it stands, which is how the
// source checkpoints itself, and nowhere else.
type tracker struct {
	span span
	rest span // what is not claimed yet
	err  error
	done bool
}

func newTracker(s span) *tracker { return &tracker{span: s, rest: s} }

// TryClaim claims the line at pos, a claim. A claim at or behind the end fails
// and finishes the span.
func (t *tracker) TryClaim(pos any) bool {
	c, ok := pos.(claim)
	switch {
	case !ok:
		t.err = fmt.Errorf("files: claim of type %T", pos)
		return false
	case t.done:
		return false
	case c.start >= t.span.End:
		t.done = true
		return false
	}
	t.rest = t.rest.after(c)
	return true
}

func (t *tracker) GetError() error { return t.err }

// TrySplit gives away all that is not claimed where the fraction is 0.
func (t *tracker) TrySplit(fraction float64) (primary, residual any, err error) {
	if fraction <= 0 && t.rest.Start >= t.rest.End {
		t.done = true // the last line is claimed, and nothing is left to give away
	}
	if fraction > 0 || t.done {
		return t.span, nil, nil
	}
	rest := t.rest
	t.span.End = rest.Start
	t.done = true
	return t.span, rest, nil
}

func (t *tracker) GetProgress() (done, remaining float64) {
	return float64(t.rest.Start - t.span.Start), float64(max(0, t.span.End-t.rest.Start))
}

func (t *tracker) IsDone() bool { return t.done }

func (t *tracker) GetRestriction() any { return t.span }

// IsBounded says that a file ends.
func (t *tracker) IsBounded() bool { return true }
