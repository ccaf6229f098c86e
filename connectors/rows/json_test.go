package rows

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// quoted is s as encoding/json writes it without regard to HTML.
func quoted(t rapid.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":                       `""`,
		"plain":                  `"plain"`,
		`"\/`:                    `"\"\\/"`,
		"a\b\f\n\r\tz":           `"a\b\f\n\r\tz"`,
		"\x00\x01\x1f \x7f":      `"\u0000\u0001\u001f ` + "\x7f" + `"`,
		"<a href='x'>&":          `"<a href='x'>&"`,
		"\u00e9\u20ac\U0001f600": "\"\u00e9\u20ac\U0001f600\"",
		"\u2027\u2028\u2029":     "\"\u2027" + `\u2028\u2029"`,
		"\ufffd":                 "\"\ufffd\"", // was in the text
		"a\xffb":                 `"a\ufffdb"`,
		"\xe2\x82":               `"\ufffd\ufffd"`,        // cut off
		"\xed\xa0\x80.":          `"\ufffd\ufffd\ufffd."`, // a surrogate
		"\xc0\xaf":               `"\ufffd\ufffd"`,        // overlong
		"\xf4\x90\x80\x80":       `"\ufffd\ufffd\ufffd\ufffd"`,
	} {
		if got := string(appendString([]byte("x"), s)); got != "x"+want {
			t.Errorf("appendString(%q) = %s, want %s", s, got[1:], want)
		}
	}
}

// TestAppendStringIsOfEncodingJSON draws from what has to do with escaping.
func TestAppendStringIsOfEncodingJSON(t *testing.T) {
	part := rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.RuneFrom([]rune("\u2027\u2028\u2029\ufffd\"\\<\x1f\x7f\u0080\U0010ffff"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]byte("\x00a\x80\xe2\x80\xa8\xc3\xf0\x9f\xed\xa0"))), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := part.Draw(t, "head") + part.Draw(t, "tail")
		want := quoted(t, s)
		if got := string(appendString(nil, s)); got != want {
			t.Fatalf("appendString(%q) = %s, want %s", s, got, want)
		}
		if got := string(appendString(nil, []byte(s))); got != want {
			t.Fatalf("appendString of the bytes %q = %s, want %s", s, got, want)
		}
		if utf8.ValidString(s) {
			var back string
			if err := json.Unmarshal([]byte(want), &back); err != nil || back != s {
				t.Fatalf("%s reads as %q, %v, want %q", want, back, err, s)
			}
		}
	})
}
