package files

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/google/go-cmp/cmp"
)

var _ sdf.BoundableRTracker = &pairTracker{}

// recoded is v after it has gone to a worker and back.
func recoded[T any](t fataler, v T) (got T) {
	t.Helper()
	var b bytes.Buffer
	if err := beam.NewElementEncoder(reflect.TypeFor[T]()).Encode(v, &b); err != nil {
		t.Fatal(err)
	}
	back, err := beam.NewElementDecoder(reflect.TypeFor[T]()).Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return back.(T)
}

// TestPairStateTravels checks that what a checkpoint keeps survives it.
func TestPairStateTravels(t *testing.T) {
	s := pairSpan{
		Left:  span{File: 3, Start: 1 << 40, End: math.MaxInt64, Line: 7},
		Right: span{Start: 5, End: math.MaxInt64, Cut: true},
	}
	if diff := cmp.Diff(s, recoded(t, s)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	for _, j := range []joint{newJoint(), {Ms: infinity, Left: sideMark{Ms: -5, Ended: true}, Right: sideMark{Ms: 9, SilentMs: clockMs, Idle: true}}} {
		if diff := cmp.Diff(j, recoded(t, j)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	}
}

// TestPairTracker claims on both sides and checkpoints.
func TestPairTracker(t *testing.T) {
	whole := (&pairFn{}).CreateInitialRestriction(PairInput{})
	tr := newPairTracker(whole)
	for _, c := range []pairClaim{
		{claim: claim{start: 0, next: 10, line: 2}},
		{claim: claim{start: 0, next: 7, line: 3}, right: true},
		{claim: claim{start: 10, next: 30, line: 4}},
		{claim: claim{file: 1, line: 1}, right: true},
	} {
		if !tr.TryClaim(c) {
			t.Fatalf("claim %+v is refused", c)
		}
	}
	if done, left := tr.GetProgress(); done != 30 || left <= 0 {
		t.Errorf("progress %v, %v", done, left)
	}
	if p, r, err := tr.TrySplit(0.5); r != nil || err != nil || p != tr.GetRestriction() || tr.IsDone() {
		t.Errorf("TrySplit(0.5) = %+v, %+v, %v, done %v", p, r, err, tr.IsDone())
	}
	p, r, err := tr.TrySplit(0)
	if err != nil || p != tr.GetRestriction() || !tr.IsDone() || tr.IsBounded() {
		t.Errorf("TrySplit(0): primary %+v, %v, done %v", p, err, tr.IsDone())
	}
	want := pairSpan{
		Left:  span{Start: 30, End: math.MaxInt64, Line: 4},
		Right: span{File: 1, End: math.MaxInt64, Line: 1},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("residual: mismatch (-want +got):\n%s", diff)
	}
	for _, right := range []bool{false, true} {
		if tr.TryClaim(pairClaim{claim: claim{start: 30, next: 31}, right: right}) {
			t.Error("a claim after the checkpoint")
		}
	}
	if _, r, err := tr.TrySplit(0); r != nil || err != nil {
		t.Errorf("a residual of what is done: %+v, %v", r, err)
	}

	tr = newPairTracker(want)
	if tr.TryClaim(claim{}) || tr.GetError() == nil || tr.IsDone() {
		t.Errorf("a claim of another type: error %v, done %v", tr.GetError(), tr.IsDone())
	}
	if tr.TryClaim(pairClaim{last: true}) || !tr.IsDone() {
		t.Error("the last place is not the end")
	}
}
