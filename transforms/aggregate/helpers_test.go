package aggregate

import (
	"bytes"
	"errors"
	"fmt"
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
	if total[0]%2 == 1 {
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
	key string
	acc []byte
}

func packBlock(kind byte, deltas ...delta) []byte {
	b := appendBlockHeader(nil, kind, len(deltas))
	for _, d := range deltas {
		b = appendDelta(b, d.key, d.acc)
	}
	return b
}

// shown is a row or a refusal as one line.
func shown(pane Pane, key string, revision int64, total, previous []byte) string {
	was := "-"
	if previous != nil {
		was = "(" + numbers(previous) + ")"
	}
	return fmt.Sprintf("%s %s #%d (%s) was %s", key, pane, revision, numbers(total), was)
}

func refusal(pane Pane, key string, total []byte) string {
	return fmt.Sprintf("%s %s refused (%s)", key, pane, numbers(total))
}

// model is a cell as it is meant, without a log.
type model struct {
	fired bool
	keys  map[string]*modelEntry
	lines []string
}

type modelEntry struct {
	acc, pending, last []byte
	rows               int64
	news               bool
}

func (m *model) add(kind byte, deltas ...delta) {
	if m.keys == nil {
		m.keys = map[string]*modelEntry{}
	}
	for _, d := range deltas {
		e := m.keys[d.key]
		if e == nil {
			e = &modelEntry{}
			m.keys[d.key] = e
		}
		plus := func(a []byte) []byte {
			if a == nil {
				return bytes.Clone(d.acc)
			}
			sum, _ := tally64{}.Merge(bytes.Clone(a), d.acc)
			return sum
		}
		if kind == blockOnTime {
			e.acc, e.news = plus(e.acc), true
		} else {
			e.pending = plus(e.pending)
		}
	}
}

func (m *model) fire() {
	for _, key := range slices.Sorted(mapsKeys(m.keys)) {
		e := m.keys[key]
		show := func(pane Pane) {
			if (tally64{}).Check(e.acc) != nil {
				m.lines = append(m.lines, refusal(pane, key, e.acc))
				return
			}
			m.lines = append(m.lines, shown(pane, key, e.rows, e.acc, e.last))
			e.last = bytes.Clone(e.acc)
			e.rows++
		}
		switch {
		case !m.fired && e.acc != nil:
			show(OnTime)
		case m.fired && e.news:
			show(Late)
		}
		e.news = false
		if e.pending != nil {
			if e.acc == nil {
				e.acc = make([]byte, 64)
			}
			e.acc, _ = tally64{}.Merge(e.acc, e.pending)
			e.pending = nil
			show(Late)
		}
	}
	m.fired = true
}

func mapsKeys(m map[string]*modelEntry) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
