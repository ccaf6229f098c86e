package files

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var _ sdf.BoundableRTracker = &tracker{}

// claims are those of lines of the given lengths, from the start of s.
func claims(s span, lengths []int64) []claim {
	var all []claim
	at, line := s.Start, s.Line
	for _, n := range lengths {
		c := claim{start: at, next: at + n}
		if s.Line > 0 {
			line++
			c.line = line
		}
		all = append(all, c)
		at += n
	}
	return all
}

func sum(lengths []int64) (n int64) {
	for _, l := range lengths {
		n += l
	}
	return n
}

// TestTrackerResumes checkpoints at every point of a span: what is claimed
// before and after are the lines of the span, each once.
func TestTrackerResumes(t *testing.T) {
	lengths := []int64{3, 1, 1, 10, 2}
	for _, whole := range []span{
		{Start: 0, End: 17, Line: 1},
		{Start: 100, End: 117, Cut: true}, // and the first line begins at its start
		{Start: 0, End: 16, Line: 1},      // the last line goes on behind the end
	} {
		all := claims(whole, lengths)
		for stop := range len(all) + 1 {
			first := newTracker(whole)
			for _, c := range all[:stop] {
				if !first.TryClaim(c) {
					t.Fatalf("%+v: claim %+v is refused", whole, c)
				}
			}
			if first.IsDone() {
				t.Fatalf("%+v: done after %d lines, before anybody knows that there are no more", whole, stop)
			}
			primary, residual, err := first.TrySplit(0)
			if err != nil || first.GetError() != nil {
				t.Fatal(err, first.GetError())
			}
			if !first.IsDone() {
				t.Fatalf("%+v: not done after the checkpoint behind line %d", whole, stop)
			}
			if diff := cmp.Diff(primary, first.GetRestriction()); diff != "" {
				t.Errorf("restriction and primary differ:\n%s", diff)
			}
			if stop < len(all) && first.TryClaim(all[stop]) {
				t.Errorf("%+v: claim %+v after the checkpoint", whole, all[stop])
			}

			if stop == len(all) {
				if residual != nil {
					t.Errorf("%+v: residual %+v, and nothing is left", whole, residual)
				}
				continue
			}
			at := whole.Start
			if stop > 0 {
				at = all[stop-1].next
			}
			want := span{Start: at, End: whole.End}
			if whole.Line > 0 {
				want.Line = whole.Line + int64(stop)
			}
			if stop == 0 {
				want.Cut = whole.Cut // nobody has looked yet
			}
			if diff := cmp.Diff(want, residual); diff != "" {
				t.Errorf("residual behind line %d: mismatch (-want +got):\n%s", stop, diff)
			}
			second := newTracker(residual.(span))
			for _, c := range all[stop:] {
				if !second.TryClaim(c) {
					t.Fatalf("%+v: claim %+v is refused after the checkpoint", whole, c)
				}
			}
			if second.TryClaim(claim{start: whole.End}) || !second.IsDone() {
				t.Errorf("%+v: the end is no end", whole)
			}
		}
	}
}

// TestTrackerAnySplits splits a span at any points, again and again.
func TestTrackerAnySplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int64Range(1, 20), 1, 30).Draw(t, "lengths")
		rest := span{Start: rapid.Int64Range(0, 1000).Draw(t, "start"), Line: rapid.Int64Range(0, 1).Draw(t, "line")}
		rest.End = rest.Start + sum(lengths)
		all := claims(rest, lengths)
		tr := newTracker(rest)
		for _, c := range all {
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0:
				primary, residual, err := tr.TrySplit(0)
				if err != nil || residual == nil || !tr.IsDone() {
					t.Fatalf("TrySplit(0) = %+v, %+v, %v, done %v", primary, residual, err, tr.IsDone())
				}
				if p, r := primary.(span), residual.(span); p.End != r.Start || r.End != rest.End || p.Start != tr.span.Start {
					t.Fatalf("%+v and %+v are not %+v", p, r, tr.span)
				}
				tr = newTracker(residual.(span))
			case 1:
				// A running bundle cannot be split: its lines are not known yet.
				if p, r, err := tr.TrySplit(0.5); err != nil || r != nil || p != tr.GetRestriction() || tr.IsDone() {
					t.Fatalf("TrySplit(0.5) = %+v, %+v, %v, done %v", p, r, err, tr.IsDone())
				}
			}
			done, left := tr.GetProgress()
			if done < 0 || left < 0 || done+left != float64(tr.span.End-tr.span.Start) {
				t.Fatalf("progress %v, %v of %+v", done, left, tr.span)
			}
			if !tr.TryClaim(c) {
				t.Fatalf("claim %+v is refused", c)
			}
		}
		if tr.TryClaim(claim{start: rest.End, next: rest.End + 1}) || !tr.IsDone() || tr.GetError() != nil {
			t.Fatalf("a line behind the end, done %v, error %v", tr.IsDone(), tr.GetError())
		}
	})
}

