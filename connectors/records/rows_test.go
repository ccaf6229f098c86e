package records

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDecodeRow reads rows of tables, good and bad.
func TestDecodeRow(t *testing.T) {
	fields := Fields{Key: []string{"shop", "till"}, Time: "at.utc", TimeUnit: "s", Amount: "sum", AmountScale: 2, Currency: "cur"}
	d, err := NewDecoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	const header = "x,shop,at.utc,sum,till,cur,shop"
	for _, c := range []struct{ header, row, reason string }{
		{header, "0,a,10,1.25,b,EUR,never", ""},
		{header, "0,,1970-01-01T00:00:10Z,-1,,,", ""},
		{header, "0,a,10,1.25,b,EUR", "6 columns, want the 7 of the header"},
		{header, "0,a,10,1.25,b,EUR,x,y", "8 columns, want the 7 of the header"},
		{header, "0,a,ten,1.25,b,EUR,x", `field "at.utc": "ten" is not an RFC 3339 time or a whole number of s`},
		{header, "0,a,,1.25,b,EUR,x", `field "at.utc": "" is not an RFC 3339 time or a whole number of s`},
		{header, "0,a,10,1.255,b,EUR,x", `field "sum": "1.255" has more than 2 decimals`},
		{header, "0,a,10,,b,EUR,x", `field "sum": "" is not a number`},
		{header, "\xff,a,10,1,b,EUR,x", "invalid UTF-8 in column 1"},
		{"shop,at.utc,sum,cur", "a,10,1,EUR", `field "till": missing, the header has no column of that name`},
	} {
		var v Values
		cols := d.Columns(strings.Split(c.header, ","))
		err := d.DecodeRow(&cols, strings.Split(c.row, ","), &v)
		if got := errText(err); got != c.reason {
			t.Errorf("%s: reason %q, want %q", c.row, got, c.reason)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRowIsAnObject decodes random rows as rows and as the objects that they
// are: values and reasons are the same.
func TestRowIsAnObject(t *testing.T) {
	fields := Fields{Key: []string{"k", "l"}, Time: "t", TimeUnit: "ms", Amount: "m", Value: "v", Currency: "c"}
	d, err := NewDecoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.Permutation([]string{"k", "l", "t", "m", "v", "c", "z"}).Draw(t, "header")
		cell := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,19}`), rapid.Just("2020-02-02T02:02:02.5Z"))
		row := rapid.SliceOfN(cell, len(header), len(header)).Draw(t, "row")
		cols := d.Columns(header)
		object := cols.Object(row)

		var back map[string]string
		if err := json.Unmarshal(object, &back); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		for i, name := range header {
			if back[name] != row[i] {
				t.Fatalf("%s: %q is %q, want %q", object, name, back[name], row[i])
			}
		}
		var asRow, asObject Values
		rowErr, objectErr := d.DecodeRow(&cols, row, &asRow), d.Decode(object, &asObject)
		if errText(rowErr) != errText(objectErr) {
			t.Fatalf("as a row: %v, as an object: %v", rowErr, objectErr)
		}
		if rowErr != nil {
			return
		}
		if diff := cmp.Diff(asObject, asRow); diff != "" {
			t.Fatalf("mismatch (-object +row):\n%s", diff)
		}
	})
}
