package decimal

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMinor(t *testing.T) {
	for _, tc := range []struct {
		text  string
		scale int
		want  int64
	}{
		{"0", 0, 0},
		{"-0", 0, 0},
		{"+0", 2, 0},
		{"-0.000", 2, 0},
		{"0e999999999999999999999", 0, 0},
		{"0e-999999999999999999999", 0, 0},
		{"5", 0, 5},
		{"+5", 0, 5},
		{"-5", 0, -5},
		{"007", 0, 7},
		{"5", 2, 500},
		{"5", 18, 5_000_000_000_000_000_000},
		{"12.34", 2, 1234},
		{"-12.34", 2, -1234},
		{"12.3", 2, 1230},
		{"12.340", 2, 1234},
		{"12.34000000000000000000000000", 2, 1234},
		{"0.01", 2, 1},
		{"0.010", 2, 1},
		{"1.2e1", 0, 12},
		{"1.2E1", 0, 12},
		{"1.2e+1", 0, 12},
		{"1.2e01", 0, 12},
		{"1200e-2", 0, 12},
		{"12345e-1", 1, 12345},
		{"0.000000000000000000000000001e27", 0, 1},
		{"1e18", 0, 1_000_000_000_000_000_000},
		{"1e-18", 18, 1},
		{"100000000000000000000e-20", 0, 1},
		{"9223372036854775807", 0, math.MaxInt64},
		{"-9223372036854775808", 0, math.MinInt64},
		{"9223372036854775807.0", 0, math.MaxInt64},
		{"92233720368547758.07", 2, math.MaxInt64},
		{"-92233720368547758.08", 2, math.MinInt64},
		{"9.223372036854775807", 18, math.MaxInt64},
		{"-9.223372036854775808", 18, math.MinInt64},
		{"-9.223372036854775808e18", 0, math.MinInt64},
		{"922337203685477580e1", 0, 9_223_372_036_854_775_800},
		{"999999999999999999", 0, 999_999_999_999_999_999},
	} {
		got, err := Minor([]byte(tc.text), tc.scale)
		if err != nil || got != tc.want {
			t.Errorf("Minor(%q, %d) = %d, %v, want %d", tc.text, tc.scale, got, err, tc.want)
		}
	}
}

