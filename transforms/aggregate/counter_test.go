package aggregate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
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

// TestCounter: counts are sums by kind, window and group, whatever is flushed when,
// however many windows were counted at once, and nothing that was given to the
// counter changes.
func TestCounter(t *testing.T) {
	grid := windowfns.Sliding{Size: millis(25), Period: millis(10)}
	for _, l := range []layout{{}, layoutOf(grid)} {
		rapid.Check(t, func(t *rapid.T) {
			c := newCounter(grouped{}, l)
			want, got := map[string]string{}, map[string]string{}
			elements, totals := map[string]int64{}, map[string][]byte{}
			emit := func(at beam.EventTime, n Count) {
				if int64(at) != n.EndMs-1 {
					t.Fatalf("count %+v at %d", n, at)
				}
				k := fmt.Sprint(n.Kind, n.StartMs, n.EndMs, n.Group)
				elements[k] += n.Elements
				totals[k] = plus(totals[k], n.Total)
				got[k] = fmt.Sprint(elements[k], numbers(totals[k]))
			}
			flush := func() {
				if err := c.flush(emit); err != nil {
					t.Fatal(err)
				}
			}
			sums, counts := map[string][]byte{}, map[string]int64{}
			for range rapid.IntRange(0, 30).Draw(t, "adds") {
				kind := rapid.SampledFrom([]Kind{KindAssigned, KindLate}).Draw(t, "kind")
				end := rapid.Int64Range(-1, 2).Draw(t, "end")*10 + 5
				windows := []windowfns.Window{{StartMs: end - 25, EndMs: end}}
				r := runOf(windows[0])
				if l.grid != nil {
					r = run{0, end, end + 10*rapid.Int64Range(0, 3).Draw(t, "more")}
					for end := end + 10; end <= r.lastMs; end += 10 {
						windows = append(windows, grid.EndingAt(end))
					}
				}
				key := rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(t, "key")
				acc := totalOf(rapid.IntRange(0, 5).Draw(t, "number"))
				was := slices.Clone(acc)
				n := rapid.Int64Range(1, 3).Draw(t, "elements")
				if err := c.add(kind, r, []byte(key), acc, n); err != nil {
					t.Fatal(err)
				}
				for _, w := range windows {
					k := fmt.Sprint(kind, w.StartMs, w.EndMs, key[:1])
					counts[k] += n
					sums[k] = plus(sums[k], acc)
					want[k] = fmt.Sprint(counts[k], numbers(sums[k]))
				}
				if rapid.IntRange(0, 5).Draw(t, "flush") == 0 {
					flush()
				}
				if string(was) != string(acc) {
					t.Fatal("the accumulator has changed")
				}
			}
			flush()
			flush()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// A counter that is full flushes, and an aggregator without groups has one.
func TestCounterFlushesBySize(t *testing.T) {
	c := newCounter(tally64{}, layout{})
	n := 0
	emit := func(_ beam.EventTime, v Count) {
		n++
		if v.Group != "" {
			t.Errorf("group %q", v.Group)
		}
	}
	for i := range int64(countFlushBytes / 128) {
		if err := c.add(KindAdded, run{0, i, i}, []byte("key"), totalOf(1), 1); err != nil {
			t.Fatal(err)
		}
		if err := c.flushIfFull(emit); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Error("nothing is flushed")
	}
	var off counter
	if err := off.flush(emit); err != nil || off.on() {
		t.Error("the zero value counts", err)
	}
}

// An error of the aggregator is one of the counter, when adding and when flushing.
func TestCounterErrors(t *testing.T) {
	c := newCounter(tally64{}, layoutOf(windowfns.Tumbling{Size: millis(10)}))
	for _, r := range []run{{0, 10, 10}, {0, 10, 20}} {
		acc := totalOf(1)
		if r.lastMs == 20 {
			acc = []byte("short")
		}
		if err := c.add(KindAdded, r, nil, acc, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.add(KindAdded, run{0, 10, 20}, nil, totalOf(1), 1); err == nil {
		t.Error("no error for totals that do not merge")
	}
	if err := c.flush(func(beam.EventTime, Count) {}); err == nil {
		t.Error("no error for runs that do not merge")
	}
}

// TestMessages: what is added comes out in messages to cells, each element in each
// of its windows once, with the stamp of the first deadline that a message has to
// meet, and again with blocks that were used before.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := fns().Draw(t, "windows")
		l := layoutOf(fn)
		m := l.newMessages(false)
		delay := rapid.Int64Range(0, 1).Draw(t, "lateness") * 70
		for range rapid.IntRange(1, 3).Draw(t, "bundles") {
			type pair struct {
				kind  byte
				shard int64
				w     windowfns.Window
				key   string
			}
			want, got := map[pair]string{}, map[pair]string{}
			sums, counts := map[pair][]byte{}, map[pair]int64{}
			for range rapid.IntRange(1, 12).Draw(t, "elements") {
				windows := fn.AppendWindows(nil, rapid.Int64Range(-300, 300).Draw(t, "time"))
				// Those that are in time are the last ones.
				windows = windows[rapid.IntRange(0, len(windows)-1).Draw(t, "from"):]
				shard := rapid.Int64Range(0, 2).Draw(t, "shard")
				kind := rapid.SampledFrom([]byte{blockOnTime, blockCorrection}).Draw(t, "kind")
				key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
				acc := totalOf(rapid.IntRange(0, 63).Draw(t, "number"))
				for _, w := range windows {
					p := pair{kind, shard, w, key}
					sums[p] = plus(sums[p], acc)
					counts[p]++
					want[p] = fmt.Sprint(counts[p], numbers(sums[p]))
				}
				k := blockKey{kind, shard, windows[0].StartMs, windows[0].EndMs, windows[len(windows)-1].EndMs}
				if err := m.add(tally64{}, k, []byte(key), acc); err != nil {
					t.Fatal(err)
				}
				clear(acc) // nobody may keep it
			}
			sums, counts = map[pair][]byte{}, map[pair]int64{}
			held := map[string]bool{}
			cells := map[string]mtime.Time{}
			m.emitGated(delay, func(at beam.EventTime, key string, msg []byte) {
				s, err := l.parse(key)
				deadline, again := cells[key]
				if err != nil || again != (len(msg) == 0) {
					t.Fatalf("cell %q twice, or %v", key, err)
				}
				if again {
					// Behind a message that holds nothing comes one that holds the watermark.
					if at != deadline-1 {
						t.Fatalf("cell %q is held at %d, want below %d", key, at, deadline)
					}
					delete(held, key)
					return
				}
				var shard int64
				if _, err := fmt.Sscanf(key[:strings.Index(key, "|")], "%d", &shard); err != nil {
					t.Fatal(err)
				}
				first := mtime.MaxTimestamp
				err = eachBlock(msg, func(h header, entries []byte) error {
					deadline := h.firstMs
					if h.kind == blockCorrection {
						deadline += delay
					}
					first = min(first, mtime.Time(deadline))
					var elements int64
					err := eachEntry(entries, func(key []byte, n int64, acc []byte) error {
						elements += n
						for end := h.firstMs; end <= h.lastMs; end += s.stepMs {
							i := s.past(end) - 1
							if i < 0 || s.end(i) != end {
								t.Fatalf("a block for %d in %+v", end, s)
							}
							p := pair{h.kind, shard, s.window(i), string(key)}
							sums[p] = plus(sums[p], acc)
							counts[p] += n
							got[p] = fmt.Sprint(counts[p], numbers(sums[p]))
						}
						return nil
					})
					if elements != h.elements {
						t.Fatalf("%d elements in a block of %d", elements, h.elements)
					}
					return err
				})
				cells[key] = first
				if low := mtime.Time(s.firstMs); s.size() > 1 && low < first {
					held[key] = true
					first = low
				}
				if err != nil || at != first-1 {
					t.Fatalf("a message at %d for %d, %v", at, first, err)
				}
			})
			if len(held) > 0 {
				t.Fatalf("nothing holds the watermark for %v", held)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("mismatch (-want +got):\n%s", diff)
			}
			if m.size != 0 {
				t.Fatalf("%d bytes are left", m.size)
			}
		}
	})
}
