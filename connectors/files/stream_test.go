package files

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/records"
	"tidemark/internal/halt"
	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

// streamed is what a stream emits of one line.
type streamed struct {
	Source   string
	Position int64
	TimeMs   int64
	MarkMs   int64
	Raw      string
	Reason   string
}

// event is a record at a time.
func event(tMs int64) string { return fmt.Sprintf(`{"k":"a","t":%d,"m":1}`, tMs) }

// streamOf is a stream with a watermark 10 ms behind.
func streamOf(t fataler, bundle int64) *streamFn {
	t.Helper()
	fn := &streamFn{Fields: fields, pace: pace{MaxRecordBytes: 100, OutOfOrderMs: 10, BundleBytes: bundle}}
	if err := fn.Setup(); err != nil {
		t.Fatal(err)
	}
	return fn
}

// play reads a stream as a worker does. Before each bundle it calls before with
// what there is so far. It checks what the runner relies on: the watermark never
// goes back, and is never ahead of a mark.
func play(t fataler, fn *streamFn, in Input, before func(n int, sofar []streamed)) (all []streamed) {
	t.Helper()
	s, state := fn.CreateInitialRestriction(in), fn.InitialWatermarkEstimatorState(0, span{}, in)
	reported := int64(math.MinInt64)
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("the stream does not end")
		}
		before(n, all)
		w, rt := fn.CreateWatermarkEstimator(state), fn.CreateTracker(s)
		record := func(et beam.EventTime, mark int64, r Record) {
			if mark < reported {
				t.Fatalf("mark %d, and the watermark was %d before", mark, reported)
			}
			all = append(all, streamed{Source: r.Source, Position: r.Position, TimeMs: int64(et), MarkMs: mark, Raw: string(r.Raw)})
		}
		bad := func(b Bad) {
			all = append(all, streamed{Source: b.Source, Position: b.Position, Raw: string(b.Raw), Reason: b.Reason})
		}
		next, err := fn.ProcessElement(context.Background(), w, rt, in, record, bad)
		if err != nil {
			t.Fatal(err)
		}
		state = fn.WatermarkEstimatorState(w)
		if state < reported {
			t.Fatalf("the watermark goes from %d back to %d", reported, state)
		}
		reported = state
		if !next.ShouldResume() {
			if !rt.IsDone() || reported != infinity {
				t.Fatalf("stops at a watermark of %d, done %v", reported, rt.IsDone())
			}
			return all
		}
		if fn.Pause > 0 && (reported == infinity || next.ResumeDelay() != fn.Pause) {
			t.Fatalf("rests %v at a watermark of %d", next.ResumeDelay(), reported)
		}
		_, residual, err := rt.TrySplit(0)
		if err != nil || residual == nil {
			t.Fatalf("checkpoint: %v, residual %v", err, residual)
		}
		s = residual.(span)
	}
}

// TestStreamMarks reads any events from several files, with bundles of any size:
// every one of them once, in order, with the watermark of those before it.
func TestStreamMarks(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		var want []streamed
		mark := int64(math.MinInt64)
		for i := range rapid.IntRange(1, 3).Draw(t, "files") {
			name := fmt.Sprintf("%d.ndjson", i)
			var text strings.Builder
			times := rapid.SliceOfN(rapid.Int64Range(-50, 50), 0, 20).Draw(t, "times")
			for n, at := range times {
				if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
					text.WriteString("x\n")
					want = append(want, streamed{Source: name, Position: int64(n + 1), Raw: "x", Reason: "invalid JSON: unexpected 'x' at byte offset 0"})
					continue
				}
				e := streamed{Source: name, Position: int64(n + 1), TimeMs: at, MarkMs: mark}
				if at < mark {
					e.Raw = event(at)
				}
				want = append(want, e)
				mark = max(mark, at-10)
				text.WriteString(event(at) + "\n")
			}
			content := []byte(text.String())
			if rapid.Bool().Draw(t, "compressed") {
				name += ".gz"
				for i := range want {
					if want[i].Source+".gz" == name {
						want[i].Source = name
					}
				}
				content = zip(testingT, text.String())
			}
			f := fileOf(testingT, dir, name, content)
			f.Name = name
			in.Files = append(in.Files, f)
		}
		fn := streamOf(t, rapid.SampledFrom([]int64{1, 30, 100, 1 << 20}).Draw(t, "bundle"))
		fn.Pause = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "pause") // on a cluster
		reopen := rapid.Bool().Draw(t, "open again")
		got := play(t, fn, in, func(int, []streamed) {
			if reopen {
				parked.clear()
			}
		})
		parked.clear()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// testingT is for helpers that rapid's T cannot be given to. It fails nothing.
