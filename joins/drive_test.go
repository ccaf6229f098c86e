package joins

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"tidemark/joins/interval"
	"tidemark/testing/oracle"
)

// driver plays scripts of package oracle on a cell, one row a message: it judges
// lateness, and fires the timers that a watermark has passed. State is written to bags
// after each step.
type driver struct {
	rules  rules
	cell   *cell
	state  runnerState
	timers map[timerID]bool
	wm     int64
	bundle int64
	step   int
	ids    uint64
	pad    []byte // behind the ID of each row
	rows   []oracle.JoinRow
	late   int
	over   int
}

func newDriver(cfg oracle.JoinConfig) *driver {
	tr, err := Type(cfg.Type).traits()
	if err != nil {
		panic(err)
	}
	iv := interval.Interval{LowerMs: cfg.LowerMs, UpperMs: cfg.UpperMs}
	if cfg.ExclusiveLower {
		iv.LowerMs++
	}
	if cfg.ExclusiveUpper {
		iv.UpperMs--
	}
	d := &driver{wm: math.MinInt64, timers: map[timerID]bool{}}
	d.rules = rules{traits: tr, iv: [2]interval.Interval{iv, iv.Swap()}, latenessMs: cfg.LatenessMs}
	d.cell = newCell(&d.rules)
	return d
}

func (d *driver) idOf(r *row) string { id, _, _ := strings.Cut(string(r.value()), "\x00"); return id }

func (d *driver) pair(l, r *row, timeMs int64) error {
	out := oracle.JoinRow{Key: string(l.key()), Left: d.idOf(l), TimeMs: timeMs, Step: d.step}
	if r != nil {
		out.Right = d.idOf(r)
	}
	d.rows = append(d.rows, out)
	return nil
}

func (d *driver) unmatched(r *row) error {
	out := oracle.JoinRow{Key: string(r.key()), TimeMs: r.timeMs, Step: d.step}
	if r.side == left {
		out.Left = d.idOf(r)
	} else {
		out.Right = d.idOf(r)
	}
	d.rows = append(d.rows, out)
	return nil
}

func (d *driver) overLimit(*row) { d.over++ }

// do plays one step.
func (d *driver) do(st oracle.JoinStep) error {
	d.bundle++
	switch {
	case st.Left != nil:
		if err := d.take(left, *st.Left); err != nil {
			return err
		}
	case st.Right != nil:
		if err := d.take(right, *st.Right); err != nil {
			return err
		}
	default:
		d.wm = max(d.wm, st.WatermarkMs)
	}
	err := d.fireDue()
	d.step++
	return err
}

func (d *driver) take(s side, e oracle.JoinElement) error {
	if d.wm > e.TimeMs+d.rules.latenessMs {
		d.late++
		return nil
	}
	value := append([]byte(e.ID), 0)
	var m message
	m.add(e.TimeMs, e.TimeMs, appendEntry(nil, []byte(e.Key), append(value, d.pad...)))
	return d.takeMessage(m.seal(s, d.newID()))
}

func (d *driver) newID() uint64 { d.ids++; return d.ids * 0x9E3779B97F4A7C15 }

func (d *driver) takeMessage(msg []byte) error {
	if err := d.cell.take(msg, d); err != nil {
		return err
	}
	return d.save()
}

func (d *driver) save() error {
	for _, g := range d.cell.agenda.takeChanged(d.bundle) {
		d.timers[g.timerID] = true
	}
	_, err := d.cell.write(&d.state)
	return err
}

