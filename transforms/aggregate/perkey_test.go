package aggregate_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/testing/streamtest"
	"tidemark/transforms/aggregate"
	"tidemark/transforms/gate"
	"tidemark/windowfns"
)

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[word](), reflect.TypeFor[total](), reflect.TypeFor[longest](), reflect.TypeFor[letters](),
		reflect.TypeFor[pickyMerge](), reflect.TypeFor[brokenRender](),
		reflect.TypeFor[noRows](), reflect.TypeFor[intRows](), reflect.TypeFor[alienRows](),
	} {
		beam.RegisterType(t)
	}
}

// word is the element, keyed by its language.
type word struct{ Language, Text string }

// longest is an aggregator with settings: the length of the longest word, which
// is not shown above a limit. Its rows are aggregate.Rows.
type longest struct{ Limit uint64 }

func (a longest) Lift(elem any, _ int64, key, acc []byte) ([]byte, []byte, error) {
	w := elem.(word)
	if w.Text == "" {
		return key, acc, errors.New("a word without letters")
	}
	return append(key, w.Language...), binary.BigEndian.AppendUint64(acc, uint64(len(w.Text))), nil
}

func (a longest) Merge(dst, src []byte) ([]byte, error) {
	if string(src) > string(dst) {
		copy(dst, src)
	}
	return dst, nil
}

func (a longest) Check(acc []byte) error {
	if n := binary.BigEndian.Uint64(acc); n > a.Limit {
		return fmt.Errorf("%d letters, want at most %d", n, a.Limit)
	}
	return nil
}

// letters is a pointer that renders rows of its own.
type letters struct{ longest }

type total struct {
	Language string
	EndMs    int64
	Letters  uint64
}

func (*letters) RowType() reflect.Type { return reflect.TypeFor[total]() }

func (*letters) Render(r *aggregate.Row) (any, error) {
	return total{r.Key, r.EndMs, binary.BigEndian.Uint64(r.Total)}, nil
}

func (*letters) Check([]byte) error { return nil }

type pickyMerge struct{ Longest longest }

func (a pickyMerge) Lift(elem any, t int64, key, acc []byte) ([]byte, []byte, error) {
	return a.Longest.Lift(elem, t, key, acc)
}

func (a pickyMerge) Merge(_, _ []byte) ([]byte, error) { return nil, errors.New("no two are alike") }
func (a pickyMerge) Check([]byte) error                { return nil }

type brokenRender struct{ Longest longest }

func (a brokenRender) Lift(elem any, t int64, key, acc []byte) ([]byte, []byte, error) {
	return a.Longest.Lift(elem, t, key, acc)
}
func (a brokenRender) Merge(dst, src []byte) ([]byte, error) { return a.Longest.Merge(dst, src) }
func (a brokenRender) Check([]byte) error                    { return nil }
func (a brokenRender) RowType() reflect.Type                 { return reflect.TypeFor[total]() }
func (a brokenRender) Render(r *aggregate.Row) (any, error)  { return nil, errors.New("nothing to see") }

var tens = aggregate.Config{Windows: windowfns.Tumbling{Size: 10 * time.Millisecond}, AllowedLateness: 5 * time.Millisecond}

func length(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// TestPerKey has rows of all kinds, a total that is not let through, and a late
// element.
func TestPerKey(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(1, word{"de", "ja"}, word{"en", "yes"}).At(2, word{"de", "vielleicht"}).
		Watermark(10).
		At(3, word{"de", "jein"}).
		At(4, word{"en", "perhaps"}).
		At(5, word{"en", "indubitably"}).
		Watermark(15).
		At(6, word{"en", "no"})
	var rows, unshown, late *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		r, u, l := aggregate.PerKey(s, tens, longest{Limit: 10}, tl.Create(s))
		rows, unshown, late = streamtest.Capture(s, r), streamtest.Capture(s, u), streamtest.Capture(s, l)
	})
	row := func(key string, pane aggregate.Pane, revision int64, total, previous []byte) streamtest.Element[aggregate.Row] {
		return streamtest.Element[aggregate.Row]{TimeMs: 9, Global: true, Value: aggregate.Row{
			Key: key, EndMs: 10, Pane: pane, Revision: revision, Total: total, Previous: previous,
		}}
	}
	wantRows := []streamtest.Element[aggregate.Row]{
		row("de", aggregate.OnTime, 0, length(10), nil), row("de", aggregate.Late, 1, length(10), length(10)),
		row("en", aggregate.OnTime, 0, length(3), nil), row("en", aggregate.Late, 1, length(7), length(3)),
	}
	got := streamtest.Elements[aggregate.Row](rows)
	for i := range got {
		got[i].Pane = beam.PaneInfo{}
		if len(got[i].Value.Previous) == 0 {
			got[i].Value.Previous = nil
		}
	}
	if diff := streamtest.Diff(wantRows, got); diff != "" {
		t.Errorf("rows: %s", diff)
	}
	wantUnshown := []aggregate.Unshown{{Key: "en", EndMs: 10, Pane: aggregate.Late, Total: length(11), Reason: "11 letters, want at most 10"}}
	if diff := streamtest.Diff(wantUnshown, streamtest.Values[aggregate.Unshown](unshown)); diff != "" {
		t.Errorf("unshown: %s", diff)
	}
	type lateWord = streamtest.KV[gate.Missed, word]
	wantLate := []lateWord{{Key: gate.Missed{TimeMs: 6, Windows: []windowfns.Window{{EndMs: 10}}, All: true}, Value: word{"en", "no"}}}
	if diff := streamtest.Diff(wantLate, streamtest.Values[lateWord](late)); diff != "" {
		t.Errorf("late: %s", diff)
	}
}

