package routing

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// TestMemoryOfLayers: what one gate found in time, with a watermark below its
// deadline, is within the memory of the next, at the highest watermark that it
// can meet there.
func TestMemoryOfLayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.Int64Range(-6e12, 9e12).Draw(t, "end")
		cfg := Config{Layered: true, LatenessMs: rapid.Int64Range(0, MaxLateness.Milliseconds()).Draw(t, "lateness")}
		close := end + cfg.LatenessMs
		byDay, byMinute := cfg.layerOf(end), ceilMultiple(close, minute.Milliseconds())
		if byDay < byMinute || byMinute < close {
			t.Fatalf("deadlines of %d: %d by the day, %d by the minute, want none before", close, byDay, byMinute)
		}
		if memory := (day + layerSlack).Milliseconds(); byDay-1 >= byMinute-1+memory {
			t.Fatalf("the layer of minutes forgets %d ms too early", byDay-byMinute-memory)
		}
		for _, stamp := range []int64{end - 1, close - 1} {
			if memory := cfg.memory(); memory < forever && byMinute-1 >= stamp+memory.Milliseconds() {
				t.Fatalf("the exact gates forget %d ms too early", byMinute-1-stamp-memory.Milliseconds())
			}
		}
	})
}

// suspect is an element with its doubtful windows.
type suspect struct {
	id       int
	timeMs   int64
	windows  int // in all
	doubtful []windowfns.Window
}

func (s suspect) raw() []byte { return fmt.Appendf(nil, "element %d", s.id) }

// suspects draws elements, some with windows of the same minute, some with
// windows of several days.
func suspects(t *rapid.T) []suspect {
	var all []suspect
	for i := range rapid.IntRange(1, 8).Draw(t, "elements") {
		s := suspect{id: i, timeMs: rapid.Int64Range(0, 3*day.Milliseconds()).Draw(t, "time")}
		period := rapid.SampledFrom([]int64{1000, 40_000, 3_600_000, 50_000_000}).Draw(t, "period")
		for k := range rapid.Int64Range(1, 4).Draw(t, "probes") {
			end := s.timeMs - s.timeMs%period + (k+1)*period
			s.doubtful = append(s.doubtful, windowfns.Window{StartMs: end - 5*period, EndMs: end})
		}
		s.windows = len(s.doubtful) + rapid.IntRange(0, 1).Draw(t, "surely in time")
		all = append(all, s)
	}
	return all
}

// message is something past a gate's GroupByKey, or past the last gate.
type message struct {
	to   string
	late bool // the timing of the gate's pane
	sent
}

// gates are the gates in the order in which elements meet them.
var gates = []string{"day", "minute", "on time", "corrections"}

// watermarks are those of the gates' GroupByKeys and, with a prime, of the DoFns
// behind them. Each is at most that of the one before, and what waits for a DoFn
// holds its watermark at its stamp, or where it is. Those of the last gates can lag.
type watermarks map[string]int64

func (wm watermarks) advance(source int64, waiting []message, far int) {
	for _, gate := range gates[:far] {
		wm[gate] = max(wm[gate], source)
		source = wm[gate]
		for _, m := range waiting {
			if m.to == gate {
				source = min(source, m.At)
			}
		}
		wm[gate+"'"] = max(wm[gate+"'"], source)
		source = wm[gate+"'"]
	}
}

// meet lets messages that were sent together meet their gate, at once.
func (wm watermarks) meet(t *rapid.T, cfg Config, gate string, all []sent) (out []message) {
	memory := forever
	switch gate {
	case "minute":
		memory = day + layerSlack
	case "on time", "corrections":
		memory = cfg.memory()
	}
	slices.SortFunc(all, func(a, b sent) int { return int(a.At - b.At) })
	for _, s := range all {
		if wm[gate] > s.At+memory.Milliseconds() && slices.Contains(gates, gate) {
			t.Fatalf("the gate %q is at %d and has forgotten %d", gate, wm[gate], s.At)
		}
		out = append(out, message{gate, wm[gate] > s.At, s})
	}
	return out
}

// TestLayers takes elements through all the gates, in any order and with a
// watermark that goes on at any time. Each of their windows comes out once, in
// time or missed, missed ones in one late record that carries the element, none
// is called late before its time, and none meets a gate that has forgotten it.
func TestLayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := suspects(t)
		cfg := Config{Layered: true, Many: true, LatenessMs: rapid.SampledFrom([]int64{0, 1, 90_000}).Draw(t, "lateness")}
		inTime := map[string]int{}
		missed := map[int][]windowfns.Window{}
		source := rapid.Int64Range(0, 4*day.Milliseconds()).Draw(t, "watermark")
		wm := watermarks{}

		wm.advance(source, nil, len(gates)) // what comes is behind it
		waiting := wm.meet(t, cfg, "day", packSuspects(cfg, all))
		c := collector{}
		for len(waiting) > 0 {
			if rapid.Bool().Draw(t, "go on") {
				source += rapid.SampledFrom([]int64{1, 1000, 60_000, 3_600_000, 30_000_000}).Draw(t, "by")
				wm.advance(source, waiting, rapid.IntRange(1, len(gates)).Draw(t, "far"))
			}
			i := rapid.IntRange(0, len(waiting)-1).Draw(t, "next")
			m := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			switch m.to {
			case "collect", "late":
				records := m.B
				if m.to == "collect" {
					var err error
					if records, _, err = c.add(m.B, nil, math.MaxInt64); err != nil {
						t.Fatal(err)
					}
				}
				for _, rec := range unpackLate(t, records) {
					e := find(t, all, &rec)
					if missed[e.id] != nil || rec.All != (len(rec.Missed) == e.windows) {
						t.Fatalf("record %+v of %+v, which has missed %v before", rec, e, missed[e.id])
					}
					missed[e.id] = rec.Missed
					for _, w := range rec.Missed {
						if source < w.EndMs+cfg.LatenessMs {
							t.Fatalf("late for %v at %d", w, source)
						}
					}
				}
			case "pass":
				batch, err := ReadBatch(m.B)
				if err != nil {
					t.Fatal(err)
				}
				for it := (Item{}); batch.Next(&it); {
					inTime[fmt.Sprintf("%s %v", it.Body, batch.Window)]++
				}
			default:
				waiting = append(waiting, through(t, cfg, m, wm)...)
			}
		}
		if len(c) > 0 {
			t.Fatalf("%d elements are not judged", len(c))
		}
		want := map[string]int{}
		for _, e := range all {
			for _, w := range e.doubtful {
				if !slices.Contains(missed[e.id], w) {
					want[fmt.Sprintf("body %d %v", e.id, w)] = 1
				}
			}
		}
		if diff := cmp.Diff(want, inTime, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("in time: mismatch (-want +got):\n%s", diff)
		}
	})
}

