package pipelines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// auction is a line of auctions.ndjson.gz.
type auction struct {
	Auction int64
	Reserve int64
	Expires int64
	Time    int64
	raw     []byte
}

// biddable is a pair of an auction and a bid for it.
type biddable struct {
	Left  auction
	Right bid
}

// winner is a line of winning_bids.tsv.
type winner struct {
	Auction, Bidder, Price, Time int64
}

var auctionsOnce = sync.OnceValues(func() (auctions []auction, err error) {
	lines, err := nexmarkLines("auctions.ndjson.gz")
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		a := auction{raw: line}
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		auctions = append(auctions, a)
	}
	return auctions, nil
})

// readAuctions returns a copy of all auctions.
func readAuctions(t *testing.T) []auction {
	t.Helper()
	auctions, err := auctionsOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(auctions) != 6_000 {
		t.Fatalf("%d auctions, want 6000", len(auctions))
	}
	return slices.Clone(auctions)
}

// readWinners returns the winning bids, by auction.
func readWinners(t *testing.T) (all []winner) {
	t.Helper()
	text, err := os.ReadFile("testdata/nexmark/winning_bids.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines[1:] {
		var w winner
		if _, err := fmt.Sscan(line, &w.Auction, &w.Bidder, &w.Price, &w.Time); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, w)
	}
	slices.SortFunc(all, byAuction)
	return all
}

func byAuction(a, b winner) int { return cmp.Compare(a.Auction, b.Auction) }

// parseBiddables reads rows of an inner join of auctions and bids, one JSON object
// each, with members left and right.
func parseBiddables(t *testing.T, rows []string) (pairs []biddable) {
	t.Helper()
	for _, row := range rows {
		var p biddable
		if err := json.Unmarshal([]byte(row), &p); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// winners is the winning bids of pairs, by auction: of the bids that are not below
// the reserve and in front of the expiry, the highest, of equal ones the earliest.
func winners(pairs []biddable) (all []winner) {
	best := map[int64]winner{}
	for _, p := range pairs {
		if p.Right.Price < p.Left.Reserve || p.Right.Time >= p.Left.Expires {
			continue
		}
		w, taken := best[p.Left.Auction]
		if !taken || p.Right.Price > w.Price || p.Right.Price == w.Price && p.Right.Time < w.Time {
			best[p.Left.Auction] = winner{p.Right.Auction, p.Right.Bidder, p.Right.Price, p.Right.Time}
		}
	}
	for _, w := range best {
		all = append(all, w)
	}
	slices.SortFunc(all, byAuction)
	return all
}

// loopJoin is the pairs in which the bid is from lower to upper after its auction,
// both included.
func loopJoin(auctions []auction, bids []bid, lower, upper time.Duration) (pairs []biddable) {
	byNumber := map[int64]auction{}
	for _, a := range auctions {
		byNumber[a.Auction] = a
	}
	for _, b := range bids {
		a, ok := byNumber[b.Auction]
		if d := b.Time - a.Time; ok && lower.Milliseconds() <= d && d <= upper.Milliseconds() {
			pairs = append(pairs, biddable{a, b})
		}
	}
	return pairs
}

// fewAuctions returns every 40th auction with all of its bids, every 50th of the
// other bids, which have no auction then, and the winners. Those auctions
// that have hundreds of bids are not among them.
func fewAuctions(t *testing.T) (auctions []auction, bids []bid, want []winner) {
	t.Helper()
	few := map[int64]bool{}
	for chunk := range slices.Chunk(readAuctions(t), 40) {
		auctions = append(auctions, chunk[1])
		few[chunk[1].Auction] = true
	}
	for i, b := range readAllBids(t) {
		if few[b.Auction] || i%50 == 0 {
			bids = append(bids, b)
		}
	}
	want = slices.DeleteFunc(readWinners(t), func(w winner) bool { return !few[w.Auction] })
	return auctions, bids, want
}

// TestWinners joins by a loop, so that tests of pipelines can rely on the files and
// on winners.
func TestWinners(t *testing.T) {
	auctions, bids := readAuctions(t), readAllBids(t)
	pairs := loopJoin(auctions, bids, -24*time.Hour, time.Hour)
	if len(pairs) != 92_000 {
		t.Errorf("%d pairs, want each of 92000 bids", len(pairs))
	}
	want := readWinners(t)
	if len(want) != 3_121 {
		t.Errorf("%d winners, want 3121", len(want))
	}
	if diff := gocmp.Diff(want, winners(pairs)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	// 3,977 bids come before their auction.
	if n := len(loopJoin(auctions, bids, 0, time.Hour)); n != 88_023 {
		t.Errorf("%d pairs of bids that are not before their auction, want 88023", n)
	}

	auctions, bids, want = fewAuctions(t)
	pairs = loopJoin(auctions, bids, -24*time.Hour, time.Hour)
	if n := [...]int{len(auctions), len(bids), len(pairs), len(want)}; n != [...]int{150, 2_901, 1_082, 82} {
		t.Errorf("%d auctions, bids, pairs and winners", n)
	}
	if diff := gocmp.Diff(want, winners(pairs)); diff != "" {
		t.Errorf("few: mismatch (-want +got):\n%s", diff)
	}
}

// TestWinnerEdges is the rule at its edges, from rows of the command.
func TestWinnerEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		bids []bid
		want []winner
	}{
		{"none", nil, nil},
		{"at the reserve", []bid{{Bidder: 7, Price: 100, Time: 49}}, []winner{{1, 7, 100, 49}}},
		{"below it", []bid{{Bidder: 7, Price: 99, Time: 49}}, nil},
		{"at the expiry", []bid{{Bidder: 7, Price: 100, Time: 50}}, nil},
		{"equal prices", []bid{{Bidder: 7, Price: 200, Time: 9}, {Bidder: 8, Price: 200, Time: 8}}, []winner{{1, 8, 200, 8}}},
	} {
		var rows []string
		for _, b := range c.bids {
			rows = append(rows, fmt.Sprintf(`{"key":"1","left":{"auction":1,"reserve":100,"expires":50,"time":0},`+
				`"right":{"auction":1,"bidder":%d,"price":%d,"time":%d},"time":"1970-01-01T00:00:00.050Z"}`, b.Bidder, b.Price, b.Time))
		}
		if diff := gocmp.Diff(c.want, winners(parseBiddables(t, rows))); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.name, diff)
		}
	}
}
