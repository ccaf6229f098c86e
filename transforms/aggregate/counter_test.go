package aggregate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

func init() {
	beam.RegisterType(reflect.TypeFor[grouped]())
}

// grouped is tally64 with the first letter of a key as its group.
type grouped struct{ tally64 }

func (grouped) Group(key []byte) []byte { return key[:1] }

// TestCounter: counts are sums by kind, window and group, whatever is flushed
// when, and nothing that was given to the counter changes.
func TestCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCounter(grouped{})
		want, got := map[string]string{}, map[string]string{}
		elements, totals := map[string]int64{}, map[string][]byte{}
		emit := func(at beam.EventTime, n Count) {
			if int64(at) != n.EndMs-1 {
				t.Fatalf("count %+v at %d", n, at)
			}
			k := fmt.Sprint(n.Kind, n.StartMs, n.EndMs, n.Group)
			if elements[k] += n.Elements; totals[k] == nil {
				totals[k] = make([]byte, 64)
			}
			totals[k], _ = tally64{}.Merge(totals[k], n.Total)
			got[k] = fmt.Sprint(elements[k], numbers(totals[k]))
		}
		sums, counts := map[string][]byte{}, map[string]int64{}
		for range rapid.IntRange(0, 30).Draw(t, "adds") {
			kind := rapid.SampledFrom([]Kind{KindAssigned, KindLate}).Draw(t, "kind")
			w := windowfns.Window{EndMs: rapid.Int64Range(1, 2).Draw(t, "end")}
			key := rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(t, "key")
			acc := totalOf(rapid.IntRange(0, 5).Draw(t, "number"))
			was := slices.Clone(acc)
			n := rapid.Int64Range(1, 3).Draw(t, "elements")
			if err := c.add(kind, w, []byte(key), acc, n); err != nil {
				t.Fatal(err)
			}
			k := fmt.Sprint(kind, w.StartMs, w.EndMs, key[:1])
			if counts[k] += n; sums[k] == nil {
				sums[k] = make([]byte, 64)
			}
			sums[k], _ = tally64{}.Merge(sums[k], acc)
			want[k] = fmt.Sprint(counts[k], numbers(sums[k]))
			if string(was) != string(acc) {
				t.Fatal("the accumulator has changed")
			}
			if rapid.IntRange(0, 5).Draw(t, "flush") == 0 {
				c.flush(emit)
			}
		}
		c.flush(emit)
		c.flush(emit)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// A counter that is full flushes, and an aggregator without groups has one.
func TestCounterFlushesBySize(t *testing.T) {
	c := newCounter(tally64{})
	n := 0
	emit := func(_ beam.EventTime, v Count) {
		n++
		if v.Group != "" {
			t.Errorf("group %q", v.Group)
		}
	}
	for i := range int64(countFlushBytes / 128) {
		if err := c.add(KindAdded, windowfns.Window{EndMs: i}, []byte("key"), totalOf(1), 1); err != nil {
			t.Fatal(err)
		}
		c.flushIfFull(emit)
	}
	if n == 0 {
		t.Error("nothing is flushed")
	}
	var off counter
	if off.flush(emit); off.on() {
		t.Error("the zero value counts")
	}
}

// TestCountedBlocks: a block of counted elements says how many each key has, and
// is the same block behind that.
func TestCountedBlocks(t *testing.T) {
	b := block{blockKey: blockKey{kind: blockOnTime}, counted: true, index: map[string]int{}}
	plain := block{blockKey: b.blockKey, index: map[string]int{}}
	for _, key := range strings.Fields("a b a c a") {
		for _, v := range []*block{&b, &plain} {
			v.elements++
			if _, err := v.add(tally64{}, []byte(key), totalOf(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := b.encode()
	perKey, rest, err := cutPerKey(whole, nil)
	if err != nil || !slices.Equal(perKey, []int64{3, 1, 1}) || string(rest) != string(plain.encode()) {
		t.Fatalf("%v, %x, %v", perKey, rest, err)
	}
	var keys []string
	err = eachDelta(rest, func(i int, key, acc []byte) error {
		keys = append(keys, fmt.Sprintf("%d %s %s", i, key, numbers(acc)))
		return nil
	})
	if diff := cmp.Diff([]string{"0 a 1 1 1", "1 b 1", "2 c 1"}, keys); diff != "" || err != nil {
		t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
	}
	if _, _, err := cutPerKey(whole[:2], nil); err == nil {
		t.Error("no error for numbers that are cut short")
	}
	if err := eachDelta(rest[:len(rest)-1], func(int, []byte, []byte) error { return nil }); err == nil {
		t.Error("no error for a block that is cut short")
	}
}
