package rows

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/files"
	"tidemark/connectors/sink"
	"tidemark/internal/halt"
	"tidemark/internal/tally"
)

// unpacked gathers the lines of batches.
func unpacked(t interface{ Fatal(...any) }, lines, orders *[]string) emitLines {
	return func(_ beam.EventTime, batch []byte) {
		err := sink.Batch(batch).Each(func(order, line []byte) error {
			*lines, *orders = append(*lines, string(line)), append(*orders, string(order))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func rowAt(source string, position int64) *files.Row {
	return &files.Row{Source: source, Position: position, Raw: []byte(`{"n":1}`)}
}

// TestJoinLinesOpen asks a run to end at a watermark of 100 ms. Rows that are due
// then, and pairs, are written; others are counted.
func TestJoinLinesOpen(t *testing.T) {
	pair, left, right := Joined{Left: rowAt("l", 1), Right: rowAt("r", 1)}, Joined{Left: rowAt("l", 2)}, Joined{Right: rowAt("r", 2)}
	for _, c := range []struct {
		name                string
		leftDue, rightDue   int64
		drain               bool
		row                 Joined
		time                int64
		open, openElsewhere tally.Kind // of which one is counted if the row is left out
		want                bool
	}{
		{"a pair is always there", 10, 10, false, pair, 1000, 0, 0, true},
		{"left, just due", 10, 90, false, left, 90, 0, 0, true},
		{"left, due 1 ms later", 10, 0, false, left, 91, tally.LeftOpen, tally.RightOpen, false},
		{"right, just due", 10, -20, false, right, 120, 0, 0, true},
		{"right, due 1 ms later", 0, -20, false, right, 121, tally.RightOpen, tally.LeftOpen, false},
		{"drained", 10, 10, true, left, 1000, 0, 0, true},
		{"left semi", Decided, 10, false, left, 1000, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			stop, counts := halt.Start(), tally.Start()
			defer halt.Start()
			stop.Ask(c.drain)
			stop.Stopped(100)
			fn := &joinLinesFn{Format: JSON, LeftDueMs: c.leftDue, RightDueMs: c.rightDue}
			var lines, orders []string
			emit := unpacked(t, &lines, &orders)
			fn.Setup()
			fn.StartBundle(emit)
			fn.ProcessElement(context.Background(), mtime.Time(c.time), c.row, emit)
			fn.FinishBundle(emit)
			if c.want {
				want := []string{string(AppendJoined(nil, c.time, &c.row))}
				if diff := gocmp.Diff(want, lines); diff != "" || orders[0] != string(OrderJoined(nil, c.time, &c.row)) {
					t.Errorf("mismatch (-want +got):\n%s", diff)
				}
				if n := counts.Get(tally.LeftOpen) + counts.Get(tally.RightOpen); n != 0 {
					t.Errorf("%d rows are open, want none", n)
				}
				return
			}
			if len(lines) != 0 || counts.Get(c.open) != 1 || counts.Get(c.openElsewhere) != 0 {
				t.Errorf("lines %q, open %d and %d, want none, 1 and 0", lines, counts.Get(c.open), counts.Get(c.openElsewhere))
			}
		})
	}
}

// TestJoinLinesSorted has rows come in any order, in bundles of any size, and
// sorts them: the lines are the same.
func TestJoinLinesSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type row struct {
			ms int64
			Joined
		}
		var all []row
		for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
			j := Joined{Key: orderedText.Draw(t, "key"), Left: rowAt("s", int64(i)), Right: rowAt("s", int64(i/2))} // of a self join
			if rapid.Bool().Draw(t, "alone") {
				j.Right = nil
			}
			all = append(all, row{rapid.Int64Range(-1, 1).Draw(t, "time"), j})
		}
		write := func(rows []row) (lines []string) {
			sp := sink.NewSpool("", true)
			defer sp.Close() //nolint:errcheck // in memory
			fn := &joinLinesFn{Format: Mart}
			emit := func(_ beam.EventTime, batch []byte) {
				if err := sp.AddBatch(batch); err != nil {
					t.Fatal(err)
				}
			}
			fn.Setup()
			fn.StartBundle(emit)
			for _, r := range rows {
				fn.ProcessElement(context.Background(), mtime.Time(r.ms), r.Joined, emit)
				if rapid.Bool().Draw(t, "bundle ends") {
					fn.FinishBundle(emit)
					fn.StartBundle(emit)
				}
			}
			fn.FinishBundle(emit)
			if err := sp.Each(func(line []byte) error { lines = append(lines, string(line)); return nil }); err != nil {
				t.Fatal(err)
			}
			return lines
		}
		want := write(all)
		if got := write(rapid.Permutation(all).Draw(t, "order")); !slices.Equal(want, got) {
			t.Fatalf("lines %q, want %q", got, want)
		}
	})
}

