package records

import (
	"math"
	"strings"
	"testing"
)

// readingFields reads a value instead of an amount.
var readingFields = Fields{Key: []string{"sensor"}, Time: "time", TimeUnit: "ms", Value: "value"}

// TestValues reads values as numbers, as strings and from rows of tables.
func TestValues(t *testing.T) {
	d, err := NewDecoder(readingFields)
	if err != nil {
		t.Fatal(err)
	}
	cols := d.Columns([]string{"sensor", "time", "value"})
	for _, c := range []struct {
		value  string // a number or a string of JSON
		want   float64
		reason string
	}{
		{value: `21.375`, want: 21.375},
		{value: `"21.375"`, want: 21.375},
		{value: `-1e-3`, want: -0.001},
		{value: `"+5"`, want: 5},
		{value: `-0`},
		{value: `"-0.0"`},
		{value: `-1e-400`},
		{value: `1.7976931348623157e308`, want: math.MaxFloat64},
		{value: `5e-324`, want: math.SmallestNonzeroFloat64},
		{value: `9007199254740993`, want: 9007199254740992},
		{value: `1e400`, reason: `field "value": "1e400" is outside the range of float64`},
		{value: `"-1e309"`, reason: `field "value": "-1e309" is outside the range of float64`},
		{value: `"NaN"`, reason: `field "value": "NaN" is not a number`},
		{value: `"Infinity"`, reason: `field "value": "Infinity" is not a number`},
		{value: `"-Inf"`, reason: `field "value": "-Inf" is not a number`},
		{value: `"0x1p4"`, reason: `field "value": "0x1p4" is not a number`},
		{value: `""`, reason: `field "value": "" is not a number`},
		{value: `"` + strings.Repeat("z", 100) + `"`, reason: `field "value": "` + strings.Repeat("z", 40) + `"... is not a number`},
	} {
		v := Values{Value: 7}
		check := func(how string, err error) {
			if errText(err) != c.reason {
				t.Errorf("%s %s: reason %q, want %q", how, c.value, errText(err), c.reason)
			} else if err == nil && math.Float64bits(v.Value) != math.Float64bits(c.want) {
				t.Errorf("%s %s = %v, want %v", how, c.value, v.Value, c.want)
			}
		}
		check("object", d.Decode([]byte(`{"sensor":"s","time":5,"value":`+c.value+`}`), &v))
		check("row", d.DecodeRow(&cols, []string{"s", "5", strings.Trim(c.value, `"`)}, &v))
	}
	for member, reason := range map[string]string{
		``:                 `field "value": missing, want a number or a string`,
		`,"value":null`:    `field "value": null, want a number or a string`,
		`,"value":true`:    `field "value": true, want a number or a string`,
		`,"value":[1]`:     `field "value": an array, want a number or a string`,
		`,"value":{"a":1}`: `field "value": an object, want a number or a string`,
	} {
		var v Values
		if err := d.Decode([]byte(`{"sensor":"s","time":5`+member+`}`), &v); errText(err) != reason {
			t.Errorf("%s: reason %q, want %q", member, errText(err), reason)
		}
	}
}

// Amount, value and currency side by side, each from its own member.
func TestValueBesideAmount(t *testing.T) {
	fields := fullFields
	fields.Value = "v"
	d, err := NewDecoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	var v Values
	if err := d.Decode([]byte(`{"c":"EUR","v":2.5,"m":"12.34","t":7,"k":"a"}`), &v); err != nil {
		t.Fatal(err)
	}
	if string(v.Key) != "a" || v.TimeMs != 7 || v.Amount != 1234 || v.Value != 2.5 || string(v.Currency) != "EUR" {
		t.Errorf("got %+v", v)
	}
	cols := d.Columns([]string{"v", "k", "c", "t", "m"})
	if err := d.DecodeRow(&cols, []string{"2.5", "b", "USD", "8", "1"}, &v); err != nil {
		t.Fatal(err)
	}
	if string(v.Key) != "b" || v.TimeMs != 8 || v.Amount != 100 || v.Value != 2.5 || string(v.Currency) != "USD" {
		t.Errorf("row: got %+v", v)
	}
	// Without a value asked for, nothing is left of the one before.
	plain, err := NewDecoder(fullFields)
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Decode([]byte(`{"c":"","v":3,"m":1,"t":7,"k":"a"}`), &v); err != nil || v.Value != 0 {
		t.Errorf("value %v, %v, want 0", v.Value, err)
	}
}
