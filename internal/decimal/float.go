package decimal

import "strconv"

// Float returns the float64 nearest to the value of text, which has the form
// that [Minor] reads: no "NaN", "Inf", hexadecimal or underscores. What rounds to
// zero is 0, never -0. A text of another form, and a value outside float64, is an
// [*Error].
func Float(text []byte) (float64, error) {
	if _, ok := split(text); !ok {
		return 0, &Error{Kind: NotNumber, Text: quote(text)}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil { // of a number, the range is all that can be wrong
		return 0, &Error{Kind: NotFinite, Text: quote(text)}
	}
	return v + 0, nil // -0 + 0 is 0
}