// find is the element of a late record.
func find(t *rapid.T, all []suspect, rec *LateRecord) suspect {
	for _, e := range all {
		if string(e.raw()) == string(rec.Raw) && e.timeMs == rec.TimeMs {
			return e
		}
	}
	t.Fatalf("record %+v, want the element in it", rec)
	return suspect{}
}

// packSuspects packs elements as the DoFns in front of the gate do.
func packSuspects(cfg Config, all []suspect) (out []sent) {
	var p Packer
	for _, s := range all {
		it := Item{TimeMs: s.timeMs, Windows: s.windows, Probes: len(s.doubtful), Body: fmt.Appendf(nil, "body %d", s.id)}
		if s.windows > 1 {
			it.Seq = p.NextSeq()
		}
		for i, w := range s.doubtful {
			it.Raw = nil
			if i == 0 || cfg.Part(s.doubtful[i-1], w) {
				it.Raw = s.raw()
			}
			p.Add(int64(s.id%3), w, &it)
		}
	}
	p.FlushSuspects(cfg, into(&out))
	return out
}

// through sends m through the DoFn behind its gate.
func through(t *rapid.T, cfg Config, m message, wm watermarks) []message {
	pane := typex.PaneInfo{Timing: typex.PaneEarly}
	if m.late {
		pane.Timing = typex.PaneLate
	}
	given := false
	next := func(p *[]byte) bool {
		*p, given = m.B, !given
		return given
	}
	var pass, rest, verdict []sent
	var err error
	passTo, restTo := "pass", "late"
	switch m.to {
	case "day":
		passTo = "minute"
		err = (&layerFn{Routing: cfg, NextGrainMs: minute.Milliseconds()}).ProcessElement(pane, m.Shard, next, into(&pass), into(&rest), into(&verdict))
	case "minute":
		passTo = "on time"
		err = (&layerFn{Routing: cfg}).ProcessElement(pane, m.Shard, next, into(&pass), into(&rest), into(&verdict))
	case "on time":
		fn := &splitFn{RestDelayMs: cfg.LatenessMs, Last: cfg.LatenessMs == 0, Final: true, Many: true}
		if !fn.Last {
			restTo = "corrections"
		}
		err = fn.ProcessElement(pane, m.Shard, next, into(&pass), into(&rest), into(&verdict))
	case "corrections":
		fn := &splitFn{PassDelayMs: cfg.LatenessMs, Last: true, Final: true, Many: true}
		err = fn.ProcessElement(pane, m.Shard, next, into(&pass), into(&rest), into(&verdict))
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(wm.meet(t, cfg, passTo, pass), wm.meet(t, cfg, restTo, rest), wm.meet(t, cfg, "collect", verdict))
}

// TestParcelsCutShort cuts parcels anywhere: that is an error, not a panic.
func TestParcelsCutShort(t *testing.T) {
	p := parcels{}
	for shard := range int64(2) {
		b := appendHeader(nil, windowfns.Window{StartMs: 0, EndMs: 10}, 7)
		p.add(20, shard, appendItem(b, &Item{TimeMs: 5, Seq: 1, Probes: 2, Windows: 2, Raw: []byte("raw")}))
	}
	var out []sent
	p.emit(into(&out))
	if len(out) != 1 || out[0].At != 19 || out[0].Shard != parcelKey {
		t.Fatalf("%+v, want one parcel at 19", out)
	}
	whole := out[0].B
	for cut := range whole {
		for name, err := range map[string]error{
			"regroup": parcels{}.regroup(whole[:cut], Config{Many: true}, 1),
			"refuse":  refuse(whole[:cut], into(&out), into(&out)),
		} {
			if (err == nil) != (cut == 0 || cut == len(whole)/2) {
				t.Errorf("%s: cut at %d of %d: %v", name, cut, len(whole), err)
			}
		}
	}
}

// Copies part where a coarse gate rounds their deadlines up to different ones,
// or lets each through by itself.
func TestPart(t *testing.T) {
	at := func(end int64) windowfns.Window { return windowfns.Window{StartMs: end - 10, EndMs: end} }
	const d = 86_400_000
	for _, c := range []struct {
		cfg  Config
		a, b int64
		want bool
	}{
		{Config{}, 5, 3 * d, false},
		{Config{RetentionMs: 1}, 5, 6, true},
		{Config{Layered: true}, 1, d, false},
		{Config{Layered: true}, d, d + 1, true},
		{Config{Layered: true, LatenessMs: 1}, d - 1, d, true},
	} {
		if got := c.cfg.Part(at(c.a), at(c.b)); got != c.want {
			t.Errorf("%+v: copies for %d and %d part: %v, want %v", c.cfg, c.a, c.b, got, c.want)
		}
	}
}
