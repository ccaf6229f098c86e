package aggregate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func init() {
	beam.RegisterType(reflect.TypeFor[tally64]())
}

// tally64 counts how often each of 64 numbers was added, so that nothing lost,
// doubled or mixed up stays hidden. Its elements are strings: a key and the
// numbers, as in "key 1 1 7". It merges in place, as an aggregator may, and does
// not let totals through that have the number 0 an odd number of times.
type tally64 struct{ Name string }

var errOdd = errors.New("odd")

func (tally64) Lift(elem any, _ int64, key, acc []byte) ([]byte, []byte, error) {
	fields := strings.Fields(elem.(string))
	if len(fields) == 0 {
		return key, acc, errors.New("tally64: nothing in it")
	}
	at := len(acc)
	acc = append(acc, make([]byte, 64)...)
	for _, f := range fields[1:] {
		var n int
		if _, err := fmt.Sscan(f, &n); err != nil {
			return key, acc, err
		}
		acc[at+n]++
	}
	return append(key, fields[0]...), acc, nil
}

func (tally64) Merge(dst, src []byte) ([]byte, error) {
	if len(dst) != 64 || len(src) != 64 {
		return nil, fmt.Errorf("tally64: totals of %d and %d bytes", len(dst), len(src))
	}
	for i, n := range src {
		dst[i] += n
	}
	return dst, nil
}

func (tally64) Check(total []byte) error {
	if len(total) == 0 || total[0]%2 == 1 {
		return errOdd
	}
	return nil
}

// totalOf is the total of some numbers.
func totalOf(numbers ...int) []byte {
	acc := make([]byte, 64)
	for _, n := range numbers {
		acc[n]++
	}
	return acc
}

// numbers is a total for people: "1 1 7".
func numbers(total []byte) string {
	var out []string
	for n, times := range total {
		out = append(out, slices.Repeat([]string{fmt.Sprint(n)}, int(times))...)
	}
	return strings.Join(out, " ")
}

// delta is what one key gets in a block.
type delta struct {
	key      string
	elements int64
	acc      []byte
}

func deltaOf(key string, n ...int) delta { return delta{key, int64(max(len(n), 1)), totalOf(n...)} }

// blk is a block for the windows that end from first to last.
type blk struct {
	kind        byte
	first, last int64
	deltas      []delta
}

func (b blk) header() header {
	h := header{kind: b.kind, firstMs: b.first, lastMs: b.last, id: 1} // one id: a row is asked for whatever was not shown
	for _, d := range b.deltas {
		h.elements += d.elements
	}
	return h
}

func (b blk) entries() (entries []byte) {
	for _, d := range b.deltas {
		entries = appendEntry(entries, d.key, d.elements, d.acc)
	}
	return entries
}

func packMessage(blocks ...blk) (msg []byte) {
	for _, b := range blocks {
		msg = appendBlock(msg, b.header(), b.entries())
	}
	return msg
}

// lines are rows as text, and the rows themselves, to see that nobody changes
// them later.
type lines struct {
	all  []string
	keep []kept
}

type kept struct{ got, want []byte }

func (l *lines) row(r *Row) error {
	for _, b := range [][]byte{r.Total, r.Previous} {
		l.keep = append(l.keep, kept{b, bytes.Clone(b)})
	}
	l.all = append(l.all, shown(r.Pane, r.Key, r.EndMs, r.Revision, r.Total, r.Previous))
	return nil
}

func (l *lines) unshown(u *Unshown) {
	l.keep = append(l.keep, kept{u.Total, bytes.Clone(u.Total)})
	l.all = append(l.all, refusal(u.Pane, u.Key, u.EndMs, u.Total))
}

func (l *lines) unchanged(t interface{ Fatalf(string, ...any) }) {
	for _, k := range l.keep {
		if !bytes.Equal(k.got, k.want) {
			t.Fatalf("a total was (%s) when it was shown, and is (%s)", numbers(k.want), numbers(k.got))
		}
	}
}