func TestJoinLateLines(t *testing.T) {
	for f, want := range map[Format]string{
		JSON: `{"side":"right","event":{"n": 1},"time":"1970-01-01T00:00:00.005Z","source":"a,b","position":3}`,
		Mart: `{"side":"right","event":{"n": 1},"time":"1970-01-01T00:00:00.005Z","source":"a,b","position":3,"key":"k"}`,
		CSV:  `right,"{""n"": 1}",1970-01-01T00:00:00.005Z,"a,b",3`,
	} {
		fn := &joinLateLinesFn{Format: f, Side: Right}
		var lines, orders []string
		emit := unpacked(t, &lines, &orders)
		fn.StartBundle(emit)
		fn.ProcessElement(5, "k", files.Row{Source: "a,b", Position: 3, Raw: []byte("{\"n\":\n1}\r")}, emit)
		fn.FinishBundle(emit)
		if diff := gocmp.Diff([]string{want}, lines); diff != "" || !strings.HasPrefix(orders[0], string(OrderRecord(nil, "a,b", 3))) {
			t.Errorf("%s: mismatch (-want +got):\n%s", f, diff)
		}
	}
	if got := JoinLateLayout(CSV).Header; got != "side,event,time,source,position" || JoinLateLayout(JSON).Header != "" {
		t.Errorf("header %q", got)
	}
	// As for aggregates, an event that is not JSON is a string.
	if got := string(AppendJoinLate(nil, &JoinLate{Side: Left, Event: []byte("{")})); !strings.HasPrefix(got, `{"side":"left","event":"{",`) {
		t.Error(got)
	}
}

// TestOverLimitLines writes bad rows of a side. Only a mart is told which.
func TestOverLimitLines(t *testing.T) {
	long := strings.Repeat("\u20ac", 101)
	for _, c := range []struct {
		format    Format
		key, want string
	}{
		{JSON, "a", `{"source":"f","position":3,"raw":"{\"n\":1}","reason":"key \"a\" holds 1000 rows, the limit on a key: this left one is not joined"}`},
		{Mart, long, `{"source":"f","position":3,"raw":"{\"n\":1}","reason":"key \"` + long[:300] + `\" holds 1000 rows, the limit on a key: this left one is not joined","side":"left"}`},
		{CSV, "a", `f,3,"{""n"":1}","key ""a"" holds 1000 rows, the limit on a key: this left one is not joined",`},
	} {
		fn := &overLimitLinesFn{Format: c.format, Side: Left, Limit: 1000}
		var lines, orders []string
		emit := unpacked(t, &lines, &orders)
		fn.StartBundle(emit)
		fn.ProcessElement(5, c.key, *rowAt("f", 3), emit)
		fn.FinishBundle(emit)
		if diff := gocmp.Diff([]string{c.want}, lines); diff != "" || orders[0] != string(orderText(OrderRecord(nil, "f", 3), "left")) {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.format, diff)
		}
	}
}

func TestJoinBadLines(t *testing.T) {
	const plain = `{"source":"f","position":3,"raw":"{\ufffd","reason":"cut off","raw_base64":"e/8="`
	for _, c := range []struct {
		format Format
		side   Side
		want   string
	}{{JSON, Right, plain + "}"}, {Mart, Right, plain + `,"side":"right"}`}, {Mart, "", plain + "}"}} {
		fn := &badLinesFn{Format: c.format}
		var lines, orders []string
		emit := unpacked(t, &lines, &orders)
		fn.StartBundle(emit)
		fn.ProcessElement(0, files.Bad{Source: "f", Position: 3, Raw: []byte("{\xff"), Reason: "cut off", Side: string(c.side)}, emit)
		fn.FinishBundle(emit)
		if diff := gocmp.Diff([]string{c.want}, lines); diff != "" || !json.Valid([]byte(lines[0])) {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
		// A join of a file with itself has each bad record twice.
		if want := string(orderText(OrderRecord(nil, "f", 3), string(c.side))); orders[0] != want {
			t.Errorf("order %q, want %q", orders[0], want)
		}
	}
}
