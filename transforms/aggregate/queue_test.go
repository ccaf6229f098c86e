package aggregate

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue: totals are those of all the parts that cover a window, with parts that
// come in the meantime and parts that are dropped, and none changes afterwards.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ru := rules{agg: tally64{}}
		var q queue
		var parts []part
		var totals []kept
		i := int32(0)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			for range rapid.IntRange(0, 2).Draw(t, "new") { // only for windows to come
				p := part{first: i, last: i}
				if n := len(parts); n > 0 {
					p.first, p.last = max(i, parts[n-1].first), max(i, parts[n-1].last)
				}
				p.first += rapid.Int32Range(0, 3).Draw(t, "first")
				p.last = max(p.first, p.last) + rapid.Int32Range(0, 5).Draw(t, "last")
				p.acc = totalOf(rapid.IntRange(0, 63).Draw(t, "number"))
				parts = append(parts, p)
			}
			got, err := q.at(&ru, parts, i)
			if err != nil {
				t.Fatal(err)
			}
			var want []byte
			for _, p := range parts {
				if p.covers(i) {
					want = plus(want, p.acc)
				}
			}
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("window %d: (%s), want (%s)", i, numbers(got), numbers(want))
			}
			totals = append(totals, kept{got, bytes.Clone(got)})
			if rapid.Bool().Draw(t, "on") {
				i += rapid.Int32Range(1, 4).Draw(t, "by")
			}
			if rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				n := 0
				for n < len(parts) && parts[n].last < i {
					n++
				}
				parts = slices.Clone(parts[n:])
				q.dropped(n)
			}
		}
		for _, k := range totals {
			if !bytes.Equal(k.got, k.want) {
				t.Fatalf("(%s) has become (%s)", numbers(k.want), numbers(k.got))
			}
		}
	})
}

// merges counts them.
type merges struct {
	tally64
	n *int
}

func (m merges) Merge(dst, src []byte) ([]byte, error) {
	*m.n++
	return m.tally64.Merge(dst, src)
}

// TestQueueIsCheap: a window that is put together from hundreds of parts takes a
// few merges, as long as one part comes with each window.
func TestQueueIsCheap(t *testing.T) {
	n := 0
	ru := rules{agg: merges{n: &n}}
	const windows, each = 2000, 300
	var parts []part
	for i := range int32(windows) {
		parts = append(parts, part{first: i, last: i + each - 1, acc: totalOf(1)})
	}
	var q queue
	for i := range int32(windows) {
		if _, err := q.at(&ru, parts, i); err != nil {
			t.Fatal(err)
		}
	}
	if n > 4*windows {
		t.Errorf("%d merges for %d windows of %d parts", n, windows, each)
	}
}

// An error of the aggregator comes out of every place that merges.
func TestQueueErrors(t *testing.T) {
	ru := rules{agg: tally64{}}
	bad := []byte("short")
	var q queue
	if _, err := q.at(&ru, []part{{0, 1, totalOf(1)}, {0, 2, bad}}, 0); err == nil {
		t.Error("no error at the back")
	}
	q = queue{}
	parts := []part{{0, 0, totalOf(1)}, {0, 2, totalOf(1)}, {0, 3, totalOf(1)}}
	if _, err := q.at(&ru, parts, 0); err != nil {
		t.Fatal(err)
	}
	parts[1].acc = bad
	if _, err := q.at(&ru, parts, 1); err == nil {
		t.Error("no error when the back becomes the front")
	}
}
