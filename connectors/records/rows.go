package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"tidemark/internal/decimal"
)

// Columns says where a [Decoder]'s fields are in the rows of a table.
type Columns struct {
	of    []int // by slot; negative if there is no such column
	names []string
}

// Columns finds the fields of d in a table with the given header. A row is an
// object of strings: a field is the column whose name is the whole path, dots
// included, and of columns with one name the first counts.
func (d *Decoder) Columns(header []string) Columns {
	c := Columns{names: header}
	for _, path := range d.paths {
		at := -1
		for i, name := range header {
			if name == path {
				at = i
				break
			}
		}
		c.of = append(c.of, at)
	}
	return c
}

// errNoColumn is what a row says of a field without a column.
var errNoColumn = errors.New("missing, the header has no column of that name")

// DecodeRow reads one row of the table that c was made for, as [Decoder.Decode]
// reads an object of strings. The error, if any, is the reason why the record is
// bad.
func (d *Decoder) DecodeRow(c *Columns, row []string, v *Values) error {
	if len(row) != len(c.names) {
		return fmt.Errorf("%d columns, want the %d of the header", len(row), len(c.names))
	}
	for i, text := range row {
		if !utf8.ValidString(text) {
			return fmt.Errorf("invalid UTF-8 in column %d", i+1)
		}
	}
	for i, path := range d.paths {
		if c.of[i] < 0 {
			return fieldError(path, errNoColumn)
		}
	}
	at := func(slot int) string { return row[c.of[slot]] }

	var err error
	v.Key = v.Key[:0]
	for i := range d.keys {
		if i > 0 {
			v.Key = append(v.Key, '|')
		}
		v.Key = append(v.Key, at(i)...)
	}
	slot := len(d.keys)
	if v.TimeMs, err = d.unit.text([]byte(at(slot))); err != nil {
		return fieldError(d.time, err)
	}
	slot++
	v.Amount = 0
	if d.amount != "" {
		if v.Amount, err = decimal.Minor([]byte(at(slot)), d.scale); err != nil {
			return fieldError(d.amount, err)
		}
		slot++
	}
	v.Value = 0
	if d.value != "" {
		if v.Value, err = decimal.Float([]byte(at(slot))); err != nil {
			return fieldError(d.value, err)
		}
		slot++
	}
	v.Currency = v.Currency[:0]
	if d.currency != "" {
		v.Currency = append(v.Currency, at(slot)...)
	}
	return nil
}

// Object is a row as the JSON object of strings that it is. The row has a value
// for each column.
func (c *Columns) Object(row []string) []byte {
	var b bytes.Buffer
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false)
	put := func(before byte, s string) {
		b.WriteByte(before)
		_ = text.Encode(s) // a string into memory: nothing can go wrong
		b.Truncate(b.Len() - 1)
	}
	before := byte('{')
	for i, name := range c.names {
		put(before, name)
		put(':', row[i])
		before = ','
	}
	b.WriteByte('}')
	return b.Bytes()
}
