package records

import (
	"strings"
	"testing"
)

// TestReasons pins what people read beside a bad record.
func TestReasons(t *testing.T) {
	const good = `{"k":"a","t":0,"m":1,"c":"x"}`
	long := strings.Repeat("z", 1000)
	for _, tc := range []struct{ name, raw, want string }{
		// Not one JSON object.
		{"empty", ``, `empty record, want a JSON object`},
		{"blank", " \t\r\n", `empty record, want a JSON object`},
		{"byte order mark", "\ufeff" + good, `starts with a byte order mark, want a JSON object`},
		{"truncated object", `{"k":"a"`, `truncated JSON: ends at byte offset 8`},
		{"truncated string", `{"k":"a`, `truncated JSON: ends at byte offset 7`},
		{"truncated literal", `{"k":tru`, `truncated JSON: ends at byte offset 8`},
		{"truncated escape", `{"k":"\u00`, `truncated JSON: ends at byte offset 10`},
		{"one brace", `{`, `truncated JSON: ends at byte offset 1`},
		{"two objects", good + good, `more text after the JSON object, at byte offset 29`},
		{"two objects and a space", `{} {}`, `more text after the JSON object, at byte offset 3`},
		{"trailing garbage", `{}x`, `more text after the JSON object, at byte offset 2`},
		{"trailing NUL", "{}\x00", `more text after the JSON object, at byte offset 2`},
		{"trailing comma", `{"k":1,}`, `invalid JSON: unexpected '}' at byte offset 7`},
		{"no quotes", `{k:1}`, `invalid JSON: unexpected 'k' at byte offset 1`},
		{"leading zero", `{"k":01}`, `invalid JSON: unexpected '1' at byte offset 6`},
		{"plus sign", `{"k":+5}`, `invalid JSON: unexpected '+' at byte offset 5`},
		{"NaN", `{"k":NaN}`, `invalid JSON: unexpected 'N' at byte offset 5`},
		{"bare dot", `{"m":.5}`, `invalid JSON: unexpected '.' at byte offset 5`},
		{"control character", "{\"k\":\"\x01\"}", `invalid JSON: unexpected '\x01' at byte offset 6`},
		{"bad escape", `{"k":"\x"}`, `invalid JSON: unexpected 'x' at byte offset 7`},
		{"letters beyond ASCII", "{\u20ac}", "invalid JSON: unexpected '\u20ac' at byte offset 1"},
		{"not JSON", `key,time`, `invalid JSON: unexpected 'k' at byte offset 0`},
		{"array", `[` + good + `]`, `an array, want a JSON object`},
		{"number", `17`, `a number, want a JSON object`},
		{"string", `"a"`, `a string, want a JSON object`},
		{"null", ` null `, `null, want a JSON object`},
		{"two numbers", `1 2`, `a number, want a JSON object`},
		{"invalid UTF-8 in a value", "{\"k\":\"\xff\"}", `invalid UTF-8 at byte offset 6`},
		{"invalid UTF-8 in a name", "{\"\u20ac\xe2\x82\":1}", `invalid UTF-8 at byte offset 5`},
		{"an encoded surrogate", "{\"k\":\"\xed\xa0\x80\"}", `invalid UTF-8 at byte offset 6`},
		{"overlong slash", "{\"k\":\"\xc0\xaf\"}", `invalid UTF-8 at byte offset 6`},
		{"UTF-16", "\xff\xfe{\x00}\x00", `invalid UTF-8 at byte offset 0`},

		// Keys and currencies.
		{"no key", `{}`, `field "k": missing, want a string or a number`},
		{"null key", `{"k":null,"t":0}`, `field "k": null, want a string or a number`},
		{"true key", `{"k":true,"t":0}`, `field "k": true, want a string or a number`},
		{"false key", `{"k":false,"t":0}`, `field "k": false, want a string or a number`},
		{"object key", `{"k":{"a":1},"t":0}`, `field "k": an object, want a string or a number`},
		{"array key", `{"k":["a"],"t":0}`, `field "k": an array, want a string or a number`},
		{"name in another case", `{"K":"a","t":0}`, `field "k": missing, want a string or a number`},
		{"no currency", `{"k":"a","t":0,"m":1}`, `field "c": missing, want a string or a number`},
		{"null currency", `{"k":"a","t":0,"m":1,"c":null}`, `field "c": null, want a string or a number`},

		// Times; more in TestParseTimeErrors.
		{"no time", `{"k":"a"}`, `field "t": missing, want an RFC 3339 time or a whole number of ms`},
		{"null time", `{"k":"a","t":null}`, `field "t": null, want an RFC 3339 time or a whole number of ms`},
		{"array time", `{"k":"a","t":[]}`, `field "t": an array, want an RFC 3339 time or a whole number of ms`},
		{"fraction", `{"k":"a","t":1.5}`, `field "t": 1.5 is not a whole number of ms`},
		{
			"wrong unit", `{"k":"a","t":1559347200000000}`,
			`field "t": 1559347200000000 ms is in the year 51383, outside 1900 to 2185; is the unit us?`,
		},
		{"escaped time", `{"k":"a","t":"\u0061"}`, `field "t": "a" is not an RFC 3339 time or a whole number of ms`},

		// Amounts; more in package decimal.
		{"no amount", `{"k":"a","t":0}`, `field "m": missing, want a number or a string`},
		{"null amount", `{"k":"a","t":0,"m":null}`, `field "m": null, want a number or a string`},
		{"true amount", `{"k":"a","t":0,"m":true}`, `field "m": true, want a number or a string`},
		{"empty amount", `{"k":"a","t":0,"m":""}`, `field "m": "" is not a number`},
		{"word amount", `{"k":"a","t":0,"m":"abc"}`, `field "m": "abc" is not a number`},
		{"NaN amount", `{"k":"a","t":0,"m":"NaN"}`, `field "m": "NaN" is not a number`},
		{"spaces around", `{"k":"a","t":0,"m":" 5 "}`, `field "m": " 5 " is not a number`},
		{"too fine", `{"k":"a","t":0,"m":12.345}`, `field "m": "12.345" has more than 2 decimals`},
		{"too large", `{"k":"a","t":0,"m":1e400}`, `field "m": "1e400" is outside the range of int64 minor units`},
		{
			"one cent too large", `{"k":"a","t":0,"m":92233720368547758.08}`,
			`field "m": "92233720368547758.08" is outside the range of int64 minor units`,
		},

		// Long values are cut.
		{
			"long amount", `{"k":"a","t":0,"m":"` + long + `"}`,
			`field "m": "` + long[:40] + `"... is not a number`,
		},
		{
			"long time", `{"k":"a","t":"` + long + `"}`,
			`field "t": "` + long[:64] + `..." is not an RFC 3339 time or a whole number of ms`,
		},
		{
			"long time of wide letters", `{"k":"a","t":"` + strings.Repeat("\u20ac", 100) + `"}`,
			`field "t": "` + strings.Repeat("\u20ac", 21) + `..." is not an RFC 3339 time or a whole number of ms`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decode(t, fullFields, tc.raw)
			if err == nil || err.Error() != tc.want {
				t.Errorf("Decode(%.80q) = %+v, %v, want %s", tc.raw, got, err, tc.want)
			}
		})
	}
}