func TestMinorErrors(t *testing.T) {
	for _, tc := range []struct {
		text  string
		scale int
		want  string
	}{
		{"12.345", 2, `"12.345" has more than 2 decimals`},
		{"12.34", 0, `"12.34" has more than 0 decimals`},
		{"0.05", 1, `"0.05" has more than 1 decimal`},
		{"1e-400000000", 2, `"1e-400000000" has more than 2 decimals`},
		{"1e-99999999999999999999", 2, `"1e-99999999999999999999" has more than 2 decimals`},
		{"1234567890123456789012345.5", 0, `"1234567890123456789012345.5" has more than 0 decimals`},
		{"1e400", 2, `"1e400" is outside the range of int64 minor units`},
		{"1e99999999999999999999", 0, `"1e99999999999999999999" is outside the range of int64 minor units`},
		{"9223372036854775808", 0, `"9223372036854775808" is outside the range of int64 minor units`},
		{"-9223372036854775809", 0, `"-9223372036854775809" is outside the range of int64 minor units`},
		{"92233720368547758.08", 2, `"92233720368547758.08" is outside the range of int64 minor units`},
		{"9999999999999999999", 0, `"9999999999999999999" is outside the range of int64 minor units`},
		{"10", 18, `"10" is outside the range of int64 minor units`},
		{"", 0, `"" is not a number`},
		{"abc", 0, `"abc" is not a number`},
		{"-", 0, `"-" is not a number`},
		{"+-5", 0, `"+-5" is not a number`},
		{".", 0, `"." is not a number`},
		{".5", 1, `".5" is not a number`},
		{"5.", 1, `"5." is not a number`},
		{"5.e1", 1, `"5.e1" is not a number`},
		{"1.2.3", 1, `"1.2.3" is not a number`},
		{"e5", 0, `"e5" is not a number`},
		{"1e", 0, `"1e" is not a number`},
		{"1e+", 0, `"1e+" is not a number`},
		{"1e5.0", 0, `"1e5.0" is not a number`},
		{"NaN", 0, `"NaN" is not a number`},
		{"Inf", 0, `"Inf" is not a number`},
		{"-Infinity", 0, `"-Infinity" is not a number`},
		{"0x1F", 0, `"0x1F" is not a number`},
		{"0x1p4", 0, `"0x1p4" is not a number`},
		{"1_000", 0, `"1_000" is not a number`},
		{"1,000", 0, `"1,000" is not a number`},
		{" 1", 0, `" 1" is not a number`},
		{"1 ", 0, `"1 " is not a number`},
		{"1\n", 0, `"1\n" is not a number`},
		{"1\x00", 0, `"1\x00" is not a number`},
		{"\u0661", 0, `"` + "\u0661" + `" is not a number`},
		{
			strings.Repeat("1", 1000), 0,
			`"` + strings.Repeat("1", 40) + `"... is outside the range of int64 minor units`,
		},
		{
			strings.Repeat("\u20ac", 100), 0, // 3 bytes each: 13 of them fit in 40 bytes
			`"` + strings.Repeat("\u20ac", 13) + `"... is not a number`,
		},
		{"1", -1, `scale = -1, want 0 to 18`},
		{"1", 19, `scale = 19, want 0 to 18`},
	} {
		got, err := Minor([]byte(tc.text), tc.scale)
		if err == nil || err.Error() != tc.want {
			t.Errorf("Minor(%.60q, %d) = %d, %v, want %s", tc.text, tc.scale, got, err, tc.want)
		}
	}
}

