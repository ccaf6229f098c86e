package files

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/connectors/records"
	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

// TestPairSelf reads one table on both sides, by other columns, with files that
// stay open from bundle to bundle.
func TestPairSelf(t *testing.T) {
	table := fileOf(t, t.TempDir(), "in.csv.gz", zip(t, "k,t,m,key,at\na,0,1,a,5\na,20,1,a,25\na,40,1,a,\"4\n5\"\na,60,1,a,65\n"))
	table.Name = "in"
	for _, bundle := range []int64{1, 1 << 20} {
		r := newRig(t, bundle)
		got := r.play(t, PairInput{[]File{table}, []File{table}}, idleBefore)
		raw := func(n int64) string { return fmt.Sprintf(`{"k":"a","t":"%d","m":"1","key":"a","at":"%d"}`, n, n+5) }
		want := []paired{
			{Side: "left", Position: 2, TimeMs: 0, MarkMs: none, Source: "in", Raw: raw(0)},
			{Side: "right", Position: 2, TimeMs: 5, MarkMs: none, Source: "in", Raw: raw(0)},
			{Side: "left", Position: 3, TimeMs: 20, MarkMs: -10, Source: "in", Raw: raw(20)},
			{Side: "right", Position: 3, TimeMs: 25, MarkMs: -5, Source: "in", Raw: raw(20)},
			{Side: "left", Position: 4, TimeMs: 40, MarkMs: 10, Source: "in", Raw: `{"k":"a","t":"40","m":"1","key":"a","at":"4\n5"}`},
			{Position: 4, Source: "in", Raw: "a,40,1,a,\"4\n5\"", Reason: `field "at": "4\n5" is not an RFC 3339 time or a whole number of ms`},
			{Side: "right", Position: 6, TimeMs: 65, MarkMs: 15, Source: "in", Raw: raw(60)},
			{Side: "left", Position: 6, TimeMs: 60, MarkMs: 30, Source: "in", Raw: raw(60)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("bundles of %d bytes: mismatch (-want +got):\n%s", bundle, diff)
		}
	}
}

// TestPairFuture has records ahead of the clock on both sides: they move no
// watermark.
func TestPairFuture(t *testing.T) {
	dir := t.TempDir()
	left := fileOf(t, dir, "left", []byte(event(clockMs)+"\n"+event(clockMs+1001)+"\n"+event(clockMs+5)+"\n"))
	right := fileOf(t, dir, "right", []byte(rightEvent(records.MaxTimeMs)+"\n"+rightEvent(clockMs+1000)+"\n"))
	r := newRig(t, 1<<20)
	r.fn.FutureMs = 1000
	var got []seenAs
	for _, e := range r.play(t, PairInput{[]File{left}, []File{right}}, idleBefore) {
		if e.Reason != "" && !strings.Contains(e.Reason, "ahead of the clock, the limit is 1s") {
			t.Errorf("%+v", e)
		}
		got = append(got, short([]paired{e})...)
	}
	want := []seenAs{
		{"left", clockMs, none},
		{"", 0, 0},
		{"right", clockMs + 1000, none},
		{"", 0, 0},
		{"left", clockMs + 5, clockMs - 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestPairFails has a file that is not there, on either side.
func TestPairFails(t *testing.T) {
	there := fileOf(t, t.TempDir(), "in", nil)
	gone := File{Path: filepath.Join(t.TempDir(), "gone"), Name: "the input"}
	for _, in := range []PairInput{{[]File{there}, []File{gone}}, {[]File{gone}, []File{there}}} {
		fn := newRig(t, 1).fn
		w, rt := fn.CreateWatermarkEstimator(newJoint()), fn.CreateTracker(fn.CreateInitialRestriction(in))
		_, err := fn.ProcessElement(context.Background(), w, rt, in, nil, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "reading the input: ") || w.Ms != none {
			t.Errorf("%v, watermark %d", err, w.Ms)
		}
	}
}

// rowKV is an element of the rows that [StreamPair] and [ReadRows] make.
type rowKV = streamtest.KV[string, Row]

func rowsOf(side string, c *streamtest.Captured) (all []paired) {
	for _, e := range streamtest.Elements[rowKV](c) {
		r := e.Value.Value
		all = append(all, paired{Side: side + " " + e.Value.Key, Position: r.Position, TimeMs: e.TimeMs, MarkMs: r.MarkMs, Source: r.Source, Raw: string(r.Raw)})
	}
	return all
}

// TestStreamPair reads two sides on a runner, in bundles of one record.
func TestStreamPair(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) File {
		f := fileOf(t, dir, name, content)
		f.Name = name
		return f
	}
	left := []File{
		file("a.ndjson", []byte(event(100)+"\n"+event(50)+"\nx\n")),
		file("b.csv.gz", zip(t, "k,t,m\nb,200,1\n")),
	}
	right := []File{file("c.ndjson", []byte(rightEvent(95)+"\n"+rightEvent(150)+"\n"))}
	var l, r, b *streamtest.Captured
	var counts *tally.Tally
	streamtest.Run(t, func(s beam.Scope) {
		counts = tally.Start()
		cfg := PairConfig{Left: fields, Right: pairFields, MaxRecordBytes: 100, MaxOutOfOrderness: 10 * time.Millisecond, BundleBytes: 1}
		left, right, bad := StreamPair(s, cfg, left, right)
		l, r, b = streamtest.Capture(s, left), streamtest.Capture(s, right), streamtest.Capture(s, bad)
	})
	want := []paired{
		{Side: "left a", Position: 1, TimeMs: 100, MarkMs: math.MinInt64, Source: "a.ndjson", Raw: event(100)},
		{Side: "right a", Position: 1, TimeMs: 95, MarkMs: math.MinInt64, Source: "c.ndjson", Raw: rightEvent(95)},
		{Side: "right a", Position: 2, TimeMs: 150, MarkMs: 85, Source: "c.ndjson", Raw: rightEvent(150)},
		{Side: "left a", Position: 2, TimeMs: 50, MarkMs: 90, Source: "a.ndjson", Raw: event(50)},
		{Side: "left b", Position: 2, TimeMs: 200, MarkMs: 90, Source: "b.csv.gz", Raw: `{"k":"b","t":"200","m":"1"}`},
	}
	if diff := streamtest.Diff(want, append(rowsOf("left", l), rowsOf("right", r)...)); diff != "" {
		t.Error(diff)
	}
	if bad := streamtest.Values[Bad](b); len(bad) != 1 || bad[0].Position != 3 || bad[0].Source != "a.ndjson" {
		t.Errorf("bad: %+v", bad)
	}
	if read, refused := counts.Get(tally.Read), counts.Get(tally.Bad); read != 6 || refused != 1 {
		t.Errorf("read %d, bad %d, want 6 and 1", read, refused)
	}
	if counts.Watermark() == 0 {
		t.Error("no watermark for people")
	}
}

// TestReadRows reads one table twice, by other columns, and with raw records.
func TestReadRows(t *testing.T) {
	in := fileOf(t, t.TempDir(), "in.csv", []byte("k,t,m,key,at\na,1,1,b,2\na,x,1,b,3\n"))
	in.Name = "in"
	var l, r, whole, badL, badR *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		a, bad := ReadRows(s, Config{Fields: fields, MaxRecordBytes: 100}, []File{in})
		l, badL = streamtest.Capture(s, a), streamtest.Capture(s, bad)
		a, bad = ReadRows(s, Config{Fields: pairFields, MaxRecordBytes: 100}, []File{in})
		r, badR = streamtest.Capture(s, a), streamtest.Capture(s, bad)
		a, _ = Read(s, Config{Fields: fields, MaxRecordBytes: 100, KeepRaw: true}, []File{in})
		whole = streamtest.Capture(s, a)
	})
	const first, second = `{"k":"a","t":"1","m":"1","key":"b","at":"2"}`, `{"k":"a","t":"x","m":"1","key":"b","at":"3"}`
	want := []paired{
		{Side: "left a", Position: 2, TimeMs: 1, MarkMs: math.MinInt64, Source: "in", Raw: first},
		{Side: "right b", Position: 2, TimeMs: 2, MarkMs: math.MinInt64, Source: "in", Raw: first},
		{Side: "right b", Position: 3, TimeMs: 3, MarkMs: math.MinInt64, Source: "in", Raw: second},
	}
	if diff := streamtest.Diff(want, append(rowsOf("left", l), rowsOf("right", r)...)); diff != "" {
		t.Error(diff)
	}
	if a, b := streamtest.Values[Bad](badL), streamtest.Values[Bad](badR); len(a) != 1 || len(b) != 0 || string(a[0].Raw) != "a,x,1,b,3" {
		t.Errorf("bad: %+v and %+v", a, b)
	}
	for _, e := range streamtest.Values[marked](whole) {
		if string(e.Value.Raw) != first {
			t.Errorf("with KeepRaw: %+v", e)
		}
	}
}

// TestStreamKeepsRaw has a stream in which nothing is behind.
func TestStreamKeepsRaw(t *testing.T) {
	in := Input{[]File{fileOf(t, t.TempDir(), "in", []byte(event(1)+"\n"))}}
	for _, keep := range []bool{false, true} {
		fn := streamOf(t, 1)
		fn.KeepRaw = keep
		got := play(t, fn, in, func(int, []streamed) {})
		if len(got) != 1 || (got[0].Raw == event(1)) != keep {
			t.Errorf("KeepRaw %v: %+v", keep, got)
		}
	}
}

func TestCheckPair(t *testing.T) {
	file := fileOf(t, t.TempDir(), "in", nil)
	stdin := File{Name: "-"}
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) { os.Stdin, _, _ = old, in.Close(), feed.Close() }(os.Stdin)
	os.Stdin = in
	byPath := File{Name: "stdin", Path: fmt.Sprintf("/dev/fd/%d", in.Fd())}
	for _, c := range []struct {
		left, right []File
		ok          bool
	}{
		{[]File{file}, []File{file}, true},
		{[]File{file, stdin}, []File{file}, true},
		{[]File{stdin}, []File{file, stdin}, false},
		{[]File{{Name: "null", Path: "/dev/null"}}, []File{{Name: "null", Path: "/dev/../dev/null"}}, false},
		{[]File{{Name: "null", Path: "/dev/null"}}, []File{stdin}, true},
		{[]File{stdin}, []File{byPath}, false},
		{[]File{byPath}, []File{file, stdin}, false},
		{[]File{{Pipe: "a"}}, []File{{Pipe: "b"}}, true},
	} {
		if err := CheckPair(c.left, c.right); (err == nil) != c.ok {
			t.Errorf("%+v and %+v: %v", c.left, c.right, err)
		}
	}
}

// TestParkedByFields leaves a table open for records of certain fields: who looks
// for others opens it again.
func TestParkedByFields(t *testing.T) {
	defer parked.clear()
	run := tally.Start()
	in := File{Path: "in", Format: CSV}
	a, errA := newOpener(run, fields, 100)
	b, errB := newOpener(run, pairFields, 100)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	c := &cursor{}
	a.park(in, 5, c)
	if parked.take(b.place(in, 5)) != nil || parked.take(a.place(in, 5)) != c {
		t.Error("a cursor goes to a reader of other fields")
	}
}