// TestReasonsNamePaths has paths that need quoting, and a key of several.
func TestReasonsNamePaths(t *testing.T) {
	f := Fields{Key: []string{"a", `e."x"`}, Time: "e.t", TimeUnit: "s", Amount: "m", AmountScale: 0}
	for _, tc := range []struct{ name, raw, want string }{
		{"second key", `{"a":1,"e":{"t":0}}`, `field "e.\"x\"": missing, want a string or a number`},
		{"nothing to reach into", `{"a":1,"e":5}`, `field "e.\"x\"": missing, want a string or a number`},
		{"nested time", `{"a":1,"e":{"\"x\"":2}}`, `field "e.t": missing, want an RFC 3339 time or a whole number of s`},
		{"default scale", `{"a":1,"e":{"\"x\"":2,"t":0},"m":12.34}`, `field "m": "12.34" has more than 0 decimals`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := decode(t, f, tc.raw); err == nil || err.Error() != tc.want {
				t.Errorf("Decode(%s) = %+v, %v, want %s", tc.raw, got, err, tc.want)
			}
		})
	}
}

// TestDepth nests to the bound and past it. Without the bound, the last record
// would overflow the stack, which no recover can catch.
func TestDepth(t *testing.T) {
	nested := func(open, inner, end string, depth int) string {
		return `{"k":"a","t":0,"m":1,"c":"x","deep":` + strings.Repeat(open, depth) + inner + strings.Repeat(end, depth) + `}`
	}
	const tooDeep = `nested deeper than 10000 levels`
	for _, tc := range []struct{ name, raw, want string }{
		{"arrays", nested("[", "", "]", maxDepth-1), ``},
		{"objects", nested(`{"a":`, "1", "}", maxDepth-1), ``},
		{"deep and wide", nested("[", "[],[],[]", "]", maxDepth-2), ``},
		{"brackets in a string", nested("", `"\"`+strings.Repeat("[{", maxDepth)+`"`, "", 0), ``},
		{"wide, not deep", nested("", "["+strings.Repeat("[],{},", maxDepth)+"1]", "", 0), ``},
		{"one array more", nested("[", "", "]", maxDepth), tooDeep},
		{"one object more", nested(`{"a":`, "1", "}", maxDepth), tooDeep},
		{"16 MiB of brackets", `{"k":` + strings.Repeat("[", 16<<20), tooDeep},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if _, err := decode(t, fullFields, tc.raw); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