var testingT = &testing.T{}

// TestFutureLimit has times ahead of the clock.
func TestFutureLimit(t *testing.T) {
	now := time.Now().UnixMilli()
	fn := streamOf(t, 1<<20)
	fn.FutureMs = 3_600_000
	times := []int64{now, now + 30*60_000, now + 2*3_600_000, records.MaxTimeMs, now + 31*60_000}
	var text strings.Builder
	for _, at := range times {
		text.WriteString(event(at) + "\n")
	}
	in := Input{[]File{fileOf(t, t.TempDir(), "in.ndjson", []byte(text.String()))}}
	var bad []int64
	for _, e := range play(t, fn, in, func(int, []streamed) {}) {
		if e.Reason == "" {
			if e.MarkMs > now+31*60_000 {
				t.Errorf("line %d has the mark %d: a wrong clock has moved the watermark", e.Position, e.MarkMs)
			}
			continue
		}
		bad = append(bad, e.Position)
		if want := records.FormatTime(times[e.Position-1]); !strings.Contains(e.Reason, want) || !strings.Contains(e.Reason, "the limit is 1h0m0s") {
			t.Errorf("line %d: %s", e.Position, e.Reason)
		}
	}
	if diff := cmp.Diff([]int64{3, 4}, bad); diff != "" {
		t.Errorf("bad lines: mismatch (-want +got):\n%s", diff)
	}
	fn.FutureMs = 0
	for _, e := range play(t, fn, in, func(int, []streamed) {}) {
		if e.Reason != "" {
			t.Errorf("without a limit, line %d is bad: %s", e.Position, e.Reason)
		}
	}
}

// TestPipe writes to a pipe line by line, each only once what was written before
// has been emitted: the source does not sit on anything.
func TestPipe(t *testing.T) {
	for _, format := range []Format{NDJSON, CSV} {
		r, w := io.Pipe()
		OpenPipe("test", r)
		defer ForgetPipe("test")
		lines := []string{"k,t,m\n", "a,5,1\n", "a,30,", "1\na,", "7,1\n", "x\n"}
		if format == NDJSON {
			lines = []string{"", event(5) + "\n", event(30)[:7], event(30)[7:] + "\n" + event(7)[:3], event(7)[3:] + "\n", "x\n"}
		}
		emitted := []int{0, 0, 1, 1, 2, 3} // before each
		next := 0
		got := play(t, streamOf(t, 1<<20), Input{[]File{{Pipe: "test", Name: "-", Format: format}}}, func(_ int, sofar []streamed) {
			if next == len(lines) || len(sofar) < emitted[next] {
				return
			}
			text := lines[next]
			next++
			go func() {
				_, _ = w.Write([]byte(text))
				if text == "x\n" {
					_ = w.Close()
				}
			}()
		})
		var marks []int64
		for _, e := range got {
			marks = append(marks, e.MarkMs)
		}
		if diff := cmp.Diff([]int64{math.MinInt64, -5, 20, 0}, marks); diff != "" || next != len(lines) {
			t.Errorf("%s: %+v, %d of %d writes: mismatch (-want +got):\n%s", format, got, next, len(lines), diff)
		}
		ForgetPipe("test")
	}
}

