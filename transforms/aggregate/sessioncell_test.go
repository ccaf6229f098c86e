package aggregate

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// chunks adds up money in chunks of 2^60, of which an int64 has 16. It merges in
// place.
type chunks struct{}

func chunksOf(e oracle.Element) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(e.Minor>>60))
	b = binary.BigEndian.AppendUint64(b, 1)
	return binary.BigEndian.AppendUint64(b, uint64(e.TimeMs))
}

func (chunks) at(acc []byte, i int) int64 { return int64(binary.BigEndian.Uint64(acc[8*i:])) }

func (chunks) Lift(any, int64, []byte, []byte) ([]byte, []byte, error) {
	return nil, nil, errors.ErrUnsupported
}

func (a chunks) Merge(dst, src []byte) ([]byte, error) {
	for i, v := range []int64{a.at(dst, 0) + a.at(src, 0), a.at(dst, 1) + a.at(src, 1), max(a.at(dst, 2), a.at(src, 2))} {
		binary.BigEndian.PutUint64(dst[8*i:], uint64(v))
	}
	return dst, nil
}

func (a chunks) Check(acc []byte) error {
	if n := a.at(acc, 0); n < -8 || n > 7 {
		return errors.New("overflow")
	}
	return nil
}

// sessionOut gathers what a cell shows as the oracle has it.
type sessionOut struct {
	rows      []oracle.Row
	overflows []oracle.Overflow
	totals    [][2][]byte // those of rows, and what they were then
}

func (o *sessionOut) row(r *Row) error {
	row := oracle.Row{Key: r.Key, StartMs: r.StartMs, EndMs: r.EndMs, Pane: string(r.Pane), Revision: r.Revision}
	if len(r.Total) > 0 {
		row.Minor, row.Count, row.MaxTimeMs = chunks{}.at(r.Total, 0)<<60, chunks{}.at(r.Total, 1), new(chunks{}.at(r.Total, 2))
	}
	if r.Revision > 0 {
		row.PreviousMinor, row.PreviousCount = new(int64), new(int64)
	}
	if len(r.Previous) > 0 {
		row.PreviousMinor, row.PreviousCount = new(chunks{}.at(r.Previous, 0)<<60), new(chunks{}.at(r.Previous, 1))
	}
	o.rows = append(o.rows, row)
	o.totals = append(o.totals, [2][]byte{r.Total, slices.Clone(r.Total)}, [2][]byte{r.Previous, slices.Clone(r.Previous)})
	return nil
}

func (o *sessionOut) unshown(u *Unshown) {
	o.overflows = append(o.overflows, oracle.Overflow{Key: u.Key, StartMs: u.StartMs, EndMs: u.EndMs, Pane: string(u.Pane), Count: chunks{}.at(u.Total, 1)})
}

// sessionPlay plays a script on a cell as a runner does on the fold, and loses the
// cell now and then, so that it has to be read again.
type sessionPlay struct {
	t     *testing.T
	rng   *rand.Rand
	cfg   oracle.Config
	gapMs int64
	cell  *sessionCell
	out   sessionOut

	log       [][]byte
	watermark int64
	clock     time.Duration
	notices   []sessionNotice
}

type sessionNotice struct {
	at    time.Duration
	entry []byte
	id    uint64
}

func (p *sessionPlay) latenessMs() int64 { return p.cfg.AllowedLateness.Milliseconds() }

func (p *sessionPlay) fresh() *sessionCell {
	return newSessionCell(rules{
		agg: chunks{}, latenessMs: p.latenessMs(), final: p.cfg.FinalRows,
		early: p.cfg.EarlyCount > 0 || p.cfg.EarlyDelay > 0, earlyCount: int64(p.cfg.EarlyCount),
	}, p.gapMs)
}

func (p *sessionPlay) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// save logs the cell, and reads it again sometimes.
func (p *sessionPlay) save() {
	if p.rng.IntN(8) == 0 {
		p.log = [][]byte{compact(p.cell)}
	} else {
		p.log = append(p.log, appendRecord(nil, logState, p.cell.appendState(nil, false)))
	}
	if p.rng.IntN(3) == 0 {
		p.reload()
	}
}

func (p *sessionPlay) reload() {
	want := string(compact(p.cell))
	p.cell = p.fresh()
	log := make([][]byte, len(p.log))
	for i, part := range p.log {
		log[i] = slices.Clone(part) // what is read is changed
	}
	_, err := replay(p.cell, log)
	p.ok(err)
	if got := string(compact(p.cell)); got != want {
		p.t.Fatalf("the cell that was read is\n%q, want\n%q", got, want)
	}
}

func (p *sessionPlay) take(kind byte, id uint64, entries []byte) {
	first := int64(0)
	p.ok(p.cell.take(header{kind: kind, firstMs: first, lastMs: first, id: id}, slices.Clone(entries), false))
	p.ok(p.cell.settle(noWatermark, &p.out))
	p.due()
	p.save()
}

// due brings the timers that are due.
func (p *sessionPlay) due() {
	for {
		next := p.cell.deadlines(nil, 1+p.rng.IntN(3))
		if len(next) == 0 || next[0] > p.watermark {
			return
		}
		p.ok(p.cell.settle(next[0], &p.out))
		p.save()
	}
}