// TestRenderer has rows of a type of its own.
func TestRenderer(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(1, word{"de", "ja"}).At(2, word{"de", "nein"}).At(11, word{"de", "vielleicht"})
	var rows *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		r, _, _ := aggregate.PerKey(s, tens, &letters{}, tl.Create(s))
		rows = streamtest.Capture(s, r)
	})
	if diff := streamtest.Diff([]total{{"de", 10, 4}, {"de", 20, 10}}, streamtest.Values[total](rows)); diff != "" {
		t.Error(diff)
	}
}

// An error of the aggregator fails the job, with its text.
func TestAggregatorErrors(t *testing.T) {
	for _, c := range []struct {
		agg   aggregate.Aggregator
		words []any
		want  string
	}{
		{longest{}, []any{word{"de", ""}}, "a word without letters"},
		{pickyMerge{}, []any{word{"de", "ja"}, word{"de", "nein"}}, "aggregate: merging: no two are alike"},
		{brokenRender{}, []any{word{"de", "ja"}}, "nothing to see"},
	} {
		var tl streamtest.Timeline
		tl.At(1, c.words...)
		_, err := streamtest.TryRun(func(s beam.Scope) { aggregate.PerKey(s, tens, c.agg, tl.Create(s)) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want an error with %s", c.agg, err, c.want)
		}
	}
}

type unregistered struct{ longest }

// These render rows of types that cannot be.
type (
	noRows    struct{ brokenRender }
	intRows   struct{ brokenRender }
	alienRows struct{ brokenRender }
	alien     struct{ Eyes int }
)

func (noRows) RowType() reflect.Type    { return nil }
func (intRows) RowType() reflect.Type   { return reflect.TypeFor[int]() }
func (alienRows) RowType() reflect.Type { return reflect.TypeFor[alien]() }

func TestConstructionErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	words := beam.Create(s, word{})
	for _, c := range []struct {
		name string
		cfg  aggregate.Config
		agg  aggregate.Aggregator
		want string
	}{
		{"no aggregator", tens, nil, "aggregate.PerKey: aggregator: nil, want a value"},
		{"unregistered", tens, unregistered{}, "aggregate.PerKey: aggregator: aggregate_test.unregistered cannot be shipped to workers"},
		{"no rows", tens, noRows{}, "aggregate.PerKey: RowType = <nil>, want a struct type"},
		{"rows that are no structs", tens, intRows{}, "aggregate.PerKey: RowType = int, want a struct type"},
		{"unregistered rows", tens, alienRows{}, "aggregate.PerKey: RowType: type aggregate_test.alien is not known to workers, want "},
		{"no windows", aggregate.Config{}, longest{}, "aggregate.PerKey: Windows is nil and the input's own windows cannot be used: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := aggregate.TryPerKey(s, c.cfg, c.agg, words)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("TryPerKey: %v, want %s", err, c.want)
			}
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("PerKey panics with %v, want %v", got, err)
				}
			}()
			aggregate.PerKey(s, c.cfg, c.agg, words)
		})
	}
}

// TestCountsWithoutGroups counts words of two languages together, because
// longest has no groups.
func TestCountsWithoutGroups(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(1, word{"en", "sea"}, word{"de", "Meer"}).Watermark(15).At(2, word{"en", "ocean"})
	var counts *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		_, _, c, _ := aggregate.PerKeyWithCounts(s, tens, longest{Limit: 100}, tl.Create(s))
		counts = streamtest.Capture(s, c)
	})
	got := map[string]int64{}
	for _, c := range streamtest.Values[aggregate.Count](counts) {
		got[fmt.Sprintf("%s [%d,%d) %q", c.Kind, c.StartMs, c.EndMs, c.Group)] += c.Elements
	}
	want := map[string]int64{`assigned [0,10) ""`: 3, `added [0,10) ""`: 2, `late [0,10) ""`: 1}
	if diff := streamtest.Diff([]map[string]int64{want}, []map[string]int64{got}); diff != "" {
		t.Error(diff)
	}
}

