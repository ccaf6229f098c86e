package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/windowfns"
)

// shuffled puts bids in an order in which they could arrive: each at most the
// disorder behind those in front of it, apart from one in fifty that is far
// behind, by seconds to days, if there are stragglers.
func shuffled(bids []bid, seed uint64, stragglers bool) []bid {
	random := rand.New(rand.NewPCG(seed, 1))
	type arrival struct {
		bid
		at int64
	}
	var arrivals []arrival
	for i, b := range bids {
		at := b.Time + random.Int64N(disorder.Milliseconds())
		if stragglers && i%50 == 25 {
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

// streamOf reads bids as a stream, with bundles of so many bytes.
func streamOf(t *testing.T, fields records.Fields, bids []bid, bundleBytes int64) Source {
	t.Helper()
	return Source{
		Fields: fields, Files: []files.File{store(t, bids, true)},
		Stream: &files.StreamConfig{MaxOutOfOrderness: disorder, BundleBytes: bundleBytes},
	}
}

// verify checks the outcome of a stream of bids, with its rows parsed, against
// the promises for streams: nothing is missing or twice, everybody is judged by the
// watermark in front of the bid, there is one ON_TIME row at most and it comes first, revisions follow each other, and the last one has all that was
// added. It returns how many pairs of a bid and a window were late.
func verify(t *testing.T, bids []bid, windows windowfns.Fn, lateness time.Duration, out outcome, rows []oracle.Row) (late int64) {
	t.Helper()
	missed := map[int64][]windowfns.Window{}
	for _, r := range parseLate(t, out.late) {
		if missed[r.Position] != nil {
			t.Errorf("bid %d is late twice", r.Position)
		}
		missed[r.Position] = r.Missed
		b := bids[r.Position-1]
		all := windows.AppendWindows(nil, b.Time)
		if r.Event != string(b.raw) || r.All != (len(r.Missed) == len(all)) || len(r.Missed) == 0 {
			t.Errorf("late bid %d: %+v, want %s", r.Position, r, b.raw)
		}
		if want := slices.DeleteFunc(all, func(w windowfns.Window) bool { return !slices.Contains(r.Missed, w) }); !slices.Equal(want, r.Missed) {
			t.Errorf("bid %d has missed %v, of which it has %v", r.Position, r.Missed, want)
		}
	}
	want := map[cellOf]account{}
	latest := int64(math.MinInt64)
	var pairs int64
	for i, b := range bids {
		for _, w := range windows.AppendWindows(nil, b.Time) {
			pairs++
			isLate := slices.Contains(missed[int64(i+1)], w)
			mark := latest - disorder.Milliseconds()
			if byMark := latest != math.MinInt64 && mark >= w.EndMs+lateness.Milliseconds(); isLate != byMark {
				t.Errorf("bid %d at %d is late for %v: %v, and the watermark in front of it is %d", i+1, b.Time, w, isLate, mark)
			}
			if isLate {
				late++
			} else {
				b.add(want, w)
			}
		}
		latest = max(latest, b.Time)
	}

	got := map[cellOf]oracle.Row{}
	for _, r := range rows {
		c := cellOf{r.Key, windowfns.Window{StartMs: r.StartMs, EndMs: r.EndMs}}
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
	out.wantCounts(t, int64(len(bids)), pairs, pairs-late, late)
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
			bids := shuffled(all[:c.count], c.seed, true)
			g := GMV{Source: streamOf(t, bidFields, bids, c.bundleBytes)}
			g.Config.Windows, g.Config.AllowedLateness = windowfns.Tumbling{Size: c.size}, c.lateness
			out := run(t, g)
			late := verify(t, bids, g.Config.Windows, c.lateness, out, parseRows(t, out.rows))
			if late == 0 {
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
		windows := windowfns.Tumbling{Size: size}
		rows := onTimeRows(bids, windows)
		for name, src := range map[string]Source{
			"batch":  {Files: []files.File{store(t, bids, true)}},
			"stream": {Files: []files.File{store(t, inOrder, true)}, Stream: &files.StreamConfig{BundleBytes: 20_000}},
		} {
			g := GMV{Source: src}
			g.Fields, g.Config.Windows = bidFields, windows
			out := run(t, g)
			if diff := streamtest.Diff(rows, parseRows(t, out.rows)); diff != "" {
				t.Errorf("%s, %v: %s", name, size, diff)
			}
			n := int64(len(bids))
			out.wantCounts(t, n, n, n, 0)
		}
	}
}
