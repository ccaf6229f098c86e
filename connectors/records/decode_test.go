package records

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullFields reads every kind of field, two decimals of the amount.
var fullFields = Fields{
	Key: []string{"k"}, Time: "t", TimeUnit: "ms", Amount: "m", AmountScale: 2, Currency: "c",
}

// row is Values in a form that is easy to write down.
type row struct {
	Key      string
	TimeMs   int64
	Amount   int64
	Currency string
}

func decode(t *testing.T, f Fields, raw string) (row, error) {
	t.Helper()
	d, err := NewDecoder(f)
	if err != nil {
		t.Fatal(err)
	}
	var v Values
	if err := d.Decode([]byte(raw), &v); err != nil {
		return row{}, err
	}
	return row{string(v.Key), v.TimeMs, v.Amount, string(v.Currency)}, nil
}

func TestDecode(t *testing.T) {
	keys := func(key ...string) Fields { return Fields{Key: key, Time: "t", TimeUnit: "ms"} }
	for _, tc := range []struct {
		name   string
		fields Fields
		raw    string
		want   row
	}{
		{"strings", fullFields, `{"k":"a","t":"1970-01-01T00:00:01Z","m":"12.34","c":"EUR"}`, row{"a", 1000, 1234, "EUR"}},
		{"numbers", fullFields, `{"k":17,"t":1000,"m":12.34,"c":978}`, row{"17", 1000, 1234, "978"}},
		{"strings of digits", fullFields, `{"k":"17","t":"1000","m":"1234e-2","c":"978"}`, row{"17", 1000, 1234, "978"}},
		{"number keys as written", keys("k", "l"), `{"k":1.50,"l":-0e5,"t":0}`, row{Key: "1.50|-0e5"}},
		{"plus sign in a string", fullFields, `{"k":"a","t":0,"m":"+5","c":"x"}`, row{"a", 0, 500, "x"}},
		{"minus zero", fullFields, `{"k":"a","t":-0,"m":-0,"c":"x"}`, row{"a", 0, 0, "x"}},
		{"largest amount", fullFields, `{"k":"a","t":0,"m":92233720368547758.07,"c":"x"}`, row{"a", 0, 1<<63 - 1, "x"}},
		{"smallest amount", fullFields, `{"k":"a","t":0,"m":-92233720368547758.08,"c":"x"}`, row{"a", 0, -1 << 63, "x"}},
		{"empty texts", fullFields, `{"k":"","t":0,"m":0,"c":""}`, row{}},
		{"fields not asked for", keys("k"), `{"k":"a","t":0,"m":"abc","c":null}`, row{Key: "a"}},
		{"white space", fullFields, " \r\n\t{ \"k\" : \"a\" ,\n\"t\" : 5 , \"m\" : 1 , \"c\" : \"x\" } \n", row{"a", 5, 100, "x"}},
		{
			"escapes", fullFields,
			`{"k":"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00","\u0074":"1970\u002d01-01T00:00:00Z","m":"\u0031","c":"\u20ac"}`,
			row{"\"\\/\b\f\n\r\tA\u00e9\U0001f600", 0, 100, "\u20ac"},
		},
		{"lone surrogates", keys("k"), `{"k":"\ud800|\udc00\u0041|\ud800\ud800\udc00","t":0}`, row{Key: "\ufffd|\ufffdA|\ufffd\U00010000"}},
		{"raw text beyond ASCII", keys("k"), "{\"k\":\"\u00e9\u20ac\U0001f600\",\"t\":0}", row{Key: "\u00e9\u20ac\U0001f600"}},
		{"first of equal names wins", keys("k"), `{"k":"a","k":"b","t":0,"t":"x"}`, row{Key: "a"}},
		{"first that fits a path wins", keys("a.b"), `{"a":1,"a":{"c":1},"a":{"b":"x"},"a":{"b":"y"},"t":0}`, row{Key: "x"}},
		{"braces and quotes in strings", keys("k"), `{"x":"}\"{[\\","y":["]",{"z":"\\\\\""}],"k":"a","t":0}`, row{Key: "a"}},
		{"several keys", keys("k", "l", "k"), `{"l":2,"k":"a","t":0}`, row{Key: "a|2|a"}},
		{"a key with a bar", keys("k", "l"), `{"k":"a|b","l":"c","t":0}`, row{Key: "a|b|c"}},
		{"one member for two fields", Fields{Key: []string{"t"}, Time: "t", TimeUnit: "s"}, `{"t":5}`, row{Key: "5", TimeMs: 5000}},
		{
			"more keys than usual", keys(strings.Split("abcdefgh", "")...),
			`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"t":9}`,
			row{Key: "1|2|3|4|5|6|7|8", TimeMs: 9},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decode(t, tc.fields, tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodePaths(t *testing.T) {
	for _, tc := range []struct{ path, raw, want string }{
		{"e.auction", `{"e":{"auction":7},"auction":8}`, "7"},
		{"a.b.c", `{"a":{"c":1,"b":{"b":2,"c":3}},"c":4}`, "3"},
		{"@type", `{"@type":"x","type":"y"}`, "x"},
		{"e.@type", `{"e":{"@type":"x"}}`, "x"},
		{"@this", `{"@this":"x"}`, "x"},
		{"e.@reverse.k", `{"e":{"@reverse":{"k":"x"}}}`, "x"},
		{"@pretty:1", `{"@pretty:1":"x"}`, "x"},
		{"a*", `{"ab":"no","a*":"x"}`, "x"},
		{"a?", `{"ab":"no","a?":"x"}`, "x"},
		{"#", `{"#":"x"}`, "x"},
		{"e.#", `{"e":{"#":"x"}}`, "x"},
		{"e.#.k", `{"e":{"#":{"k":"x"}}}`, "x"},
		{`#(a=="b")#`, `{"#(a==\"b\")#":"x"}`, "x"},
		{"a|b", `{"a":{"b":"no"},"a|b":"x"}`, "x"},
		{"!true", `{"!true":"x"}`, "x"},
		{"{a,b}", `{"a":"no","{a,b}":"x"}`, "x"},
		{"e.[a]", `{"e":{"[a]":"x"}}`, "x"},
		{`a\b`, `{"a\b":"no","a\\b":"x"}`, "x"},
		{`"`, `{"\"":"x"}`, "x"},
		{"<=>%~:^$&;", `{"<=>%~:^$&;":"x"}`, "x"},
		{" a ", `{"a":"no"," a ":"x"}`, "x"},
		{"caf\u00e9", `{"caf\u00e9":"x"}`, "x"},
		{"0", `{"0":"x"}`, "x"},
		{"e.0", `{"e":{"0":"x"}}`, "x"},
		{"e.0", `{"e":["x","y"]}`, "x"},
		{"e.1", `{"e":["x","y"]}`, "y"},
		{"e.1.k", `{"e":[{"k":"no"},{"k":"x"}]}`, "x"},
		{"e.1.0", `{"e":[["no"],["x"]]}`, "x"},
		{"e.01", `{"e":["no","no"],"e":{"01":"x"}}`, "x"},
		{"e.-1", `{"e":["no","no"],"e":{"-1":"x"}}`, "x"},
		{"e.99999999999999999999", `{"e":["no"],"e":{"99999999999999999999":"x"}}`, "x"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			f := Fields{Key: []string{tc.path}, Time: "t", TimeUnit: "ms"}
			raw := strings.TrimSuffix(tc.raw, "}") + `,"t":0}`
			got, err := decode(t, f, raw)
			if err != nil || got.Key != tc.want {
				t.Errorf("Decode(%s) = %q, %v, want %q", raw, got.Key, err, tc.want)
			}
		})
	}
}

// TestDecodeLiterally takes the same paths to records where only another
// meaning of them would find something.
func TestDecodeLiterally(t *testing.T) {
	for _, path := range []string{
		"@this.a", "a*", "?", "e.#", "a|b", "e|0", "!1", `\a`, `e.\0`, "{a}", "[a]", "e.-1", "e.00", "e.+0", "A",
	} {
		f := Fields{Key: []string{path}, Time: "t", TimeUnit: "ms"}
		raw := `{"ab":1,"a":{"b":1},"e":[{"a":1}],"t":0}`
		want := fmt.Sprintf("field %q: missing, want a string or a number", path)
		if got, err := decode(t, f, raw); err == nil || err.Error() != want {
			t.Errorf("path %s: got %q, %v, want %s", path, got.Key, err, want)
		}
	}
}

// TestDecodeReuses decodes into one Values again and again: nothing of a record
// is left for the next, and the record's memory may be overwritten.
func TestDecodeReuses(t *testing.T) {
	d, err := NewDecoder(fullFields)
	if err != nil {
		t.Fatal(err)
	}
	var v Values
	raw := []byte(`{"k":"a long key","t":1,"m":1,"c":"a long currency"}`)
	if err := d.Decode(raw, &v); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] = 'x'
	}
	if string(v.Key) != "a long key" || string(v.Currency) != "a long currency" {
		t.Errorf("key = %q, currency = %q after the record was overwritten", v.Key, v.Currency)
	}
	if err := d.Decode([]byte(`{"k":"b","t":2,"m":null}`), &v); err == nil {
		t.Fatal("no error for a null amount")
	}
	if err := d.Decode([]byte(`{"k":"b","t":2,"m":3,"c":""}`), &v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Values{Key: []byte("b"), TimeMs: 2, Amount: 300, Currency: []byte{}}, v); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestDecodeConcurrently shares one Decoder; it is for the race detector.
func TestDecodeConcurrently(t *testing.T) {
	d, err := NewDecoder(fullFields)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			want := fmt.Sprintf("k%d", i)
			raw := fmt.Appendf(nil, `{"k":%q,"t":1,"m":1,"c":"x"}`, want)
			var v Values
			for range 1000 {
				if err := d.Decode(raw, &v); err != nil || string(v.Key) != want {
					t.Errorf("got %q, %v, want %q", v.Key, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestDecodeAllocates(t *testing.T) {
	for _, tc := range benchRecords {
		d, err := NewDecoder(tc.fields)
		if err != nil {
			t.Fatal(err)
		}
		var v Values
		n := testing.AllocsPerRun(100, func() {
			if err := d.Decode(tc.raw, &v); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a record, want 0", tc.name, n)
		}
	}
}
