package pipelines

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

// pairRow is a row of a side.
type pairRow struct {
	Side     string
	Key      string
	TimeMs   int64
	MarkMs   int64
	Source   string
	Position int64
	Raw      string
}

// readPair reads a source on a runner.
func readPair(t *testing.T, src PairSource) (rows []pairRow, bad []files.Bad, counts *tally.Tally) {
	t.Helper()
	src.MaxRecordBytes = 100
	src.Left.Fields = records.Fields{Key: []string{"key"}, Time: "time", TimeUnit: "ms"}
	src.Right.Fields = records.Fields{Key: []string{"id"}, Time: "at", TimeUnit: "ms"}
	var l, r, b *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		counts = tally.Start()
		left, right, bad, err := src.read(s)
		if err != nil {
			t.Fatal(err)
		}
		l, r, b = streamtest.Capture(s, left), streamtest.Capture(s, right), streamtest.Capture(s, bad)
	})
	for side, c := range map[string]*streamtest.Captured{"left": l, "right": r} {
		for _, e := range streamtest.Elements[streamtest.KV[string, files.Row]](c) {
			r := e.Value.Value
			rows = append(rows, pairRow{side, e.Value.Key, e.TimeMs, r.MarkMs, r.Source, r.Position, string(r.Raw)})
		}
	}
	return rows, streamtest.Values[files.Bad](b), counts
}

const unmarked = math.MinInt64

// TestPairBothSidesOfAFile joins a file with itself: in batch nothing is late, in
// a stream the marks are those of both sides together.
func TestPairBothSidesOfAFile(t *testing.T) {
	f := files.File{Path: filepath.Join(t.TempDir(), "in"), Name: "in"}
	line := func(ms int64) string { return fmt.Sprintf(`{"key":"a","time":%d,"id":"b","at":%d}`, ms, ms+5) }
	if err := os.WriteFile(f.Path, []byte(line(10)+"\n"+line(20)+"\n"+`{"key":"c","time":15}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stream *files.PairConfig
		marks  [5]int64
	}{
		"batch":  {nil, [5]int64{unmarked, unmarked, unmarked, unmarked, unmarked}},
		"stream": {&files.PairConfig{MaxOutOfOrderness: time.Millisecond, BundleBytes: 1}, [5]int64{unmarked, unmarked, 9, 14, 19}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Side{Files: []files.File{f}}
			src := PairSource{Left: in, Right: in, Stream: c.stream}
			rows, bad, counts := readPair(t, src)
			want := []pairRow{
				{"left", "a", 10, c.marks[0], "in", 1, line(10)},
				{"right", "b", 15, c.marks[1], "in", 1, line(10)},
				{"left", "a", 20, c.marks[2], "in", 2, line(20)},
				{"right", "b", 25, c.marks[3], "in", 2, line(20)},
				{"left", "c", 15, c.marks[4], "in", 3, `{"key":"c","time":15}`},
			}
			if diff := streamtest.Diff(want, rows); diff != "" {
				t.Error(diff)
			}
			if len(bad) != 1 || bad[0].Position != 3 || bad[0].Reason != `field "id": missing, want a string or a number` {
				t.Errorf("bad: %+v", bad)
			}
			if read, refused := counts.Get(tally.Read), counts.Get(tally.Bad); read != 6 || refused != 1 || !src.marked() {
				t.Errorf("read %d, bad %d, marked %v, want 6, 1 and true", read, refused, src.marked())
			}
		})
	}
}

// TestPairTimeline plays a script of two sides, with bad events on both.
func TestPairTimeline(t *testing.T) {
	long := `{"key":"` + strings.Repeat("x", 100) + `","time":1}`
	script := strings.Join([]string{
		`{"left": {"key": "a", "time": 10}}`,
		`{"watermark": 20}`,
		`{"right": {"id": 7 , "at": 5}}`,
		`{"left": {"id": 7, "at": 5}}`,
		`{"right": [1]}`,
		`{"processing_time": "1s"}`,
		`{"left": ` + long + `}`,
	}, "\n")
	steps, err := timeline.Parse([]byte(script), timeline.Left, timeline.Right)
	if err != nil {
		t.Fatal(err)
	}
	src := PairSource{Script: "the script", Timeline: steps}
	rows, bad, counts := readPair(t, src)
	want := []pairRow{
		{"left", "a", 10, unmarked, "the script", 1, `{"key": "a", "time": 10}`},
		{"right", "7", 5, unmarked, "the script", 3, `{"id": 7 , "at": 5}`},
	}
	if diff := streamtest.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	wantBad := []files.Bad{
		{Source: "the script", Position: 4, Raw: []byte(`{"id": 7, "at": 5}`), Reason: `field "key": missing, want a string or a number`, Side: "left"},
		{Source: "the script", Position: 5, Raw: []byte(`[1]`), Reason: "an array, want a JSON object", Side: "right"},
		{Source: "the script", Position: 7, Raw: []byte(long), Reason: files.TooLong(100), Side: "left"},
	}
	if diff := streamtest.Diff(wantBad, bad); diff != "" {
		t.Error(diff)
	}
	if read, refused := counts.Get(tally.Read), counts.Get(tally.Bad); read != 5 || refused != 3 || src.marked() {
		t.Errorf("read %d, bad %d, marked %v, want 5, 3 and false", read, refused, src.marked())
	}
}

// TestPairTimelineWithoutEvents plays a script in which nothing happens.
func TestPairTimelineWithoutEvents(t *testing.T) {
	steps := []timeline.Step{{Number: 1, Kind: timeline.Watermark, WatermarkMs: 5}}
	if rows, bad, _ := readPair(t, PairSource{Script: "the script", Timeline: steps}); len(rows)+len(bad) > 0 {
		t.Errorf("%+v, %+v", rows, bad)
	}
}

// TestPairFields has fields that cannot be used, of either side.
func TestPairFields(t *testing.T) {
	good := records.Fields{Key: []string{"key"}, Time: "time", TimeUnit: "ms"}
	for _, src := range []PairSource{
		{Script: "x", Left: Side{Fields: good}},
		{Script: "x", Right: Side{Fields: good}},
	} {
		if _, _, _, err := src.read(beam.NewPipeline().Root()); err == nil || !strings.Contains(err.Error(), "Key is empty") {
			t.Errorf("%v", err)
		}
	}
}
