package records

import (
	"fmt"
	"unicode/utf8"

	"tidemark/internal/decimal"
)

// Decoder reads the values of records. It does not change after [NewDecoder]
// and is safe for concurrent use.
type Decoder struct {
	keys     []string
	time     string
	unit     unit
	amount   string
	scale    int
	value    string
	currency string

	paths []string // by slot: the keys, time, amount, value, currency in this order
	root  *node
}

// NewDecoder prepares the decoding of records with the given fields. It returns
// the error of [Fields.Validate], if any.
func NewDecoder(f Fields) (*Decoder, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	d := &Decoder{
		time:     f.Time,
		amount:   f.Amount,
		scale:    f.AmountScale,
		value:    f.Value,
		currency: f.Currency,
		root:     &node{},
	}
	d.unit, _ = unitOf(f.TimeUnit)
	d.keys = append(d.keys, f.Key...)
	d.paths = append(append(d.paths, f.Key...), f.Time)
	for _, path := range []string{f.Amount, f.Value, f.Currency} {
		if path != "" {
			d.paths = append(d.paths, path)
		}
	}
	for slot, path := range d.paths {
		d.root.add(path, slot)
	}
	return d, nil
}

// usualSlots is the number of fields that need no allocation.
const usualSlots = 8

// Decode reads one record into v. The error, if any, is the reason why the
// record is bad, and v then holds nothing of use.
//
// Decode neither keeps nor changes raw, and v does not point into it.
func (d *Decoder) Decode(raw []byte, v *Values) error {
	if err := check(raw); err != nil {
		return err
	}
	var usual [usualSlots]span
	w := walker{raw: raw, found: usual[:], left: len(d.paths)}
	if len(d.paths) > usualSlots {
		w.found = make([]span, len(d.paths))
	}
	w.object(skipSpace(raw, 0), d.root)

	var err error
	v.Key = v.Key[:0]
	for i, path := range d.keys {
		if i > 0 {
			v.Key = append(v.Key, '|')
		}
		if v.Key, err = appendText(v.Key, w.at(i)); err != nil {
			return fieldError(path, err)
		}
	}
	slot := len(d.keys)
	if v.TimeMs, err = d.unit.value(w.at(slot)); err != nil {
		return fieldError(d.time, err)
	}
	slot++
	v.Amount = 0
	if d.amount != "" {
		if v.Amount, err = amount(w.at(slot), d.scale); err != nil {
			return fieldError(d.amount, err)
		}
		slot++
	}
	v.Value = 0
	if d.value != "" {
		if v.Value, err = value(w.at(slot)); err != nil {
			return fieldError(d.value, err)
		}
		slot++
	}
	v.Currency = v.Currency[:0]
	if d.currency != "" {
		if v.Currency, err = appendText(v.Currency, w.at(slot)); err != nil {
			return fieldError(d.currency, err)
		}
	}
	return nil
}

// fieldError says which field err is about.
func fieldError(path string, err error) error {
	return fmt.Errorf("field %q: %w", path, err)
}

// kind is the JSON type of a value.
type kind string

const (
	missing kind = "missing"
	null    kind = "null"
	truth   kind = "true"
	falsity kind = "false"
	object  kind = "an object"
	array   kind = "an array"
	text    kind = "a string"
	number  kind = "a number"
)

// kindOf returns the kind of a valid JSON value by its first byte.
func kindOf(value []byte) kind {
	if len(value) == 0 {
		return missing
	}
	switch value[0] {
	case '"':
		return text
	case '{':
		return object
	case '[':
		return array
	case 'n':
		return null
	case 't':
		return truth
	case 'f':
		return falsity
	default:
		return number
	}
}

// appendText appends the text of a string or a number to dst.
func appendText(dst, value []byte) ([]byte, error) {
	switch k := kindOf(value); k {
	case text:
		return appendUnquoted(dst, value), nil
	case number:
		return append(dst, value...), nil
	default:
		return dst, fmt.Errorf("%s, want a string or a number", k)
	}
}

// amount reads an amount in minor units.
func amount(value []byte, scale int) (int64, error) {
	digits, err := digitsOf(value)
	if err != nil {
		return 0, err
	}
	return decimal.Minor(digits, scale)
}

// value reads a float64.
func value(literal []byte) (float64, error) {
	digits, err := digitsOf(literal)
	if err != nil {
		return 0, err
	}
	return decimal.Float(digits)
}

// digitsOf returns a number, or the text of a string that should hold one.
func digitsOf(value []byte) ([]byte, error) {
	switch k := kindOf(value); k {
	case text:
		return unquoted(value), nil
	case number:
		return value, nil
	default:
		return nil, fmt.Errorf("%s, want a number or a string", k)
	}
}

// maxShown is the number of bytes of a record that a reason shows.
const maxShown = 64

// cut returns s, cut between characters after maxShown bytes.
func cut[T string | []byte](s T) string {
	if len(s) <= maxShown {
		return string(s)
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return string(s[:end]) + "..."
}