// TestHalt asks a stream to end while its pipe is open.
func TestHalt(t *testing.T) {
	defer halt.Start()
	stop := halt.Start()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	OpenPipe("test", r)
	defer ForgetPipe("test")
	go func() { _, _ = w.Write([]byte(event(5) + "\n" + event(30) + "\n")) }()
	got := play(t, streamOf(t, 1<<20), Input{[]File{{Pipe: "test"}}}, func(_ int, sofar []streamed) {
		if len(sofar) == 2 {
			stop.Ask(false)
		}
	})
	if len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for due, want := range map[int64]bool{20: true, 21: false} {
		if stop.Shows(due) != want {
			t.Errorf("what is due at %d is shown: %v, want %v", due, !want, want)
		}
	}
}

// TestHaltBehindTheEnd ends the pipe first and asks then, as an interrupt from
// a terminal can.
func TestHaltBehindTheEnd(t *testing.T) {
	defer halt.Start()
	stop := halt.Start()
	r, w := io.Pipe()
	OpenPipe("test", r)
	defer ForgetPipe("test")
	go func() { _, _ = w.Write([]byte(event(30) + "\n")) }()
	fn := streamOf(t, 1<<20)
	fn.Grace = time.Hour
	ended := false
	play(t, fn, Input{[]File{{Pipe: "test"}}}, func(_ int, sofar []streamed) {
		if len(sofar) == 1 && !ended {
			ended = true
			go func() {
				_ = w.Close()
				stop.Ask(false)
			}()
		}
	})
	if !stop.Shows(20) || stop.Shows(21) {
		t.Errorf("what is due at 20 is shown: %v, at 21: %v, want only the first", stop.Shows(20), stop.Shows(21))
	}
}

// TestStream reads a stream on a runner.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	var in []File
	for _, name := range []string{"a.ndjson", "b.csv.gz"} {
		content := []byte(event(100) + "\n" + event(50) + "\nx\n")
		if name == "b.csv.gz" {
			content = zip(t, "k,t,m,x\na,200,1,\"\n\"\na,60,1,\n")
		}
		f := fileOf(t, dir, name, content)
		f.Name = name
		in = append(in, f)
	}
	var goodCol, badCol *streamtest.Captured
	var counts *tally.Tally
	streamtest.Run(t, func(s beam.Scope) {
		counts = tally.Start()
		good, bad := Stream(s, StreamConfig{
			Config: Config{Fields: fields, MaxRecordBytes: 100}, MaxOutOfOrderness: 10 * time.Millisecond, BundleBytes: 1,
		}, in)
		goodCol, badCol = streamtest.Capture(s, good), streamtest.Capture(s, bad)
	})
	var got []streamed
	for _, e := range streamtest.Elements[marked](goodCol) {
		r := e.Value.Value
		got = append(got, streamed{Source: r.Source, Position: r.Position, TimeMs: e.TimeMs, MarkMs: e.Value.Key, Raw: string(r.Raw)})
	}
	want := []streamed{
		{Source: "a.ndjson", Position: 1, TimeMs: 100, MarkMs: math.MinInt64},
		{Source: "a.ndjson", Position: 2, TimeMs: 50, MarkMs: 90, Raw: event(50)},
		{Source: "b.csv.gz", Position: 2, TimeMs: 200, MarkMs: 90},
		{Source: "b.csv.gz", Position: 4, TimeMs: 60, MarkMs: 190, Raw: `{"k":"a","t":"60","m":"1","x":""}`},
	}
	if diff := streamtest.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bad := streamtest.Values[Bad](badCol); len(bad) != 1 || bad[0].Position != 3 {
		t.Errorf("bad: %+v", bad)
	}
	if read, refused := counts.Get(tally.Read), counts.Get(tally.Bad); read != 5 || refused != 1 {
		t.Errorf("read %d, bad %d, want 5 and 1", read, refused)
	}
	if counts.Watermark() == 0 {
		t.Error("no watermark for people")
	}
}
