package pipelines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/timeline"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/windowfns"
)

const bidsPath = "testdata/nexmark/bids.ndjson"

var bidFields = records.Fields{Key: []string{"auction"}, Time: "time", TimeUnit: "ms", Amount: "price"}

// bid is a line of the file.
type bid struct {
	Auction int64
	Price   int64
	Time    int64
	raw     []byte
}

func (b bid) element() *oracle.Element {
	return &oracle.Element{Key: fmt.Sprint(b.Auction), Minor: b.Price, TimeMs: b.Time}
}

func readBids(t *testing.T) []bid {
	t.Helper()
	text, err := os.ReadFile(bidsPath)
	if err != nil {
		t.Fatal(err)
	}
	var bids []bid
	for line := range bytes.Lines(text) {
		b := bid{raw: bytes.TrimSpace(line)}
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatal(err)
		}
		bids = append(bids, b)
	}
	if len(bids) != 3067 {
		t.Fatalf("%d bids, want 3067", len(bids))
	}
	return bids
}

// TestNexmark sums bids by auction and compares each sum, count and latest time
// with those of a loop over the file.
func TestNexmark(t *testing.T) {
	bids := readBids(t)
	for _, size := range []time.Duration{10 * time.Second, time.Second} {
		t.Run(size.String(), func(t *testing.T) {
			type cell struct {
				auction string
				start   int64
			}
			want := map[cell]oracle.Row{}
			for _, b := range bids {
				c := cell{fmt.Sprint(b.Auction), b.Time - b.Time%size.Milliseconds()}
				r := want[c]
				r.Minor += b.Price
				r.Count++
				if r.MaxTimeMs == nil || *r.MaxTimeMs < b.Time {
					r.MaxTimeMs = new(b.Time)
				}
				want[c] = r
			}
			var rows []oracle.Row
			for c, r := range want {
				r.Key, r.StartMs, r.EndMs, r.Pane = c.auction, c.start, c.start+size.Milliseconds(), "ON_TIME"
				rows = append(rows, r)
			}

			g := GMV{Source: Source{Fields: bidFields, Files: []files.File{{Path: bidsPath, Name: "bids"}}}}
			g.Config.Windows = windowfns.Tumbling{Size: size}
			out := run(t, g)
			if diff := streamtest.Diff(rows, parseRows(t, out.rows)); diff != "" {
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