// TestManyWindowsUnmarked plays elements of dozens of windows, unmarked, so that
// they meet the gate as runs. Counts of what was assigned, added, corrected and late
// are those of the plain rule in every window, late records name the windows that
// were missed, and the last row of each window has all that was added.
func TestManyWindowsUnmarked(t *testing.T) {
	const ms = time.Millisecond
	for i, fn := range []windowfns.Fn{
		windowfns.Sliding{Size: 2 * time.Hour, Period: time.Minute},
		windowfns.Sliding{Size: 125 * ms, Period: 6 * ms, Offset: -1 * ms},
		windowfns.Cumulative{Size: 60 * ms, Step: 3 * ms},
	} {
		for _, lateness := range []time.Duration{0, 25 * ms, 20 * time.Minute} {
			t.Run(fmt.Sprintf("%v/lateness=%v", fn, lateness), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(lateness)))
				w := fn.AppendWindows(nil, 0)[0]
				size := w.EndMs - w.StartMs
				var tl streamtest.Timeline
				wm := []int64{-9_000_000_000, -1, 1_800_000_000_000}[i]
				tl.Watermark(wm)
				counts, longestIn := map[string]int64{}, map[int64]int{}
				var late []gate.Missed
				for n := range 14 {
					at := wm + rng.Int64N(3*size) - 2*size
					text := strings.Repeat("x", 1+rng.IntN(20))
					tl.At(at, word{"en", text})
					var missed []windowfns.Window
					all := fn.AppendWindows(nil, at)
					for _, w := range all {
						counts[fmt.Sprint("assigned ", w.EndMs)]++
						if wm >= w.EndMs+lateness.Milliseconds() {
							missed = append(missed, w)
							counts[fmt.Sprint("late ", w.EndMs)]++
							continue
						}
						counts[fmt.Sprint("added ", w.EndMs)]++
						longestIn[w.EndMs] = max(longestIn[w.EndMs], len(text))
						if wm >= w.EndMs {
							counts[fmt.Sprint("corrected ", w.EndMs)]++
						}
					}
					if len(missed) > 0 {
						late = append(late, gate.Missed{TimeMs: at, Windows: missed, All: len(missed) == len(all)})
					}
					if n%3 == 2 {
						wm += rng.Int64N(size)
						tl.Watermark(wm)
					}
				}
				var rows, counted, lates *streamtest.Captured
				streamtest.Run(t, func(s beam.Scope) {
					cfg := aggregate.Config{Windows: fn, AllowedLateness: lateness, Shards: 2}
					r, _, c, l := aggregate.PerKeyWithCounts(s, cfg, longest{Limit: 100}, tl.Create(s))
					rows, counted, lates = streamtest.Capture(s, r), streamtest.Capture(s, c), streamtest.Capture(s, l)
				})
				gotCounts := map[string]int64{}
				for _, c := range streamtest.Values[aggregate.Count](counted) {
					gotCounts[fmt.Sprint(c.Kind, " ", c.EndMs)] += c.Elements
				}
				if diff := cmp.Diff(counts, gotCounts); diff != "" {
					t.Errorf("counts: mismatch (-want +got):\n%s", diff)
				}
				var gotLate []gate.Missed
				for _, l := range streamtest.Values[streamtest.KV[gate.Missed, word]](lates) {
					gotLate = append(gotLate, l.Key)
				}
				if diff := streamtest.Diff(late, gotLate); diff != "" {
					t.Errorf("late: %s", diff)
				}
				last, onTime := map[int64]int{}, map[int64]int{}
				revision := map[int64]int64{}
				for _, r := range streamtest.Values[aggregate.Row](rows) {
					if r.Revision >= revision[r.EndMs] {
						last[r.EndMs], revision[r.EndMs] = int(binary.BigEndian.Uint64(r.Total)), r.Revision
					}
					if r.Pane == aggregate.OnTime {
						onTime[r.EndMs]++
					}
				}
				if diff := cmp.Diff(longestIn, last); diff != "" {
					t.Errorf("last rows: mismatch (-want +got):\n%s", diff)
				}
				for end := range longestIn {
					want := 0
					if counts[fmt.Sprint("added ", end)] > counts[fmt.Sprint("corrected ", end)] {
						want = 1
					}
					if onTime[end] != want {
						t.Errorf("%d ON_TIME rows of the window that ends at %d, want %d", onTime[end], end, want)
					}
				}
			})
		}
	}
}