// TestMinorHugeTexts reads texts whose naive expansion would need gigabytes or
// quadratic time.
func TestMinorHugeTexts(t *testing.T) {
	const n = 1_000_000
	zeros := strings.Repeat("0", n)
	start := time.Now()
	for _, tc := range []struct {
		name, text string
		want       int64
		kind       Kind
		bad        bool
	}{
		{name: "zeros in front", text: zeros + "12", want: 12},
		{name: "zeros behind", text: "12." + zeros, want: 12},
		{name: "exponent undoes zeros behind", text: "12" + zeros + "e-1000000", want: 12},
		{name: "exponent undoes zeros in front", text: "0." + zeros + "12e1000002", want: 12},
		{name: "mantissa of nines", text: strings.Repeat("9", n), kind: TooLarge, bad: true},
		{name: "fraction of nines", text: "0." + strings.Repeat("9", n), kind: TooFine, bad: true},
		{name: "exponent of nines", text: "1e" + strings.Repeat("9", n), kind: TooLarge, bad: true},
		{name: "negative exponent of nines", text: "1e-" + strings.Repeat("9", n), kind: TooFine, bad: true},
	} {
		got, err := Minor([]byte(tc.text), 0)
		if !tc.bad {
			if err != nil || got != tc.want {
				t.Errorf("%s: got %d, %v, want %d", tc.name, got, err, tc.want)
			}
			continue
		}
		if e, ok := err.(*Error); !ok || e.Kind != tc.kind || len(err.Error()) > 120 {
			t.Errorf("%s: got %d, %v, want kind %d", tc.name, got, err, tc.kind)
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %s, want well under a second", d)
	}
}

// reference is the definition of Minor over big rationals, for texts of the
// right form with a small exponent.
func reference(text string, scale int) (v int64, kind Kind, ok bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, NotNumber, false
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	switch {
	case !r.IsInt():
		return 0, TooFine, false
	case !r.Num().IsInt64():
		return 0, TooLarge, false
	}
	return r.Num().Int64(), 0, true
}

func checkReference(t *rapid.T, text string, scale int) {
	want, kind, ok := reference(text, scale)
	got, err := Minor([]byte(text), scale)
	if ok {
		if err != nil || got != want {
			t.Fatalf("Minor(%q, %d) = %d, %v, want %d", text, scale, got, err, want)
		}
		return
	}
	if e, isOurs := err.(*Error); !isOurs || e.Kind != kind {
		t.Fatalf("Minor(%q, %d) = %d, %v, want kind %d", text, scale, got, err, kind)
	}
}

func TestMinorIsExact(t *testing.T) {
	form := rapid.StringMatching(`[+-]?[0-9]{1,22}(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		checkReference(t, form.Draw(t, "text"), rapid.IntRange(0, MaxScale).Draw(t, "scale"))
	})
}

// TestMinorSpellings writes one value in many ways: all read the same. Values
// crowd around the ends of int64.
func TestMinorSpellings(t *testing.T) {
	near := rapid.OneOf(rapid.Int64(), rapid.Int64Range(math.MaxInt64-20, math.MaxInt64),
		rapid.Int64Range(math.MinInt64, math.MinInt64+20), rapid.Int64Range(-2000, 2000))
	rapid.Check(t, func(t *rapid.T) {
		want := near.Draw(t, "value")
		scale := rapid.IntRange(0, MaxScale).Draw(t, "scale")
		shift := rapid.IntRange(-30, 30).Draw(t, "shift")
		off := rapid.Int64Range(-3, 3).Draw(t, "off")
		big10 := new(big.Int).Add(big.NewInt(want), big.NewInt(off))
		text := big10.String()
		negative := strings.HasPrefix(text, "-")
		text = strings.TrimPrefix(text, "-")
		// Put the dot so that the value is text * 10^-(scale+shift), then undo
		// the shift by an exponent.
		if point := scale + shift; point > 0 {
			text = strings.Repeat("0", max(0, point+1-len(text))) + text
			text = text[:len(text)-point] + "." + text[len(text)-point:]
		} else {
			text += strings.Repeat("0", -point)
		}
		if strings.Contains(text, ".") {
			text += strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros"))
		}
		if shift != 0 {
			text += "e" + strconv.Itoa(shift)
		}
		if negative {
			text = "-" + text
		}
		checkReference(t, text, scale)
	})
}

// TestMinorRefuses draws texts from the characters of numbers: what is not of
// the documented form is refused as NotNumber.
func TestMinorRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9+\-.eE_ xNan]{0,8}`).Draw(t, "text")
		_, err := Minor([]byte(text), 3)
		e, isOurs := err.(*Error)
		if err != nil && !isOurs {
			t.Fatalf("Minor(%q, 3): %v", text, err)
		}
		refused := isOurs && e.Kind == NotNumber
		if refused == form(text) {
			t.Fatalf("Minor(%q, 3): %v, want not a number: %v", text, err, !form(text))
		}
	})
}

// form reports whether text is a number, by strconv and the differences that
// the doc comment of Minor names.
func form(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrSyntax {
		return false
	}
	lower := strings.ToLower(text)
	mantissa, _, _ := strings.Cut(strings.TrimLeft(lower, "+-"), "e")
	return !strings.ContainsAny(lower, "_xni") &&
		!strings.HasPrefix(mantissa, ".") && !strings.HasSuffix(mantissa, ".")
}

func TestMinorAllocates(t *testing.T) {
	for _, text := range []string{"1234", "-12.34", "12.3400", "123456789012.34"} {
		raw := []byte(text)
		if n := testing.AllocsPerRun(100, func() { _, _ = Minor(raw, 2) }); n != 0 {
			t.Errorf("Minor(%q, 2) allocates %v times, want 0", text, n)
		}
	}
}

func BenchmarkMinor(b *testing.B) {
	for _, text := range []string{"1234", "12.34", "-92233720368547758.08", "1.234e1"} {
		raw := []byte(text)
		b.Run("text="+text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Minor(raw, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