func TestTrackerContract(t *testing.T) {
	tr := newTracker(span{Start: 0, End: 10, Line: 1})
	if tr.TryClaim(5) || tr.GetError() == nil || tr.IsDone() {
		t.Errorf("a claim of another type: error %v, done %v", tr.GetError(), tr.IsDone())
	}
	if !tr.IsBounded() {
		t.Error("a file has no end")
	}

	empty := newTracker(span{Line: 1})
	if empty.IsDone() {
		t.Error("an empty file is done before it is opened")
	}
	if empty.TryClaim(claim{start: 0, next: 1}) || !empty.IsDone() {
		t.Error("a line of an empty file")
	}

	// A line that begins in the span can end far behind it.
	tr = newTracker(span{Start: 0, End: 10})
	if !tr.TryClaim(claim{start: 9, next: 1000}) {
		t.Fatal("a line that begins in the span is refused")
	}
	if done, left := tr.GetProgress(); left != 0 || done < 10 {
		t.Errorf("progress %v, %v", done, left)
	}
	if tr.TryClaim(claim{start: 1000, next: 1001}) || !tr.IsDone() {
		t.Error("a line behind the end")
	}
	if _, residual, err := tr.TrySplit(0); residual != nil || err != nil || !tr.IsDone() {
		t.Errorf("a residual of what is done: %+v, %v", residual, err)
	}
}

// TestSpanCoder checks that a restriction gets to the worker and back.
func TestSpanCoder(t *testing.T) {
	for _, want := range []span{{}, {Start: 1 << 40, End: 1<<40 + 7, Cut: true}, {End: 9, Line: 3}} {
		var b bytes.Buffer
		if err := beam.NewElementEncoder(reflect.TypeFor[span]()).Encode(want, &b); err != nil {
			t.Fatal(err)
		}
		got, err := beam.NewElementDecoder(reflect.TypeFor[span]()).Decode(&b)
		if err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

// TestSplit checks that ranges tile a file, and that small ones stay whole.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		end, size int64
		want      []span
	}{
		{0, 10, []span{{End: 0, Line: 1}}},
		{19, 10, []span{{End: 19, Line: 1}}},
		{20, 10, []span{{End: 10}, {Start: 10, End: 20, Cut: true}}},
		{21, 10, []span{{End: 10}, {Start: 10, End: 20, Cut: true}, {Start: 20, End: 21, Cut: true}}},
		{3, 1, []span{{End: 1}, {Start: 1, End: 2, Cut: true}, {Start: 2, End: 3, Cut: true}}},
	} {
		if diff := cmp.Diff(c.want, split(span{End: c.end, Line: 1}, c.size)); diff != "" {
			t.Errorf("%d bytes in ranges of %d: mismatch (-want +got):\n%s", c.end, c.size, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		end, size := rapid.Int64Range(0, 1000).Draw(t, "end"), rapid.Int64Range(1, 300).Draw(t, "size")
		at := int64(0)
		for _, s := range split(span{End: end, Line: 1}, size) {
			if s.Start != at || s.End < s.Start || s.Cut != (s.Start > 0) {
				t.Fatalf("%+v at %d", s, at)
			}
			at = s.End
		}
		if at != end {
			t.Fatalf("ends at %d, want %d", at, end)
		}
	})
	fn := &readFn{}
	if got := fn.SplitRestriction(File{}, span{End: 2*SplitBytes - 1, Line: 1}); len(got) != 1 {
		t.Errorf("%d ranges", len(got))
	}
	if got := fn.SplitRestriction(File{}, span{End: 2*SplitBytes + 1, Line: 1}); len(got) != 3 {
		t.Errorf("%d ranges", len(got))
	}
	if got := fn.RestrictionSize(File{}, span{Start: 5, End: 12}); got != 7 {
		t.Errorf("size %v, want 7", got)
	}
}
