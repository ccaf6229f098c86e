package joins_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

// place is a struct as a key.
type place struct {
	Shop  string
	Shelf int32
	Tags  [2]bool
}

// stock and sold are payloads of both sides; stock is of no comparable type.
type (
	stock struct {
		Names []string
		Pad   []byte
	}
	sold struct{ By *string }
)

func init() {
	for _, t := range []reflect.Type{reflect.TypeFor[place](), reflect.TypeFor[stock](), reflect.TypeFor[sold]()} {
		beam.RegisterType(t)
	}
	register.Function3x0(byString)
	register.Function3x0(byBytes)
	register.Function3x0(byInt)
	register.Function3x0(byStruct)
	register.Function3x1(textByString)
	register.Function3x1(textByBytes)
	register.Function3x1(textByInt)
	register.Function3x1(textByStruct)
	register.Emitter2[string, stock]()
	register.Emitter2[string, sold]()
	register.Emitter2[[]byte, stock]()
	register.Emitter2[[]byte, sold]()
	register.Emitter2[int64, stock]()
	register.Emitter2[int64, sold]()
	register.Emitter2[place, stock]()
	register.Emitter2[place, sold]()
}

func typed[K any](key K, e event, l func(K, stock), r func(K, sold)) {
	switch {
	case e.Side == "left":
		l(key, stock{Names: []string{e.ID, e.ID}, Pad: []byte("pad")})
	case e.ID == "":
		r(key, sold{})
	default:
		r(key, sold{By: &e.ID})
	}
}

func byString(e event, l func(string, stock), r func(string, sold)) { typed(e.Key, e, l, r) }
func byBytes(e event, l func([]byte, stock), r func([]byte, sold))  { typed([]byte(e.Key), e, l, r) }

func byInt(e event, l func(int64, stock), r func(int64, sold)) {
	typed(int64(len(e.Key))-300, e, l, r)
}

func byStruct(e event, l func(place, stock), r func(place, sold)) {
	typed(place{Shop: e.Key, Shelf: -1, Tags: [2]bool{true, false}}, e, l, r)
}

func textOf(key any, l *stock, r *sold) string {
	left, right := "nil", "nil"
	if l != nil {
		left = fmt.Sprintf("%q %q", l.Names, l.Pad)
	}
	if r != nil && r.By != nil {
		right = *r.By
	} else if r != nil {
		right = "by none"
	}
	return fmt.Sprintf("%v: %s, %s", key, left, right)
}

func textByString(k string, l *stock, r *sold) string { return textOf(k, l, r) }
func textByBytes(k []byte, l *stock, r *sold) string  { return textOf(k, l, r) }
func textByInt(k int64, l *stock, r *sold) string     { return textOf(k, l, r) }
func textByStruct(k place, l *stock, r *sold) string  { return textOf(k, l, r) }