// advance moves the watermark. Where the log may lag behind the timers, it does.
func (p *sessionPlay) advance(ms int64) {
	p.watermark = max(p.watermark, ms)
	if p.latenessMs() > 0 || p.cfg.EarlyCount > 0 || p.cfg.EarlyDelay > 0 {
		p.due()
		return
	}
	at := p.cell.deadlines(nil, 100)
	for i, ms := range at {
		if ms > p.watermark {
			break
		}
		if i > 0 && p.rng.IntN(2) == 0 {
			p.cell = p.fresh()
			_, err := replay(p.cell, p.log)
			p.ok(err)
			p.ok(p.cell.settle(min(at[len(at)-1], ms-1), nowhere{}))
		}
		p.ok(p.cell.settle(ms, &p.out))
	}
	p.due()
	p.save()
}

func (p *sessionPlay) element(e oracle.Element) {
	end := e.TimeMs + p.gapMs
	kind := byte(blockOnTime)
	switch {
	case p.watermark >= end+p.latenessMs():
		return
	case p.watermark >= end:
		kind = blockCorrection
	}
	id := uint64(0)
	if p.cfg.EarlyDelay > 0 {
		id = p.rng.Uint64() | 1
		show := appendStretch(nil, e.Key, stretch{startMs: e.TimeMs, endMs: end})
		p.notices = append(p.notices, sessionNotice{p.clock + p.cfg.EarlyDelay, show, id})
	}
	p.take(kind, id, appendStretch(nil, e.Key, stretch{e.TimeMs, end, 1, chunksOf(e)}))
}

func (p *sessionPlay) run(steps []oracle.Step) {
	p.watermark = noWatermark
	p.cell = p.fresh()
	for _, st := range steps {
		switch {
		case st.Element != nil:
			p.element(*st.Element)
		case st.Elapsed > 0:
			p.clock += st.Elapsed
			for len(p.notices) > 0 && p.notices[0].at <= p.clock {
				n := p.notices[0]
				p.notices = p.notices[1:]
				p.take(blockShow, n.id, n.entry)
			}
		default:
			p.advance(st.WatermarkMs)
		}
	}
	p.advance(1 << 50)
	if !p.cell.empty() {
		p.t.Errorf("there is something left in the cell")
	}
	for _, pair := range p.out.totals {
		if string(pair[0]) != string(pair[1]) {
			p.t.Fatalf("a total has changed after it was shown: %x, want %x", pair[0], pair[1])
		}
	}
}

func byRow(a, b oracle.Row) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.StartMs, b.StartMs), cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.Revision, b.Revision))
}

func byOverflow(a, b oracle.Overflow) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.StartMs, b.StartMs), cmp.Compare(a.EndMs, b.EndMs), cmp.Compare(a.Count, b.Count))
}

func randomSessions(rng *rand.Rand) (cfg oracle.Config, steps []oracle.Step) {
	some := func(most int) time.Duration { return time.Duration(rng.IntN(most+1)*rng.IntN(2)) * time.Millisecond }
	cfg = oracle.Config{
		Windows: windowfns.Session{Gap: time.Duration(1+rng.IntN(20)) * time.Millisecond}, AllowedLateness: some(30),
		EarlyCount: rng.IntN(4) * rng.IntN(2), EarlyDelay: some(10), FinalRows: rng.IntN(2) == 0,
	}
	if cfg.EarlyCount > 0 && cfg.EarlyDelay > 0 {
		cfg.EarlyDelay = 0 // see TestPanesRandom of package gmv
	}
	wm := int64(rng.IntN(100) - 50)
	for range rng.IntN(60) {
		switch rng.IntN(8) {
		case 0, 1:
			wm += int64(rng.IntN(25))
			steps = append(steps, oracle.Watermark(wm))
		case 2:
			steps = append(steps, oracle.Elapse(time.Duration(1+rng.IntN(8))*time.Millisecond))
		default:
			steps = append(steps, oracle.Add(oracle.Element{
				Key: string("ab"[rng.IntN(2)]), Minor: int64(rng.IntN(9)-4) << 60, TimeMs: wm + int64(rng.IntN(70)-45),
			}))
		}
	}
	return cfg, steps
}

// TestSessionCell compares what a cell shows with what the oracle says, for random
// scripts, whenever the cell is read again from its log.
func TestSessionCell(t *testing.T) {
	n := uint64(4000)
	if testing.Short() {
		n = 400
	}
	for seed := range n {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			cfg, steps := randomSessions(rng)
			p := sessionPlay{t: t, rng: rng, cfg: cfg, gapMs: cfg.Windows.(windowfns.Session).Gap.Milliseconds()}
			p.run(steps)

			want := cfg.Play(steps)
			for i := range want.Overflows {
				want.Overflows[i].Total = ""
			}
			slices.SortFunc(want.Rows, byRow)
			slices.SortFunc(p.out.rows, byRow)
			slices.SortFunc(want.Overflows, byOverflow)
			slices.SortFunc(p.out.overflows, byOverflow)
			if diff := gocmp.Diff(want.Rows, p.out.rows); diff != "" {
				t.Errorf("%+v: rows: mismatch (-want +got):\n%s", cfg, diff)
			}
			if diff := gocmp.Diff(want.Overflows, p.out.overflows); diff != "" {
				t.Errorf("%+v: overflows: mismatch (-want +got):\n%s", cfg, diff)
			}
		})
	}
}
