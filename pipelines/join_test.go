package pipelines

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	gocmp "github.com/google/go-cmp/cmp"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/internal/casefile"
	"tidemark/internal/tally"
	"tidemark/joins"
	"tidemark/testing/oracle"
)

// runJoin runs j, as the command line does.
func runJoin(t *testing.T, j Join) outcome {
	t.Helper()
	src := Source{MaxRecordBytes: 1 << 20}
	j.MaxRecordBytes = src.MaxRecordBytes
	return runInto(t, &src, &j.Outputs, func(s beam.Scope) error { return j.Build(s) })
}

// sideOfLines is a side that reads lines.
func sideOfLines(t *testing.T, key string, lines [][]byte) Side {
	t.Helper()
	f := files.File{Path: filepath.Join(t.TempDir(), "in.ndjson"), Name: "in.ndjson"}
	if err := os.WriteFile(f.Path, append(bytes.Join(lines, []byte("\n")), '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	return Side{Fields: records.Fields{Key: []string{key}, Time: "time", TimeUnit: "ms"}, Files: []files.File{f}}
}

// TestWinningBids joins auctions with bids: the pairs are those of a loop, to the
// byte, and the winners those of Nexmark.
func TestWinningBids(t *testing.T) {
	auctions, bids, want := fewAuctions(t)
	const lower, upper = -24 * time.Hour, 10 * time.Minute
	var pairs []string
	for _, p := range loopJoin(auctions, bids, lower, upper) {
		later := records.FormatTime(max(p.Left.Time, p.Right.Time))
		pairs = append(pairs, fmt.Sprintf(`{"key":"%d","left":%s,"right":%s,"time":%q}`, p.Left.Auction, p.Left.raw, p.Right.raw, later))
	}
	slices.Sort(pairs)
	inOrder := slices.Clone(bids)
	slices.SortStableFunc(inOrder, func(a, b bid) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(auctions, func(a, b auction) int { return cmp.Compare(a.Time, b.Time) })
	for _, c := range []struct {
		name   string
		bids   []bid
		stream *files.PairConfig
	}{
		{"batch", shuffled(bids, 1, false), nil},
		{"stream", inOrder, &files.PairConfig{BundleBytes: 100_000}},
		{"stream out of order", shuffled(bids, 2, false), &files.PairConfig{MaxOutOfOrderness: disorder, BundleBytes: 10_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines [2][][]byte
			for _, a := range auctions {
				lines[0] = append(lines[0], a.raw)
			}
			for _, b := range c.bids {
				lines[1] = append(lines[1], b.raw)
			}
			j := Join{Config: joins.Config{Lower: lower, Upper: upper}}
			j.Left, j.Right = sideOfLines(t, "auction", lines[0]), sideOfLines(t, "auction", lines[1])
			j.Stream = c.stream
			out := runJoin(t, j)
			if diff := gocmp.Diff(want, winners(parseBiddables(t, out.rows))); diff != "" {
				t.Errorf("winners: mismatch (-want +got):\n%s", diff)
			}
			slices.Sort(out.rows)
			if diff := gocmp.Diff(pairs, out.rows); diff != "" {
				t.Errorf("pairs: mismatch (-want +got):\n%s", diff)
			}
			n := int64(len(auctions) + len(bids))
			out.wantCounts(t, n, n, n, 0)
		})
	}
}

// readInStep is what a stream of two files hands to a join: the records of both
// sides, the one with the lower watermark first, the left one where they are equal,
// and in front of each the watermark that counts, the lower one of the sides that
// have not ended.
func readInStep(left, right []oracle.JoinElement, disorderMs int64) (steps []oracle.JoinStep) {
	const none = math.MinInt64
	marks, joint := [2]int64{none, none}, int64(none)
	for len(left)+len(right) > 0 {
		if joint > none {
			steps = append(steps, oracle.JoinWatermark(joint))
		}
		var e oracle.JoinElement
		if len(left) > 0 && (len(right) == 0 || marks[0] <= marks[1]) {
			e, left = left[0], left[1:]
			marks[0] = max(marks[0], e.TimeMs-disorderMs)
			steps = append(steps, oracle.Left(e))
		} else {
			e, right = right[0], right[1:]
			marks[1] = max(marks[1], e.TimeMs-disorderMs)
			steps = append(steps, oracle.Right(e))
		}
		low := int64(math.MaxInt64)
		if len(left) > 0 {
			low = marks[0]
		}
		if len(right) > 0 {
			low = min(low, marks[1])
		}
		if low < math.MaxInt64 {
			joint = max(joint, low)
		}
	}
	return steps
}

// randomSide is n records of two keys, which go on in time, with stragglers.
func randomSide(random *rand.Rand, side string, n int) (elements []oracle.JoinElement, lines [][]byte) {
	at := int64(-500)
	for i := range n {
		at += random.Int64N(20)
		e := oracle.JoinElement{Key: string("ab"[random.IntN(2)]), ID: fmt.Sprintf("%s%d", side, i), TimeMs: at - random.Int64N(10)}
		if i%10 == 5 {
			e.TimeMs -= random.Int64N(300)
		}
		elements = append(elements, e)
		lines = append(lines, fmt.Appendf(nil, `{"id":%q,"key":%q,"time":%d}`, e.ID, e.Key, e.TimeMs))
	}
	return elements, lines
}

// TestJoinRandom joins random files in batch and as a stream: rows and late records
// are those of the oracle. Of a stream, too: which records are late depends on the
// files alone, whatever the bundles and shards.
func TestJoinRandom(t *testing.T) {
	for n, kind := range oracle.JoinTypes {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		left, leftLines := randomSide(random, "l", 60)
		right, rightLines := randomSide(random, "r", 60)
		lower := random.Int64N(60) - 40
		cfg := oracle.JoinConfig{
			LowerMs: lower, UpperMs: lower + 2 + random.Int64N(40), ExclusiveLower: n%2 == 0, ExclusiveUpper: n%3 == 0,
			Type: kind, LatenessMs: []int64{0, 50}[n%2],
		}
		var complete []oracle.JoinStep
		for _, e := range left {
			complete = append(complete, oracle.Left(e))
		}
		for _, e := range right {
			complete = append(complete, oracle.Right(e))
		}
		const disorderMs = 10
		streamed := cfg.Play(readInStep(left, right, disorderMs))
		if len(streamed.Late) == 0 {
			t.Errorf("%s: nothing is late, the stream tests too little", kind)
		}
		for _, c := range []struct {
			bundleBytes int64
			shards      int
			want        oracle.JoinResult
		}{{0, 4, cfg.Play(complete)}, {100, 1, streamed}, {1_000, 3, streamed}, {1 << 20, 64, streamed}} {
			t.Run(fmt.Sprintf("%s, bundles of %d bytes", kind, c.bundleBytes), func(t *testing.T) {
				ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
				j := Join{Config: joins.Config{
					Lower: ms(cfg.LowerMs), Upper: ms(cfg.UpperMs), ExclusiveLower: cfg.ExclusiveLower, ExclusiveUpper: cfg.ExclusiveUpper,
					Type: joins.Type(kind), AllowedLateness: ms(cfg.LatenessMs), Shards: c.shards,
				}}
				j.Left, j.Right = sideOfLines(t, "key", leftLines), sideOfLines(t, "key", rightLines)
				if c.bundleBytes > 0 {
					j.Stream = &files.PairConfig{MaxOutOfOrderness: ms(disorderMs), BundleBytes: c.bundleBytes}
				}
				compareJoin(t, kind, c.want, runJoin(t, j))
			})
		}
	}
}

// compareJoin compares rows, late records and counts. The time of a left semi row
// is up to the order of arrival.
func compareJoin(t *testing.T, kind string, want oracle.JoinResult, out outcome) {
	t.Helper()
	var c casefile.JoinCase
	rows, err := c.Rows(out.rows)
	if err != nil {
		t.Fatal(err)
	}
	late, err := c.Lates(out.late)
	if err != nil {
		t.Fatal(err)
	}
	var wantRows, wantLate []string
	for _, line := range c.Lines(want) {
		text, _, _ := strings.Cut(line, " @")
		if strings.HasPrefix(text, "late ") {
			wantLate = append(wantLate, text)
		} else {
			wantRows = append(wantRows, text)
		}
	}
	slices.Sort(wantRows)
	slices.Sort(wantLate)
	if kind == string(joins.LeftSemi) {
		rows, wantRows = untimed(rows), untimed(wantRows)
	}
	if diff := gocmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("rows: mismatch (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(wantLate, late); diff != "" {
		t.Errorf("late: mismatch (-want +got):\n%s", diff)
	}
	counts := map[tally.Kind]int64{
		tally.LeftAssigned: want.Left.Assigned, tally.LeftJoined: want.Left.Joined, tally.LeftUnmatched: want.Left.Unmatched, tally.LeftLate: want.Left.Late,
		tally.RightAssigned: want.Right.Assigned, tally.RightLate: want.Right.Late,
	}
	if kind != string(joins.LeftSemi) && kind != string(joins.LeftAnti) { // see oracle.JoinCounts
		counts[tally.RightJoined], counts[tally.RightUnmatched] = want.Right.Joined, want.Right.Unmatched
	}
	for kind, n := range counts {
		if got := out.counts.Get(kind); got != n {
			t.Errorf("%s = %d, want %d", tally.Names[kind], got, n)
		}
	}
}

func untimed(rows []string) (out []string) {
	for _, r := range rows {
		out = append(out, r[:strings.LastIndexByte(r, ' ')])
	}
	slices.Sort(out)
	return out
}