// fireDue fires the timers that the watermark has passed, in their order.
func (d *driver) fireDue() error {
	var due []timerID
	for t := range d.timers {
		if t.ms <= d.wm {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, timerID.compare)
	for _, t := range due {
		delete(d.timers, t)
		d.bundle++
		if err := d.cell.fire(t, d.bundle, d); err != nil {
			return err
		}
		if err := d.save(); err != nil {
			return err
		}
	}
	return nil
}

// forget lets go of the memory, as a worker does that stops; what comes next is read
// from the state.
func (d *driver) forget() (err error) {
	d.cell, err = readCell(&d.rules, &d.state)
	return err
}

// held is how many rows are on the shelves.
func (d *driver) held() (h oracle.JoinHeld) {
	for _, k := range d.cell.keys {
		h.Left += k.shelves[left].len()
		h.Right += k.shelves[right].len()
	}
	return h
}

// needed is how many rows are on the shelves that can still match.
func (d *driver) needed() oracle.JoinHeld {
	var n [2]int
	for _, k := range d.cell.keys {
		for s := range k.shelves {
			k.shelves[s].scan(math.MinInt64, math.MaxInt64, func(r *row) bool {
				if d.wm < d.rules.iv[s].DoneAt(r.timeMs, d.rules.latenessMs) {
					n[s]++
				}
				return true
			})
		}
	}
	return oracle.JoinHeld{Left: n[left], Right: n[right]}
}

// stateBytes is how much the state holds.
func (d *driver) stateBytes() (n int) {
	for _, b := range d.state.bags {
		for _, r := range b {
			n += len(r)
		}
	}
	return n
}

// tester is what a *testing.T and a *rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkEmpty checks that there is nothing left, in memory and in the state.
func (d *driver) checkEmpty(t tester) {
	t.Helper()
	if n := d.stateBytes(); n > 0 || len(d.cell.keys) > 0 || !d.cell.empty() || d.held() != (oracle.JoinHeld{}) || len(d.timers) > 0 {
		t.Errorf("at the end %d bytes of state, %d keys, %d groups, %+v held, %d timers", n, len(d.cell.keys), len(d.cell.agenda.groups), d.held(), len(d.timers))
	}
}

// drive plays a script and the end.
func drive(t *rapid.T, cfg oracle.JoinConfig, steps []oracle.JoinStep, after func(i int, d *driver)) *driver {
	d := newDriver(cfg)
	for i, st := range append(slices.Clone(steps), oracle.JoinWatermark(math.MaxInt64)) {
		if err := d.do(st); err != nil {
			t.Fatal(err)
		}
		if after != nil {
			after(i, d)
		}
	}
	d.checkEmpty(t)
	return d
}

// drawJoin draws a join of any type.
func drawJoin(t *rapid.T) oracle.JoinConfig {
	cfg := oracle.JoinConfig{
		Type:           rapid.SampledFrom(oracle.JoinTypes).Draw(t, "type"),
		LowerMs:        rapid.Int64Range(-15, 15).Draw(t, "lower"),
		ExclusiveLower: rapid.Bool().Draw(t, "exclusive lower"),
		ExclusiveUpper: rapid.Bool().Draw(t, "exclusive upper"),
		LatenessMs:     rapid.Int64Range(0, 8).Draw(t, "lateness"),
	}
	cfg.UpperMs = cfg.LowerMs + 2 + rapid.Int64Range(0, 20).Draw(t, "width")
	return cfg
}

// drawSteps draws elements of two keys near a watermark that goes on by leaps.
func drawSteps(t *rapid.T) (steps []oracle.JoinStep) {
	at := rapid.Int64Range(-60, 20).Draw(t, "from")
	for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if kind < 2 {
			at += rapid.Int64Range(0, 12).Draw(t, "leap")
			steps = append(steps, oracle.JoinWatermark(at))
			continue
		}
		e := oracle.JoinElement{ID: fmt.Sprint(i), Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")}
		e.TimeMs = at + rapid.Int64Range(-15, 25).Draw(t, "time")
		if kind%2 == 0 {
			steps = append(steps, oracle.Left(e))
		} else {
			steps = append(steps, oracle.Right(e))
		}
	}
	return steps
}

// sortedRows are rows in an order of their own.
func sortedRows(rows []oracle.JoinRow) []oracle.JoinRow {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b oracle.JoinRow) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
}
