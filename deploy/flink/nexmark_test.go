//go:build flink

package flink

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// nexmark is a file of the bids and auctions, and of the answers.
func nexmark(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../pipelines/testdata/nexmark/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// answers are the lines of a table there, without its head, sorted.
func answers(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(nexmark(t, name))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(strings.Lines(string(text)))[1:]
	slices.Sort(all)
	return all
}

// readRows parses the rows of a file.
func readRows[T any](t *testing.T, dir, name string) (rows []T) {
	t.Helper()
	for _, line := range sortedLines(t, dir, name) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// maybeStreamed are the flags of a stream whose disorder is the 197 ms by which
// a bid can come before its auction.
func maybeStreamed(args []string, streamed bool) []string {
	if streamed {
		return append(args, "--stream", "--max_out_of_orderness", "1s")
	}
	return args
}

// bid is a line of bids.ndjson.gz.
type bid struct{ Auction, Bidder, Price, Time int64 }

// biddable is a pair of an auction and a bid for it.
type biddable struct {
	Left  struct{ Auction, Reserve, Expires int64 }
	Right bid
}

// TestWinningBids answers Nexmark's query 9 with all pairs of auctions and bids: of
// the bids that are not below the reserve and in front of the expiry the highest
// wins, of equal ones the earliest.
func TestWinningBids(t *testing.T) {
	c := need(t)
	modes(t, "all", func(t *testing.T, streamed bool) {
		dir := t.TempDir()
		r := c.onFlink(t, dir, maybeStreamed([]string{
			"join", "--left", nexmark(t, "auctions.ndjson.gz"), "--right", nexmark(t, "bids.ndjson.gz"),
			"--key_field", "auction", "--lower", "-1s", "--upper", "1h", "--output", "pairs.ndjson",
		}, streamed)...)
		const want = "read=98000 bad=0 assigned=98000 added=98000 late=0 "
		if !strings.HasPrefix(r.summary(), want) {
			t.Errorf("summary %s, want %s", r.summary(), want)
		}
		pairs := readRows[biddable](t, dir, "pairs.ndjson")
		if len(pairs) != 92_000 {
			t.Errorf("%d pairs, want each of 92000 bids", len(pairs))
		}
		best := map[int64]bid{}
		for _, p := range pairs {
			if p.Right.Price < p.Left.Reserve || p.Right.Time >= p.Left.Expires {
				continue
			}
			b, taken := best[p.Left.Auction]
			if !taken || cmp.Or(cmp.Compare(b.Price, p.Right.Price), cmp.Compare(p.Right.Time, b.Time)) < 0 {
				best[p.Left.Auction] = p.Right
			}
		}
		var got []string
		for _, b := range best {
			got = append(got, fmt.Sprintf("%d\t%d\t%d\t%d\n", b.Auction, b.Bidder, b.Price, b.Time))
		}
		slices.Sort(got)
		same(t, "winning bids", answers(t, "winning_bids.tsv"), got)
	})
}

// hotWindows are the flags of the windows of Nexmark's query 5.
var hotWindows = []string{"--window", "10s", "--every", "5s"}

// bidsOf is a row of the bids for an auction in a window.
type bidsOf struct {
	Key    string
	End    time.Time `json:"window_end"`
	Count  int64
	Latest time.Time `json:"max_event_time"`

	Average, Sum float64
}

// hotItems are the auctions with the most bids in each window.
func hotItems(rows []bidsOf) (lines []string) {
	most := map[int64]int64{}
	for _, r := range rows {
		most[r.End.UnixMilli()] = max(most[r.End.UnixMilli()], r.Count)
	}
	for _, r := range rows {
		if end := r.End.UnixMilli(); r.Count == most[end] {
			lines = append(lines, fmt.Sprintf("%d\t%s\t%d\n", end, r.Key, r.Count))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestHotItems answers Nexmark's query 5 with the counts of sliding windows: the
// auctions with the most bids in each.
func TestHotItems(t *testing.T) {
	c := need(t)
	modes(t, "all", func(t *testing.T, streamed bool) {
		dir := t.TempDir()
		args := append([]string{
			"gmv", "--input", nexmark(t, "bids.ndjson.gz"), "--key_field", "auction", "--amount_field", "price",
			"--output", "counts.ndjson",
		}, hotWindows...)
		c.onFlink(t, dir, maybeStreamed(args, streamed)...)
		same(t, "hot items", answers(t, "hot_items.tsv"), hotItems(readRows[bidsOf](t, dir, "counts.ndjson")))
	})
}

// TestBidAverages averages all bids by auction over the same windows. Each average, sum,
// count and latest time is that of a loop over the file, and the counts answer query 5.
func TestBidAverages(t *testing.T) {
	c := need(t)
	want := averagesOfBids(t)
	modes(t, "all", func(t *testing.T, streamed bool) {
		dir := t.TempDir()
		args := append([]string{
			"average", "--input", nexmark(t, "bids.ndjson.gz"), "--key_field", "auction", "--value_field", "price",
			"--output", "averages.ndjson",
		}, hotWindows...)
		r := c.onFlink(t, dir, maybeStreamed(args, streamed)...)
		const counts = "read=92000 bad=0 assigned=184000 added=184000 late=0"
		if r.summary() != counts {
			t.Errorf("summary %s, want %s", r.summary(), counts)
		}
		rows := readRows[bidsOf](t, dir, "averages.ndjson")
		var got []string
		for _, r := range rows {
			got = append(got, r.line())
		}
		slices.Sort(got)
		same(t, "averages", want, got)
		same(t, "hot items", answers(t, "hot_items.tsv"), hotItems(rows))
	})
}

// line is the row as text.
func (r bidsOf) line() string {
	return fmt.Sprintf("%s\t%d\taverage %v of %v / %d, latest %d\n",
		r.Key, r.End.UnixMilli(), r.Average, r.Sum, r.Count, r.Latest.UnixMilli())
}

// averagesOfBids are the lines of all bids by auction and window, sorted: each bid is in
// the two windows [end - 10 s, end) with multiples of 5 s as ends. Sums are whole numbers
// below 2^53, so that the average is the float64 nearest to the true one.
func averagesOfBids(t *testing.T) (lines []string) {
	t.Helper()
	f, err := os.Open(nexmark(t, "bids.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	type cell struct{ auction, endMs int64 }
	type account struct{ sum, count, latestMs int64 }
	all := map[cell]account{}
	scan := bufio.NewScanner(z)
	for scan.Scan() {
		var b bid
		if err := json.Unmarshal(scan.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		next := b.Time - b.Time%5000 + 5000 // times are not negative
		for _, end := range []int64{next, next + 5000} {
			a := all[cell{b.Auction, end}]
			all[cell{b.Auction, end}] = account{a.sum + b.Price, a.count + 1, max(a.latestMs, b.Time)}
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	for k, a := range all {
		lines = append(lines, bidsOf{
			Key: fmt.Sprint(k.auction), End: time.UnixMilli(k.endMs), Count: a.count, Latest: time.UnixMilli(a.latestMs),
			Average: float64(a.sum) / float64(a.count), Sum: float64(a.sum),
		}.line())
	}
	slices.Sort(lines)
	return lines
}
