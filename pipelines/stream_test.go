package pipelines

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/connectors/files"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/windowfns"
)

// shuffled puts bids in an order in which they could arrive: each at most the
// disorder behind those in front of it, apart from one in fifty that is far
// behind, by seconds to days.
func shuffled(bids []bid, seed uint64) []bid {
	random := rand.New(rand.NewPCG(seed, 1))
	type arrival struct {
		bid
		at int64
	}
	var arrivals []arrival
	for i, b := range bids {
		at := b.Time + random.Int64N(disorder.Milliseconds())
		if i%50 == 25 {
			behind := []int64{3_000, 70_000, 4_000_000, 200_000_000}[random.IntN(4)]
			b.Time -= behind
			b.raw = fmt.Appendf(nil, `{"auction":%d,"price":%d,"time":%d}`, b.Auction, b.Price, b.Time)
		}
		arrivals = append(arrivals, arrival{b, at})
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	out := make([]bid, len(arrivals))
	for i, a := range arrivals {
		out[i] = a.bid
	}
	return out
}

// store writes bids to a compressed file.
func store(t *testing.T, bids []bid) files.File {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, bid := range bids {
		if _, err := z.Write(append(bytes.Clone(bid.raw), '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bids.ndjson.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return files.File{Path: path, Name: "bids", Gzip: true}
}

// cellOf names a key and window.
type cellOf struct {
	key   string
	start int64
}

// account is what came out of a stream for one key and window.
type account struct {
	sum, count, latest int64
}

// verify checks the outcome of a stream of bids in tumbling windows against the
// promises for streams: nothing is missing or twice, nobody is judged harsher than
// the watermark in front of the bid says, there is one ON_TIME row at most and it
// comes first, revisions follow each other, and the last one has all that was
// added.
func verify(t *testing.T, bids []bid, size, lateness time.Duration, out outcome) (late int64) {
	t.Helper()
	missed := map[int64]bool{}
	for _, r := range parseLate(t, out.late) {
		if missed[r.Position] {
			t.Errorf("bid %d is late twice", r.Position)
		}
		missed[r.Position] = true
		if want := string(bids[r.Position-1].raw); r.Event != want || !r.All {
			t.Errorf("late bid %d: %s, want %s", r.Position, r.Event, want)
		}
	}
	want := map[cellOf]account{}
	latest := int64(math.MinInt64)
	for i, b := range bids {
		w := windowfns.Tumbling{Size: size}.AppendWindows(nil, b.Time)[0]
		if mark := latest - disorder.Milliseconds(); missed[int64(i+1)] {
			if latest == math.MinInt64 || mark < w.EndMs+lateness.Milliseconds() {
				t.Errorf("bid %d at %d is late, and the watermark in front of it is %d", i+1, b.Time, mark)
			}
			late++
		} else {
			c := cellOf{fmt.Sprint(b.Auction), w.StartMs}
			a := want[c]
			if a.count == 0 {
				a.latest = b.Time
			}
			want[c] = account{a.sum + b.Price, a.count + 1, max(a.latest, b.Time)}
		}
		latest = max(latest, b.Time)
	}

	got := map[cellOf]oracle.Row{}
	for _, r := range parseRows(t, out.rows) {
		c := cellOf{r.Key, r.StartMs}
		was, again := got[c]
		switch {
		case !again && (r.Revision != 0 || r.PreviousMinor != nil || r.PreviousCount != nil):
			t.Errorf("the first row of %+v is %+v", c, r)
		case again && (r.Pane != "LATE" || r.Revision != was.Revision+1 || *r.PreviousMinor != was.Minor || *r.PreviousCount != was.Count):
			t.Errorf("after %+v comes %+v", was, r)
		}
		got[c] = r
	}
	if len(got) != len(want) {
		t.Errorf("rows for %d keys and windows, want %d", len(got), len(want))
	}
	for c, a := range want {
		r, ok := got[c]
		if !ok || r.Minor != a.sum || r.Count != a.count || *r.MaxTimeMs != a.latest {
			t.Errorf("the last row of %+v is %+v, want %+v", c, r, a)
		}
	}
	out.wantCounts(t, int64(len(bids)), int64(len(bids)), int64(len(bids))-late, late)
	return late
}

// TestStreamedBids reads shuffled bids as a stream, with bundles from one record
// to the whole file.
func TestStreamedBids(t *testing.T) {
	all := readBids(t)
	for _, c := range []struct {
		count       int
		size        time.Duration
		lateness    time.Duration
		bundleBytes int64
		seed        uint64
	}{
		{150, time.Second, 2 * time.Second, 1, 1},
		{600, 10 * time.Second, 0, 300, 2},
		{len(all), time.Second, time.Minute, 5_000, 3},
		{len(all), 10 * time.Second, 0, 30_000, 4},
		{len(all), time.Second, 2 * time.Second, 1 << 30, 5},
	} {
		t.Run(fmt.Sprintf("%d bids, %v, bundles of %d bytes", c.count, c.size, c.bundleBytes), func(t *testing.T) {
			bids := shuffled(all[:c.count], c.seed)
			g := GMV{Source: Source{
				Fields: bidFields, Files: []files.File{store(t, bids)},
				Stream: &files.StreamConfig{MaxOutOfOrderness: disorder, BundleBytes: c.bundleBytes},
			}}
			g.Config.Windows, g.Config.AllowedLateness = windowfns.Tumbling{Size: c.size}, c.lateness
			late := verify(t, bids, c.size, c.lateness, run(t, g))
			if c.bundleBytes < 1<<20 && late == 0 {
				t.Error("nothing is late: the stream tests too little")
			}
		})
	}
}

// TestNexmarkStreamed sums the bids as they are, compressed, in batch and as
// a stream: both agree with a loop over the file.
func TestNexmarkStreamed(t *testing.T) {
	bids := readBids(t)
	inOrder := slices.Clone(bids)
	slices.SortStableFunc(inOrder, func(a, b bid) int { return int(a.Time - b.Time) })
	for _, size := range []time.Duration{10 * time.Second, time.Second} {
		want := map[cellOf]account{}
		for _, b := range bids {
			c := cellOf{fmt.Sprint(b.Auction), b.Time - b.Time%size.Milliseconds()}
			a := want[c]
			want[c] = account{a.sum + b.Price, a.count + 1, max(a.latest, b.Time)}
		}
		var rows []oracle.Row
		for c, a := range want {
			rows = append(rows, oracle.Row{
				Key: c.key, StartMs: c.start, EndMs: c.start + size.Milliseconds(), Pane: "ON_TIME",
				Minor: a.sum, Count: a.count, MaxTimeMs: new(a.latest),
			})
		}
		for name, src := range map[string]Source{
			"batch":  {Files: []files.File{store(t, bids)}},
			"stream": {Files: []files.File{store(t, inOrder)}, Stream: &files.StreamConfig{BundleBytes: 20_000}},
		} {
			g := GMV{Source: src}
			g.Fields, g.Config.Windows = bidFields, windowfns.Tumbling{Size: size}
			out := run(t, g)
			if diff := streamtest.Diff(rows, parseRows(t, out.rows)); diff != "" {
				t.Errorf("%s, %v: %s", name, size, diff)
			}
			n := int64(len(bids))
			out.wantCounts(t, n, n, n, 0)
		}
	}
}
