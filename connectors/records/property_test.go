package records

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTimesAgreeWithPackageTime writes an instant with any offset and any
// number of decimals: it reads as the floor of what package time reads.
func TestTimesAgreeWithPackageTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(minSeconds-1e9, endSeconds+1e9).Draw(t, "seconds")
		nanos := rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")
		offset := rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "offset") * 60
		layout := rapid.SampledFrom([]string{
			time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.0Z07:00", "2006-01-02T15:04:05.0000-07:00",
		}).Draw(t, "layout")
		text := time.Unix(seconds, nanos).In(time.FixedZone("", offset)).Format(layout)
		read, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		want := read.UnixMilli()
		got, err := ParseTime(text, true, "ms")
		if accepted := MinTimeMs <= want && want <= MaxTimeMs; accepted != (err == nil) || accepted && got != want {
			t.Fatalf("ParseTime(%s) = %d, %v, want %d, accepted: %v", text, got, err, want, accepted)
		}
	})
}

// TestStrictTimes breaks a good time: what is still taken, package time takes
// too, lower-case letters and leap seconds aside.
func TestStrictTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("2019-07-24T08:04:00.250+02:30")
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[i] = rapid.SampledFrom([]byte("0123456789-+.:,TtZz ")).Draw(t, "byte")
		}
		text = text[:rapid.IntRange(19, len(text)).Draw(t, "length")]
		got, ok := parseRFC3339(text)
		if !ok {
			return
		}
		plain := strings.Replace(strings.ToUpper(string(text)), ":60", ":59", 1)
		want, err := time.Parse(time.RFC3339, plain)
		if err != nil {
			t.Fatalf("parseRFC3339(%s) = %d, package time: %v", text, got, err)
		}
		if plain != strings.ToUpper(string(text)) {
			want = want.Add(time.Second)
		}
		if got != want.UnixMilli() {
			t.Fatalf("parseRFC3339(%s) = %d, want %d", text, got, want.UnixMilli())
		}
	})
}

// TestTimesRoundTrip reads what AppendTime writes.
func TestTimesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(MinTimeMs, MaxTimeMs).Draw(t, "ms")
		if got, err := ParseTime(FormatTime(ms), true, "s"); err != nil || got != ms {
			t.Fatalf("ParseTime(%s) = %d, %v, want %d", FormatTime(ms), got, err, ms)
		}
	})
}

// TestUnitsFloor compares numbers in all units with floors of big integers.
func TestUnitsFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom(units[:]).Draw(t, "unit")
		n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1e4, 1e4),
			rapid.Int64Range(minSeconds-10, endSeconds+10), rapid.Int64Range(MinTimeMs-10, MaxTimeMs+10)).Draw(t, "n")
		// big.Int.Div rounds down for a positive divisor.
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(1000))
		want.Div(want, big.NewInt(u.perSecond))
		accepted := want.Cmp(big.NewInt(MinTimeMs)) >= 0 && want.Cmp(big.NewInt(MaxTimeMs)) <= 0
		for _, isString := range []bool{false, true} {
			got, err := ParseTime(fmt.Sprint(n), isString, u.name)
			if accepted != (err == nil) || accepted && got != want.Int64() {
				t.Fatalf("ParseTime(%d, %v, %s) = %d, %v, want %d, accepted: %v", n, isString, u.name, got, err, want, accepted)
			}
		}
	})
}

func TestUnquotedIsOfEncodingJSON(t *testing.T) {
	parts := []string{
		`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0041`, `\u00E9`, `\u20ac`, `\ud83d`, `\ude00`,
		`\uD83D\uDE00`, `\u0000`, `\uffff`, "a", "u0041", "\u20ac", "\U0001f600", "", `\ufffd`,
	}
	rapid.Check(t, func(t *rapid.T) {
		quoted := `"` + strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "") + `"`
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if got := string(unquoted([]byte(quoted))); got != want {
			t.Fatalf("unquoted(%s) = %q, want %q", quoted, got, want)
		}
		if got := string(appendUnquoted([]byte("x"), []byte(quoted))); got != "x"+want {
			t.Fatalf("appendUnquoted(x, %s) = %q, want %q", quoted, got, "x"+want)
		}
	})
}

// TestPathsAgreeWithEncodingJSON draws records of few names, so that paths hit,
// names repeat, and one path is a part of another.
func TestPathsAgreeWithEncodingJSON(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "0", "1", "#", "*", "@this", `\`, `"`, "\u20ac"})
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
	leaf := rapid.SampledFrom([]string{`"x"`, `"\\\""`, `"]}"`, "-1.5e3", "0", "true", "false", "null", "{}", "[]"})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "names"), ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) string
		value = func(depth int) string {
			var b strings.Builder
			pad := func() { b.WriteString(space.Draw(t, "space")) }
			kind := "object"
			if depth > 0 {
				kind = rapid.SampledFrom([]string{"leaf", "leaf", "array", "object"}).Draw(t, "kind")
			}
			pad()
			switch kind {
			case "leaf":
				b.WriteString(leaf.Draw(t, "leaf"))
			case "array":
				n := rapid.IntRange(0, 3).Draw(t, "elements")
				b.WriteByte('[')
				for i := range n {
					if i > 0 {
						b.WriteByte(',')
					}
					b.WriteString(value(depth + 1))
				}
				pad()
				b.WriteByte(']')
			case "object":
				n := rapid.IntRange(0, 4).Draw(t, "members")
				b.WriteByte('{')
				for i := range n {
					if i > 0 {
						b.WriteByte(',')
					}
					quoted, _ := json.Marshal(name.Draw(t, "name"))
					pad()
					b.Write(quoted)
					pad()
					b.WriteByte(':')
					b.WriteString(value(depth + 1))
				}
				pad()
				b.WriteByte('}')
			}
			pad()
			return b.String()
		}
		checkPaths(t, []byte(value(0)), rapid.SliceOfN(path, 1, 5).Draw(t, "paths"))
	})
}
