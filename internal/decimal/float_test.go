package decimal

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "+0.0": 0, "-0e5": 0, "-1e-400": 0, "1": 1, "+1": 1, "007": 7, "-12.50": -12.5, "1e3": 1000, "1E+3": 1000,
		"0.1": 0.1, "17.1e-1": 1.71, "1e-400": 0, "4.9e-324": math.SmallestNonzeroFloat64, "9007199254740993": 9007199254740992,
		"1.7976931348623157e308": math.MaxFloat64, "-1.7976931348623157e308": -math.MaxFloat64, "1.7976931348623158e308": math.MaxFloat64,
		"0e999999999999999999999":                        0,
		"1" + strings.Repeat("0", 400) + "e-400":         1,
		"0." + strings.Repeat("0", 400) + "125" + "e400": 0.125,
	} {
		if got, err := Float([]byte(text)); err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("Float(%.40s) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestFloatErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": `"" is not a number`, " 1": `" 1" is not a number`, "1 ": `"1 " is not a number`, ".5": `".5" is not a number`, "5.": `"5." is not a number`,
		"NaN": `"NaN" is not a number`, "nan": `"nan" is not a number`, "Infinity": `"Infinity" is not a number`, "-inf": `"-inf" is not a number`,
		"0x10": `"0x10" is not a number`, "0x1p-2": `"0x1p-2" is not a number`, "1_000": `"1_000" is not a number`, "1,5": `"1,5" is not a number`,
		"1e": `"1e" is not a number`, "--1": `"--1" is not a number`,
		"1e400": `"1e400" is outside the range of float64`, "-1e309": `"-1e309" is outside the range of float64`,
		"1.7976931348623159e308":  `"1.7976931348623159e308" is outside the range of float64`,
		strings.Repeat("9", 1000): `"` + strings.Repeat("9", 40) + `"... is outside the range of float64`,
	} {
		if got, err := Float([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("Float(%.40s) = %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestFloatRoundTrips reads what strconv writes, in every form.
func TestFloatRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		format := rapid.SampledFrom([]byte("eEfg")).Draw(t, "format")
		text := strconv.FormatFloat(x, format, -1, 64)
		got, err := Float([]byte(text))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			if err == nil {
				t.Fatalf("Float(%s) = %v, want an error", text, got)
			}
			return
		}
		if err != nil || got != x {
			t.Fatalf("Float(%s) = %v, %v", text, got, err)
		}
	})
}
