package files

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func init() {
	beam.RegisterType(reflect.TypeFor[pairSpan]())
}

// pairSpan is the restriction of a stream of two inputs: what is left of each.
type pairSpan struct {
	Left, Right span
}

// pairClaim is a claim of one of two inputs, or of the last place, behind both.
type pairClaim struct {
	claim
	right bool
	last  bool
}

// pairTracker tracks two inputs that need not end. It can be split where it
// stands, and nowhere else.
type pairTracker struct {
	left, right tracker
	err         error
}

func newPairTracker(s pairSpan) *pairTracker {
	return &pairTracker{left: *newTracker(s.Left), right: *newTracker(s.Right)}
}

// TryClaim claims what pos, a pairClaim, says.
func (t *pairTracker) TryClaim(pos any) bool {
	c, ok := pos.(pairClaim)
	switch {
	case !ok:
		t.err = fmt.Errorf("files: claim of type %T", pos)
		return false
	case c.last:
		t.left.done, t.right.done = true, true
		return false
	case c.right:
		return t.right.TryClaim(c.claim)
	default:
		return t.left.TryClaim(c.claim)
	}
}

func (t *pairTracker) GetError() error { return t.err }

// TrySplit gives away all that is not claimed where the fraction is 0.
func (t *pairTracker) TrySplit(fraction float64) (primary, residual any, err error) {
	if fraction > 0 || t.IsDone() {
		return t.GetRestriction(), nil, nil
	}
	rest := pairSpan{Left: t.left.rest, Right: t.right.rest}
	t.left.span.End, t.right.span.End = rest.Left.Start, rest.Right.Start
	t.left.done, t.right.done = true, true
	return t.GetRestriction(), rest, nil
}

// GetProgress adds up both inputs.
func (t *pairTracker) GetProgress() (done, remaining float64) {
	for _, side := range []*tracker{&t.left, &t.right} {
		d, r := side.GetProgress()
		done, remaining = done+d, remaining+r
	}
	return done, remaining
}

func (t *pairTracker) IsDone() bool { return t.left.done && t.right.done }

func (t *pairTracker) GetRestriction() any { return pairSpan{t.left.span, t.right.span} }

// IsBounded says that the input is a stream.
func (t *pairTracker) IsBounded() bool { return false }
