//go:build flink

package flink

import (
	"cmp"
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

// TestHotItems answers Nexmark's query 5 with the counts of sliding windows: the
// auctions with the most bids in each.
func TestHotItems(t *testing.T) {
	c := need(t)
	modes(t, "all", func(t *testing.T, streamed bool) {
		dir := t.TempDir()
		c.onFlink(t, dir, maybeStreamed([]string{
			"gmv", "--input", nexmark(t, "bids.ndjson.gz"), "--key_field", "auction", "--amount_field", "price",
			"--window", "10s", "--every", "5s", "--output", "counts.ndjson",
		}, streamed)...)
		most := map[int64]int64{}
		type count struct {
			Key   string
			End   time.Time `json:"window_end"`
			Count int64
		}
		counts := readRows[count](t, dir, "counts.ndjson")
		for _, r := range counts {
			most[r.End.UnixMilli()] = max(most[r.End.UnixMilli()], r.Count)
		}
		var got []string
		for _, r := range counts {
			if end := r.End.UnixMilli(); r.Count == most[end] {
				got = append(got, fmt.Sprintf("%d\t%s\t%d\n", end, r.Key, r.Count))
			}
		}
		slices.Sort(got)
		same(t, "hot items", answers(t, "hot_items.tsv"), got)
	})
}
