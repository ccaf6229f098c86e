package pipelines

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/windowfns"
)

var bidFields = records.Fields{Key: []string{"auction"}, Time: "time", TimeUnit: "ms", Amount: "price"}

// bid is a line of the file.
type bid struct {
	Auction int64
	Bidder  int64
	Price   int64
	Time    int64
	raw     []byte
}

func (b bid) element() *oracle.Element {
	return &oracle.Element{Key: fmt.Sprint(b.Auction), Minor: b.Price, TimeMs: b.Time}
}

// nexmarkLines is the lines of a compressed file of testdata/nexmark.
func nexmarkLines(name string) ([][]byte, error) {
	f, err := os.Open("testdata/nexmark/" + name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// bidsOnce reads the file once, for all tests.
var bidsOnce = sync.OnceValues(func() (bids []bid, err error) {
	lines, err := nexmarkLines("bids.ndjson.gz")
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		b := bid{raw: line}
		if err := json.Unmarshal(line, &b); err != nil {
			return nil, err
		}
		bids = append(bids, b)
	}
	return bids, nil
})

// readAllBids returns a copy of all bids.
func readAllBids(t *testing.T) []bid {
	t.Helper()
	bids, err := bidsOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(bids) != 92_000 {
		t.Fatalf("%d bids, want 92000", len(bids))
	}
	return slices.Clone(bids)
}

// readBids returns every 30th bid.
func readBids(t *testing.T) (bids []bid) {
	t.Helper()
	for chunk := range slices.Chunk(readAllBids(t), 30) {
		bids = append(bids, chunk[0])
	}
	return bids
}

// store writes bids to a file.
func store(t *testing.T, bids []bid, compressed bool) files.File {
	t.Helper()
	var b bytes.Buffer
	for _, bid := range bids {
		b.Write(bid.raw)
		b.WriteByte('\n')
	}
	file := files.File{Path: filepath.Join(t.TempDir(), "bids"), Name: "bids", Gzip: compressed}
	if compressed {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := b.WriteTo(z); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		b = packed
	}
	if err := os.WriteFile(file.Path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// cellOf names a key and window.
type cellOf struct {
	key string
	windowfns.Window
}

// account is what came out for one key and window.
type account struct {
	sum, count, latest int64
}

// add adds b to the account of each of windows.
func (b bid) add(to map[cellOf]account, windows ...windowfns.Window) {
	for _, w := range windows {
		c := cellOf{fmt.Sprint(b.Auction), w}
		a, again := to[c]
		if !again {
			a.latest = b.Time
		}
		to[c] = account{a.sum + b.Price, a.count + 1, max(a.latest, b.Time)}
	}
}

// onTimeRows are the rows of bids in windows of which none is late.
func onTimeRows(bids []bid, windows windowfns.Fn) (rows []oracle.Row) {
	accounts := map[cellOf]account{}
	for _, b := range bids {
		b.add(accounts, windows.AppendWindows(nil, b.Time)...)
	}
	for c, a := range accounts {
		rows = append(rows, oracle.Row{
			Key: c.key, StartMs: c.StartMs, EndMs: c.EndMs, Pane: "ON_TIME",
			Minor: a.sum, Count: a.count, MaxTimeMs: new(a.latest),
		})
	}
	return rows
}

// TestNexmark sums bids by auction and compares each sum, count and latest time
// with those of a loop over the file.
func TestNexmark(t *testing.T) {
	bids := readBids(t)
	for _, size := range []time.Duration{10 * time.Second, time.Second} {
		t.Run(size.String(), func(t *testing.T) {
			g := GMV{Source: Source{Fields: bidFields, Files: []files.File{store(t, bids, false)}}}
			g.Config.Windows = windowfns.Tumbling{Size: size}
			out := run(t, g)
			if diff := streamtest.Diff(onTimeRows(bids, g.Config.Windows), parseRows(t, out.rows)); diff != "" {
				t.Error(diff)
			}
			if len(out.late)+len(out.bad) > 0 {
				t.Errorf("late records %q, bad records %q", out.late, out.bad)
			}
			n := int64(len(bids))
			out.wantCounts(t, n, n, n, 0)
		})
	}
}

// disorder is how far bids of a stream are apart from the order of their times.
const disorder = 500 * time.Millisecond

// streamed puts bids in an order in which they could arrive: each within the
// disorder, apart from one in fifty that comes up to 6 s late. Behind each bid
// stands the watermark: the latest time so far, less the disorder, so that the
// others are never behind it.
func streamed(bids []bid, seed uint64) (steps []timeline.Step, script []oracle.Step) {
	random := rand.New(rand.NewPCG(seed, 0))
	type arrival struct {
		bid
		at int64
	}
	var arrivals []arrival
	for i, b := range bids {
		at := b.Time + random.Int64N(disorder.Milliseconds())
		if i%50 == 25 {
			at += 1000 + random.Int64N(5000)
		}
		arrivals = append(arrivals, arrival{b, at})
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	latest := int64(0)
	for _, a := range arrivals {
		latest = max(latest, a.Time)
		watermark := latest - disorder.Milliseconds()
		steps = append(steps,
			timeline.Step{Number: len(steps) + 1, Kind: timeline.Event, Event: a.raw},
			timeline.Step{Number: len(steps) + 2, Kind: timeline.Watermark, WatermarkMs: watermark})
		script = append(script, oracle.Step{Element: a.element()}, oracle.Watermark(watermark))
	}
	return steps, script
}

// TestNexmarkTimeline plays bids as a stream, and compares everything that comes
// out with what the oracle says.
func TestNexmarkTimeline(t *testing.T) {
	for i, c := range []struct {
		windows  windowfns.Fn
		lateness time.Duration
		count    int
		seed     uint64
	}{
		{windowfns.Tumbling{Size: time.Second}, 0, 300, 0},
		{windowfns.Tumbling{Size: time.Second, Offset: 250 * time.Millisecond}, 2 * time.Second, 200, 1},
		{windowfns.Sliding{Size: 2 * time.Second, Period: time.Second}, 1500 * time.Millisecond, 150, 1},
	} {
		t.Run(fmt.Sprint(c.windows, ", lateness ", c.lateness), func(t *testing.T) {
			bids := readBids(t)[i*1000:][:c.count]
			steps, script := streamed(bids, c.seed)
			want := oracle.Play(c.windows, c.lateness.Milliseconds(), script)

			g := GMV{Source: Source{Fields: bidFields, Timeline: steps, Script: "script"}}
			g.Config.Windows, g.Config.AllowedLateness, g.Config.Shards = c.windows, c.lateness, 1
			out := run(t, g)
			if diff := streamtest.Diff(want.Rows, parseRows(t, out.rows)); diff != "" {
				t.Errorf("rows: %s", diff)
			}
			if diff := streamtest.Diff(lateRecords(script, steps, want.Late), parseLate(t, out.late)); diff != "" {
				t.Errorf("late records: %s", diff)
			}
			if len(out.bad) > 0 {
				t.Errorf("bad records %q", out.bad)
			}
			out.wantCounts(t, int64(c.count), want.Assigned, want.Added, want.Missed)
			if want.Missed == 0 || c.lateness > 0 && want.Corrected == 0 {
				t.Errorf("late %d, corrected %d: the stream tests too little", want.Missed, want.Corrected)
			}
		})
	}
}

// lateRecords is what the late output has to say of late elements, which are in
// the order of the script.
func lateRecords(script []oracle.Step, steps []timeline.Step, late []oracle.Late) []lateRecord {
	var want []lateRecord
	for i, st := range script {
		if st.Element == nil || len(late) == 0 || *st.Element != late[0].Element {
			continue
		}
		want = append(want, lateRecord{
			Event: string(steps[i].Event), TimeMs: st.Element.TimeMs,
			Missed: late[0].Missed, All: late[0].All, Position: int64(steps[i].Number),
		})
		late = late[1:]
	}
	return want
}
