package records

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// member is one member of an object or one element of an array.
type member struct {
	name  string
	value any // as encoding/json reads it, objects and arrays as objectValue, arrayValue
}

type (
	objectValue []member
	arrayValue  []member
)

// parse reads a value with encoding/json, keeping members that repeat.
func parse(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('{'):
		o := objectValue{}
		for d.More() {
			name := parse(d).(string)
			o = append(o, member{name, parse(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		a := arrayValue{}
		for d.More() {
			a = append(a, member{strconv.Itoa(len(a)), parse(d)})
		}
		_, _ = d.Token()
		return a
	default:
		return token
	}
}

func parseBytes(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return parse(d)
}

// lookup finds the first value that fits the path, by its definition.
func lookup(value any, path []string) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	var members []member
	switch v := value.(type) {
	case objectValue:
		members = v
	case arrayValue:
		members = v
	}
	for _, m := range members {
		if m.name == path[0] {
			if found, ok := lookup(m.value, path[1:]); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// failer is what a test and a property have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkPaths compares what the walk finds in a good record with lookup.
func checkPaths(t failer, raw []byte, paths []string) {
	t.Helper()
	if err := check(raw); err != nil {
		t.Fatalf("check(%s): %v", raw, err)
	}
	root := &node{}
	for slot, path := range paths {
		root.add(path, slot)
	}
	w := walker{raw: raw, found: make([]span, len(paths)), left: len(paths)}
	w.object(skipSpace(raw, 0), root)
	record := parseBytes(raw)
	for slot, path := range paths {
		want, ok := lookup(record, strings.Split(path, "."))
		got := w.at(slot)
		if ok != (len(got) > 0) {
			t.Fatalf("%s in %s: got %q, want found: %v", path, raw, got, ok)
		}
		if ok && !reflect.DeepEqual(parseBytes(got), want) {
			t.Fatalf("%s in %s: got %s, want %v", path, raw, got, want)
		}
	}
}

// FuzzDecode feeds any bytes. Decode must not panic, must take as an object
// exactly what encoding/json and package utf8 take, must find in it what
// encoding/json finds, and must keep its reasons short.
func FuzzDecode(f *testing.F) {
	for _, raw := range []string{
		``, `{}`, `[]`, `{"k":"a","t":0,"m":1.5,"c":"x"}`, `{"k":17,"t":"2019-07-24T08:04:00.5+02:00","m":"12e-1","c":1}`,
		`{"k":{"a":[1,{"b":2}]},"t":1.7e12}`, `{"k":"\ud83d\ude00\ud800\"\\","t":"-5"}`, `{"k":1,"k":2}{`, "\ufeff{}",
		"{\"k\":\"\xff\"}", `{"k":0.1e+5,"t":1e400,"m":-0}`, ` { "\u006b" : null } `, `{"a":1,}`, `{"t":"1990-12-31t23:59:60z","k":""}`,
	} {
		f.Add([]byte(raw))
	}
	nested := Fields{Key: []string{"k.a.1", "k"}, Time: "t.0", TimeUnit: "ns", Amount: "k.a", AmountScale: 18, Value: "k", Currency: "t"}
	var decoders []*Decoder
	for _, fields := range []Fields{fullFields, nested, readingFields} {
		d, err := NewDecoder(fields)
		if err != nil {
			f.Fatal(err)
		}
		decoders = append(decoders, d)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		start := bytes.TrimLeft(raw, " \t\r\n")
		want := json.Valid(raw) && utf8.Valid(raw) && start[0] == '{'
		if err := check(raw); (err == nil) != want {
			t.Fatalf("check(%q): %v, want good: %v", raw, err, want)
		}
		before := bytes.Clone(raw)
		var v Values
		for _, d := range decoders {
			err := d.Decode(raw, &v)
			switch {
			case err == nil && !want:
				t.Fatalf("Decode(%q) took a bad record", raw)
			case err == nil && (!utf8.Valid(v.Key) || math.IsNaN(v.Value-v.Value) || v.TimeMs < MinTimeMs || v.TimeMs > MaxTimeMs):
				t.Fatalf("Decode(%q): %+v", raw, v)
			case err != nil && (len(err.Error()) > 4*maxShown+120 || !utf8.ValidString(err.Error())):
				t.Fatalf("Decode(%q): a reason of %d bytes: %v", raw, len(err.Error()), err)
			}
		}
		if !bytes.Equal(before, raw) {
			t.Fatalf("Decode changed %q to %q", before, raw)
		}
		if want {
			checkPaths(t, raw, []string{"k", "k.a", "k.a.1", "k.a.1.b", "t", "t.0", "m", "c", "k"})
		}
	})
}
