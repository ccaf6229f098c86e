package mart

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tidwall/gjson"
)

// maxDeltas is how many windows' counts are added up in memory before they go to
// the table.
const maxDeltas = 1 << 14

// The counts of a window, in the order of the columns.
const (
	assigned = iota
	added
	corrected
	late
	counted
)

// countNames are the members of a line, and the columns.
var countNames, sumNames = [counted]string{"assigned", "added", "corrected", "late"},
	[counted]string{"assigned_sum", "added_sum", "corrected_sum", "late_sum"}

// countsKey is a window and a currency.
type countsKey struct {
	endMs, startMs int64
	currency       string
}

func (k countsKey) compare(o countsKey) int {
	return cmp.Or(cmp.Compare(k.endMs, o.endMs), cmp.Compare(k.startMs, o.startMs), cmp.Compare(k.currency, o.currency))
}

// counts are those of a window, or what is to be added to them. Sums of money
// need more than 64 bits.
type counts struct {
	n   [counted]int64
	sum [counted]big.Int
}

func (c *counts) add(o *counts) {
	for i := range counted {
		c.n[i] += o.n[i]
		c.sum[i].Add(&c.sum[i], &o.sum[i])
	}
}

// raise takes from o what is more than in c.
func (c *counts) raise(o *counts) {
	for i := range counted {
		if o.n[i] > c.n[i] {
			c.n[i] = o.n[i]
			c.sum[i].Set(&o.sum[i])
		}
	}
}

// deltas put the lines of window counts together before they are written.
type deltas struct {
	money bool               // counts are of money too
	join  func(c, o *counts) // adds to c what is in a further line, o
	of    map[countsKey]*counts
}

// addLine adds a line.
func (d *deltas) addLine(line []byte) error {
	var k countsKey
	var c counts
	seen := 0
	err := walk(line, func(name string, value gjson.Result) (err error) {
		switch name {
		case "window_start":
			k.startMs, err = parseTime(value)
		case "window_end":
			k.endMs, err = parseTime(value)
		case "currency":
			if value.Type != gjson.String {
				return errors.New("want a string")
			}
			k.currency = value.Str
		default:
			var known bool
			if known, err = c.read(name, value); !known {
				return err
			}
		}
		seen++
		return err
	})
	if err != nil {
		return err
	}
	const plain = 2 + counted
	switch want := plain + 1 + counted; {
	case d.money && seen != want:
		return fmt.Errorf("has %d of the members window_start, window_end, currency, assigned, added, corrected, late and their sums, want each of the %d once", seen, want)
	case !d.money && seen != plain:
		return fmt.Errorf("has %d of the members window_start, window_end, assigned, added, corrected, late and those of money, want each of the first %d once: the job has no money", seen, plain)
	}
	if was := d.of[k]; was != nil {
		d.join(was, &c)
	} else {
		d.of[k] = &c
	}
	return nil
}

// read reads a member, and reports whether it is one of the counts.
func (c *counts) read(name string, value gjson.Result) (known bool, err error) {
	if i := slices.Index(countNames[:], name); i >= 0 {
		n, err := readInt(value)
		if err == nil {
			c.n[i] = n.(int64)
		}
		return true, err
	}
	i := slices.Index(sumNames[:], name)
	if i < 0 {
		return false, nil
	}
	if value.Type != gjson.String || !setDigits(&c.sum[i], value.Str) {
		return true, errors.New("want a string of decimal digits")
	}
	return true, nil
}

// setDigits sets z to the number that s spells: digits after an optional minus.
func setDigits(z *big.Int, s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	_, ok := z.SetString(s, 10)
	return ok
}

// write puts d together with the rows that the run has in the table name, and empties d. A
// row of an older run gives way, one of a newer run stays.
func (d *deltas) write(m *Mart, name, job string, run int64) error {
	var args []any
	for _, k := range slices.SortedFunc(maps.Keys(d.of), countsKey.compare) {
		c := d.of[k]
		var was counts
		wasRun, err := was.load(m, name, job, k, d.money)
		switch {
		case err != nil:
			return err
		case wasRun > run:
			continue
		case wasRun == run:
			d.join(c, &was)
		}
		args = append(args[:0], job, run, k.endMs, k.startMs, k.currency)
		for _, n := range c.n {
			args = append(args, n)
		}
		for i := range c.sum {
			if d.money {
				args = append(args, stored(&c.sum[i]))
			} else {
				args = append(args, nil)
			}
		}
		if err := m.exec(countsTable.insert(name), args...); err != nil {
			return err
		}
	}
	clear(d.of)
	return nil
}

// load reads the counts that are in the table name and returns their run, which
// is 0 if there are none.
func (c *counts) load(m *Mart, name, job string, k countsKey, money bool) (run int64, err error) {
	st, err := m.prepare(countsTable.pick(name))
	if err != nil {
		return 0, err
	}
	var sums [counted]any
	dst := c.targets(&sums, &run)
	switch err := st.QueryRow(job, k.endMs, k.startMs, k.currency).Scan(dst...); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return run, c.setSums(&sums, money)
}

// targets are where the columns of a row go, first ones before those of the
// counts.
func (c *counts) targets(sums *[counted]any, first ...any) []any {
	for i := range c.n {
		first = append(first, &c.n[i])
	}
	for i := range sums {
		first = append(first, &sums[i])
	}
	return first
}

// setSums takes the sums as they come out of the table. Without money there are
// none.
func (c *counts) setSums(sums *[counted]any, money bool) error {
	if !money {
		return nil
	}
	for i, v := range sums {
		switch v := v.(type) {
		case int64:
			c.sum[i].SetInt64(v)
		case string:
			if !setDigits(&c.sum[i], v) {
				return fmt.Errorf("%s holds %.50q, want digits", sumNames[i], v)
			}
		default:
			return fmt.Errorf("%s holds a %T, want a number", sumNames[i], v)
		}
	}
	return nil
}

// stored is n as it goes into a table: an integer where it fits into 64 bits,
// else text.
func stored(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n.String()
}