// shown is a row or a refusal as one line.
func shown(pane Pane, key string, endMs, revision int64, total, previous []byte) string {
	was := "-"
	if len(previous) > 0 {
		was = "(" + numbers(previous) + ")"
	}
	return fmt.Sprintf("%s@%d %s #%d (%s) was %s", key, endMs, pane, revision, numbers(total), was)
}

func refusal(pane Pane, key string, endMs int64, total []byte) string {
	return fmt.Sprintf("%s@%d %s refused (%s)", key, endMs, pane, numbers(total))
}

// model is cells as they are meant: each key and window by itself, with nothing
// shared, nothing put together and no log.
type model struct {
	lines
	rules
	watermark int64
	windows   map[modelKey]*modelWindow
}

type modelKey struct {
	end int64
	key string
}

type modelWindow struct {
	onTime, waiting []byte
	total           []byte // with corrections
	shown           []byte
	rows, unshown   int64
	fired, news     bool
}

func newModel(ru rules) *model {
	return &model{rules: ru, watermark: noWatermark, windows: map[modelKey]*modelWindow{}}
}

func plus(a, b []byte) []byte {
	if a == nil {
		return bytes.Clone(b)
	}
	sum, _ := tally64{}.Merge(bytes.Clone(a), b)
	return sum
}

func (m *model) take(b blk, stepMs int64) {
	for end := b.first; end <= b.last; end += stepMs {
		for _, d := range b.deltas {
			k := modelKey{end, d.key}
			w := m.windows[k]
			if w == nil {
				if b.kind == blockShow {
					continue
				}
				w = &modelWindow{}
				m.windows[k] = w
			}
			late := end <= m.watermark
			switch {
			case b.kind == blockShow:
				w.news = w.news || !late && w.unshown > 0
			case late:
				if w.total == nil {
					w.total = bytes.Clone(w.onTime)
				}
				w.total, w.news = plus(w.total, d.acc), true
			case b.kind == blockCorrection:
				w.waiting = plus(w.waiting, d.acc)
			default:
				w.onTime = plus(w.onTime, d.acc)
				if m.early {
					w.unshown += d.elements
					w.news = w.news || m.earlyCount > 0 && w.unshown >= m.earlyCount
				}
			}
		}
	}
}

func (m *model) settle(ms int64) {
	m.watermark = max(m.watermark, ms)
	byWindow := slices.SortedFunc(maps.Keys(m.windows), func(a, b modelKey) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.key, b.key))
	})
	byKey := slices.SortedFunc(maps.Keys(m.windows), func(a, b modelKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.end, b.end))
	})
	for _, k := range byWindow {
		w := m.windows[k]
		if w.fired || k.end > m.watermark {
			continue
		}
		if !w.news || w.total == nil { // it was not there before
			if w.onTime != nil {
				m.show(k, w, OnTime, w.onTime)
			}
			if w.waiting != nil {
				w.total = plus(w.onTime, w.waiting)
				m.show(k, w, Late, w.total)
			}
		}
		w.fired = true
	}
	for _, k := range byKey {
		switch w := m.windows[k]; {
		case !w.news:
		case w.fired:
			m.show(k, w, Late, w.total)
		default:
			m.show(k, w, Early, w.onTime)
		}
	}
	for _, k := range byWindow {
		if m.watermark < k.end+m.latenessMs {
			continue
		}
		if w := m.windows[k]; m.final && w.rows > 0 {
			_ = m.row(&Row{Pane: Final, Key: k.key, EndMs: k.end, Revision: w.rows, Total: w.shown, Previous: w.shown})
		}
		delete(m.windows, k)
	}
}

func (m *model) show(k modelKey, w *modelWindow, pane Pane, total []byte) {
	w.unshown, w.news = 0, false
	if m.agg.Check(total) != nil {
		m.unshown(&Unshown{Pane: pane, Key: k.key, EndMs: k.end, Total: total})
		return
	}
	_ = m.row(&Row{Pane: pane, Key: k.key, EndMs: k.end, Revision: w.rows, Total: total, Previous: w.shown})
	w.rows++
	w.shown = bytes.Clone(total)
}
