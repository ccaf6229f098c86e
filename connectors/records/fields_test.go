package records

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsValidate(t *testing.T) {
	good := Fields{Key: []string{"a.b", "c"}, Time: "t", TimeUnit: "ms", Amount: "m", AmountScale: 2, Currency: "x.y"}
	with := func(change func(*Fields)) Fields {
		f := good
		change(&f)
		return f
	}
	for _, tc := range []struct {
		name   string
		fields Fields
		want   string
	}{
		{"all set", good, ""},
		{"no amount, no currency", with(func(f *Fields) { f.Amount, f.Currency = "", "" }), ""},
		{"spaces and signs are names", with(func(f *Fields) { f.Time = "event time.@#*|" }), ""},
		{"scale 18", with(func(f *Fields) { f.AmountScale = 18 }), ""},
		{"zero value", Fields{}, `Key is empty, want at least one path`},
		{"empty key", with(func(f *Fields) { f.Key = []string{"a", ""} }), `Key[1] is empty, want a path`},
		{
			"two dots", with(func(f *Fields) { f.Key = []string{"a..b"} }),
			`Key[0] = "a..b" has an empty component, want names joined with single dots`,
		},
		{
			"leading dot", with(func(f *Fields) { f.Time = ".t" }),
			`Time = ".t" has an empty component, want names joined with single dots`,
		},
		{
			"trailing dot", with(func(f *Fields) { f.Amount = "m." }),
			`Amount = "m." has an empty component, want names joined with single dots`,
		},
		{
			"only a dot", with(func(f *Fields) { f.Currency = "." }),
			`Currency = "." has an empty component, want names joined with single dots`,
		},
		{"no time", with(func(f *Fields) { f.Time = "" }), `Time is empty, want a path`},
		{"no unit", with(func(f *Fields) { f.TimeUnit = "" }), `TimeUnit = "", want s, ms, us or ns`},
		{"unknown unit", with(func(f *Fields) { f.TimeUnit = "m" }), `TimeUnit = "m", want s, ms, us or ns`},
		{
			"value with a hole", with(func(f *Fields) { f.Value = "v..w" }),
			`Value = "v..w" has an empty component, want names joined with single dots`,
		},
		{"negative scale", with(func(f *Fields) { f.AmountScale = -1 }), `AmountScale = -1, want 0 to 18`},
		{"large scale", with(func(f *Fields) { f.AmountScale = 19 }), `AmountScale = 19, want 0 to 18`},
		{"not UTF-8", with(func(f *Fields) { f.Time = "\xff" }), `Time = "\xff" is not valid UTF-8`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if err := tc.fields.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("Validate() = %s, want %s", got, tc.want)
			}
			if _, err := NewDecoder(tc.fields); (err == nil) != (tc.want == "") {
				t.Errorf("NewDecoder: %v, want as Validate", err)
			}
		})
	}
}

// TestFieldsShip sends Fields through JSON, as a pipeline does.
func TestFieldsShip(t *testing.T) {
	want := Fields{
		Key: []string{`e."a"\`, "<b>&"}, Time: "t", TimeUnit: "us",
		Amount: "m", AmountScale: 18, Value: "v", Currency: "x",
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Fields
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