// TestTypes joins values of different structs by keys of several types, the empty one
// among them. The function gets what came in; a pointer is nil where there is no row.
func TestTypes(t *testing.T) {
	var tl streamtest.Timeline
	tl.At(0, event{"left", "", "a"}).At(5, event{"right", "", "x"}).At(6, event{"right", "", ""}).
		At(7, event{"left", "k\x00\xff", "b"}).At(100, event{"right", "k\x00\xff", "y"})
	for _, c := range []struct {
		by, fn any
		keys   [2]any
	}{
		{byString, textByString, [2]any{"", "k\x00\xff"}},
		{byBytes, textByBytes, [2]any{[]byte{}, []byte("k\x00\xff")}},
		{byInt, textByInt, [2]any{int64(-300), int64(-297)}},
		{byStruct, textByStruct, [2]any{place{"", -1, [2]bool{true, false}}, place{"k\x00\xff", -1, [2]bool{true, false}}}},
	} {
		t.Run(fmt.Sprintf("%T", c.keys[0]), func(t *testing.T) {
			var rows *streamtest.Captured
			streamtest.Run(t, func(s beam.Scope) {
				l, r := beam.ParDo2(s, c.by, tl.Create(s))
				rows = streamtest.Capture(s, joins.Interval(s, joins.Config{Upper: 10 * ms, Type: joins.Full}, c.fn, l, r).Rows)
			})
			want := []string{
				fmt.Sprintf(`%v: ["a" "a"] "pad", x`, c.keys[0]),
				fmt.Sprintf(`%v: ["a" "a"] "pad", by none`, c.keys[0]),
				fmt.Sprintf(`%v: ["b" "b"] "pad", nil`, c.keys[1]),
				fmt.Sprintf(`%v: nil, y`, c.keys[1]),
			}
			if diff := streamtest.Diff(want, streamtest.Values[string](rows)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func init() {
	register.Function3x0(padded)
	register.Function3x1(sizeOf)
}

// padSize is about that of the largest records that people send through streams.
const padSize = 1 << 20

func padded(e event, l func(string, stock), r func(string, stock)) {
	v := stock{Names: []string{e.ID}, Pad: bytes.Repeat([]byte(e.ID[:1]), padSize)}
	if e.Side == "left" {
		l(e.Key, v)
	} else {
		r(e.Key, v)
	}
}

func sizeOf(_ string, l, r *stock) string {
	text := func(v *stock) string {
		switch {
		case v == nil:
			return "-"
		case len(v.Pad) != padSize || bytes.Count(v.Pad, []byte(v.Names[0][:1])) != padSize:
			return v.Names[0] + " is damaged"
		}
		return v.Names[0]
	}
	return text(l) + " " + text(r)
}

// TestLargeRows joins rows of 1 MB, each with many others. Late ones come out whole.
func TestLargeRows(t *testing.T) {
	var tl streamtest.Timeline
	var want []string
	tl.At(0, event{"left", "k", "a pinned row"})
	for i := range int64(8) {
		at := 100 * (i + 1)
		id := fmt.Sprint(i)
		tl.At(at, event{"left", "k", id + " l"}).At(at+1, event{"right", "k", id + " r"}).Watermark(at + 50)
		want = append(want, id+" l "+id+" r")
	}
	tl.At(849, event{"right", "k", "z late"})
	want = append(want, "a pinned row 8 r") // of the last one's distance
	tl.At(1000, event{"right", "k", "8 r"})
	var rows, late *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		l, r := beam.ParDo2(s, padded, tl.Create(s))
		j := joins.Interval(s, joins.Config{Lower: 0, Upper: 1000 * ms, Shards: 1}, sizeOf, l, r)
		rows, late = streamtest.Capture(s, j.Rows), streamtest.Capture(s, j.LateRight)
	})
	// Besides, each left row matches the right ones after it.
	for i := range 8 {
		for n := i + 1; n <= 8; n++ {
			want = append(want, fmt.Sprintf("%d l %d r", i, n))
		}
		want = append(want, fmt.Sprintf("a pinned row %d r", i))
	}
	if diff := streamtest.Diff(want, streamtest.Values[string](rows)); diff != "" {
		t.Error(diff)
	}
	lates := streamtest.Values[streamtest.KV[string, stock]](late)
	if len(lates) != 1 || len(lates[0].Value.Pad) != padSize || lates[0].Value.Names[0] != "z late" {
		t.Errorf("%d late rows, want one of 1 MB", len(lates))
	}
}

// TestMaxRowsPerKey: a key that is full takes no more rows of either side, which come
// out whole at their times. Others go on, and so does the key once rows are done.
func TestMaxRowsPerKey(t *testing.T) {
	steps := []oracle.JoinStep{}
	left := func(key, id string, at int64) {
		steps = append(steps, oracle.Left(oracle.JoinElement{Key: key, ID: id, TimeMs: at}))
	}
	right := func(key, id string, at int64) {
		steps = append(steps, oracle.Right(oracle.JoinElement{Key: key, ID: id, TimeMs: at}))
	}
	wm := func(at int64) { steps = append(steps, oracle.JoinWatermark(at)) }
	left("hot", "a", 0)
	left("hot", "b", 1)
	right("hot", "x", 2)  // the third and last
	right("hot", "y", 3)  // refused: without a match, though a and b are there
	left("hot", "c", 4)   // refused
	left("cool", "d", 4)  // another key
	right("cool", "z", 5) // takes what it matches
	wm(12)                // a and b are done, x has been before
	left("hot", "e", 13)
	right("hot", "u", 14)
	cfg := joins.Config{Upper: 10 * ms, Type: joins.Full, MaxRowsPerKey: 3, Shards: 1}
	out := play(t, cfg, stepwise(timelineOf(steps, true)))
	over := []oracle.JoinLate{
		{Side: "right", Element: oracle.JoinElement{Key: "hot", ID: "y", TimeMs: 3}, Step: 3},
		{Side: "left", Element: oracle.JoinElement{Key: "hot", ID: "c", TimeMs: 4}, Step: 4},
	}
	rows := []oracle.JoinRow{
		{Key: "hot", Left: "a", Right: "x", TimeMs: 2, Step: 2},
		{Key: "hot", Left: "b", Right: "x", TimeMs: 2, Step: 2},
		{Key: "cool", Left: "d", Right: "z", TimeMs: 5, Step: 6},
		{Key: "hot", Left: "e", Right: "u", TimeMs: 14, Step: 9},
	}
	if diff := streamtest.Diff(over, out.over); diff != "" {
		t.Errorf("over the limit: %s", diff)
	}
	if diff := streamtest.Diff(rows, out.rows); diff != "" {
		t.Errorf("rows: %s", diff)
	}
	if len(out.late) > 0 {
		t.Errorf("late: %+v", out.late)
	}
}
