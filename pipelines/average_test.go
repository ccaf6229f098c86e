package pipelines

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// priceFields are those of bids whose prices are values.
var priceFields = records.Fields{Key: bidFields.Key, Time: bidFields.Time, TimeUnit: bidFields.TimeUnit, Value: bidFields.Amount}

// hotWindows are those of Nexmark's query 5.
var hotWindows = windowfns.Sliding{Size: 10 * time.Second, Period: 5 * time.Second}

// hotItems are the auctions with the most bids of each window, as lines of
// hot_items.tsv.
func hotItems(rows []oracle.Row) (lines []string) {
	most := map[int64]int64{}
	for _, r := range rows {
		most[r.EndMs] = max(most[r.EndMs], r.Count)
	}
	hot := slices.DeleteFunc(slices.Clone(rows), func(r oracle.Row) bool { return r.Count < most[r.EndMs] })
	slices.SortFunc(hot, func(a, b oracle.Row) int { return cmp.Or(cmp.Compare(a.EndMs, b.EndMs), strings.Compare(a.Key, b.Key)) })
	for _, r := range hot {
		lines = append(lines, fmt.Sprintf("%d\t%s\t%d", r.EndMs, r.Key, r.Count))
	}
	return lines
}

// TestHotItems averages all bids by auction, in batch and as a stream out of order
// whose watermark allows for it: the auctions with the most bids of each window are
// those that Nexmark's query 5 has, and every average, sum, count and latest time
// is that of a loop over the file.
func TestHotItems(t *testing.T) {
	text, err := os.ReadFile("testdata/nexmark/hot_items.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	bids := readAllBids(t)
	mixed := shuffled(bids, 1, false)
	for _, c := range []struct {
		name string
		bids []bid
		src  Source
	}{
		{"batch", bids, Source{Fields: priceFields, Files: []files.File{store(t, bids, false)}}},
		{"stream", mixed, streamOf(t, priceFields, mixed, 300_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Average{Source: c.src}
			a.Config.Windows = hotWindows
			out := runAverage(t, a)
			rows := parseAverages(t, out.rows)
			if late := verify(t, c.bids, hotWindows, 0, out, rows); late > 0 {
				t.Errorf("%d late, want 0", late)
			}
			if diff := gocmp.Diff(want, hotItems(rows)); diff != "" {
				t.Errorf("hot items: mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStreamedAverages is [TestStreamedBids] for averages over windows that
// overlap, so that a bid can miss one window and not the other.
func TestStreamedAverages(t *testing.T) {
	all := readBids(t)
	for _, c := range []struct {
		count       int
		windows     windowfns.Sliding
		lateness    time.Duration
		bundleBytes int64
		seed        uint64
	}{
		{150, windowfns.Sliding{Size: 2 * time.Second, Period: time.Second}, 2 * time.Second, 1, 1},
		{len(all), hotWindows, 0, 5_000, 2},
		{len(all), hotWindows, time.Minute, 30_000, 3},
		{len(all), windowfns.Sliding{Size: 5 * time.Second, Period: 2 * time.Second}, 3 * time.Second, 1 << 30, 4},
	} {
		t.Run(fmt.Sprintf("%d bids, %v, bundles of %d bytes", c.count, c.windows, c.bundleBytes), func(t *testing.T) {
			bids := shuffled(all[:c.count], c.seed, true)
			a := Average{Source: streamOf(t, priceFields, bids, c.bundleBytes)}
			a.Config.Windows, a.Config.AllowedLateness = c.windows, c.lateness
			out := runAverage(t, a)
			late := verify(t, bids, c.windows, c.lateness, out, parseAverages(t, out.rows))
			if late == 0 {
				t.Error("nothing is late: the stream tests too little")
			}
		})
	}
}
