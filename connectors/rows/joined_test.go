package rows

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/files"
)

// aRecord draws a JSON object in valid UTF-8, with white space where it may be.
var aRecord = rapid.Custom(func(t *rapid.T) string {
	space := func() string { return rapid.StringMatching("[ \t\r\n]{0,2}").Draw(t, "space") }
	var b strings.Builder
	b.WriteString(space() + "{" + space())
	for i := range rapid.IntRange(0, 3).Draw(t, "members") {
		if i > 0 {
			b.WriteString("," + space())
		}
		name, err1 := json.Marshal(readable(anyText.Draw(t, "name")))
		value, err2 := json.Marshal(readable(anyText.Draw(t, "value")))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		b.WriteString(string(name) + space() + ":" + space() + string(value) + space())
	}
	b.WriteString("}" + space())
	return b.String()
})

var aSide = rapid.Custom(func(t *rapid.T) *files.Row {
	if !rapid.Bool().Draw(t, "there") {
		return nil
	}
	return &files.Row{
		MarkMs: orderedInt.Draw(t, "mark"), Source: orderedText.Draw(t, "source"), Position: orderedInt.Draw(t, "position"),
		Raw: []byte(aRecord.Draw(t, "raw")),
	}
})

var aJoined = rapid.Custom(func(t *rapid.T) Joined {
	return Joined{Key: readable(anyText.Draw(t, "key")), Left: aSide.Draw(t, "left"), Right: aSide.Draw(t, "right")}
})

func TestJoinedCoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := aJoined.Draw(t, "row")
		b := encodeJoined(want)
		got, err := decodeJoined(b)
		if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v, mismatch (-want +got):\n%s", err, diff)
		}
		if _, err := decodeJoined(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("no error for a row that is cut short")
		}
		if _, err := decodeJoined(append(b, 0)); err == nil {
			t.Fatal("no error for a row with more behind it")
		}
	})
}

// TestJoinedRoundTrips has the record come out as it went in, but for white space
// around it and for line breaks.
func TestJoinedRoundTrips(t *testing.T) {
	type row struct {
		Key   string          `json:"key"`
		Left  json.RawMessage `json:"left"`
		Right json.RawMessage `json:"right"`
		Time  time.Time       `json:"time"`
	}
	text := func(r *files.Row) json.RawMessage {
		if r == nil {
			return json.RawMessage("null")
		}
		return json.RawMessage(strings.NewReplacer("\n", " ", "\r", " ").Replace(strings.Trim(string(r.Raw), " \t\r\n")))
	}
	rapid.Check(t, func(t *rapid.T) {
		j, ms := aJoined.Draw(t, "row"), anyTime.Draw(t, "time")
		decode(t, AppendJoined(nil, ms, &j), row{j.Key, text(j.Left), text(j.Right), time.UnixMilli(ms).UTC()})

		cells, err := csv.NewReader(bytes.NewReader(appendJoined(nil, CSV, ms, &j))).Read()
		if err != nil || len(cells) != 4 {
			t.Fatalf("%q: %v", cells, err)
		}
		for i, r := range []*files.Row{j.Left, j.Right} {
			if want := text(r); r == nil && cells[1+i] != "" || r != nil && cells[1+i] != string(want) {
				t.Fatalf("%q, want %s in the record", cells, want)
			}
		}

		plain := string(appendJoined(nil, Table, ms, &j))
		cells = strings.Split(plain, "\t")
		if len(cells) != 4 || strings.IndexFunc(strings.ReplaceAll(plain, "\t", ""), unicode.IsControl) >= 0 {
			t.Fatalf("%q, want 4 cells without control characters", plain)
		}
		for i, r := range []*files.Row{j.Left, j.Right} {
			if r == nil {
				continue
			}
			var want, got map[string]string
			if err := json.Unmarshal(r.Raw, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(cells[1+i]), &got); err != nil || !gocmp.Equal(want, got) {
				t.Fatalf("%q, %v, want %q in the record", plain, err, want)
			}
		}
	})
}

func TestAppendJoined(t *testing.T) {
	left := &files.Row{Source: "l.ndjson", Position: 7, Raw: []byte("{\"a\":1,\r\n\t\"b\":\"\u009b, \\\"x\\\"\"}\n")}
	right := &files.Row{Source: "-", Position: 0, Raw: []byte("{}")}
	for _, c := range []struct {
		format Format
		row    Joined
		want   string
	}{
		{JSON, Joined{"k\"", left, right}, `{"key":"k\"","left":{"a":1,  	"b":"` + "\u009b" + `, \"x\""},"right":{},"time":"1969-12-31T23:59:59.999Z"}`},
		{Pipe, Joined{"k", left, nil}, `{"key":"k","left":{"a":1,  	"b":"` + "\u009b" + `, \"x\""},"right":null,"time":"1969-12-31T23:59:59.999Z"}`},
		{Mart, Joined{"k", nil, right}, `{"key":"k","left":null,"right":{},"time":"1969-12-31T23:59:59.999Z","right_source":"-","right_position":0}`},
		{Mart, Joined{"k", right, left}, `{"key":"k","left":{},"right":{"a":1,  	"b":"` + "\u009b" + `, \"x\""},"time":"1969-12-31T23:59:59.999Z",` +
			`"left_source":"-","left_position":0,"right_source":"l.ndjson","right_position":7}`},
		{CSV, Joined{"k,", left, nil}, `"k,","{""a"":1,  	""b"":""` + "\u009b" + `, \""x\""""}",,1969-12-31T23:59:59.999Z`},
		{CSV, Joined{"k", nil, right}, `k,,{},1969-12-31T23:59:59.999Z`},
		{Table, Joined{"k\n", left, nil}, `k\n` + "\t" + `{"a":1,   "b":"\u009b, \"x\""}` + "\t\t1969-12-31T23:59:59.999Z"},
	} {
		if got := string(appendJoined([]byte("x"), c.format, -1, &c.row)); got != "x"+c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.format, got[1:], c.want)
		}
	}
	for f, want := range map[Format]string{CSV: "key,left,right,time", Table: "key\tleft\tright\ttime", JSON: "", Mart: "", Pipe: ""} {
		if got := JoinLayout(f).Header; got != want {
			t.Errorf("%s: header %q, want %q", f, got, want)
		}
	}
}

// TestJoinedDepth has records as deep as a row can hold them, and one deeper,
// which is a string.
func TestJoinedDepth(t *testing.T) {
	nested := func(depth int) *files.Row {
		return &files.Row{Raw: []byte(strings.Repeat(`{"":`, depth-1) + "{}" + strings.Repeat("}", depth-1))}
	}
	for depth, isString := range map[int]bool{maxDepth - 1: false, maxDepth: true} {
		for _, j := range []Joined{{Left: nested(depth)}, {Left: nested(1), Right: nested(depth)}} {
			row := AppendJoined([]byte("x"), 0, &j)[1:]
			if !json.Valid(row) || strings.Contains(string(row), `:"{`) != isString {
				t.Errorf("depth %d: %.60s..., valid %v, a string: want %v", depth, row, json.Valid(row), isString)
			}
		}
	}
}

// TestJoinedUntrusted has records that no source emits, which appendJSON looks at.
func TestJoinedUntrusted(t *testing.T) {
	for raw, want := range map[string]string{"": `""`, "{": `"{"`, "[1]": "[1]", " \n": `" \n"`, "1}": `"1}"`} {
		j := Joined{Left: &files.Row{Raw: []byte(raw)}}
		if got := string(AppendJoined(nil, 0, &j)); got != `{"key":"","left":`+want+`,"right":null,"time":"1970-01-01T00:00:00Z"}` {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}

func TestAppendCell(t *testing.T) {
	text := rapid.OneOf(anyText, rapid.StringOf(rapid.RuneFrom([]rune("\\.\",\r\n \t\u00a0\u2003a"))))
	rapid.Check(t, func(t *rapid.T) {
		cells := []string{"a", text.Draw(t, "cell")}
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		if err := w.Write(cells); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if got := string(appendCSV(nil, cells)) + "\n"; got != want.String() {
			t.Fatalf("%q: %q, want %q", cells[1], got, want.String())
		}
	})
}

func TestOrderJoined(t *testing.T) {
	few := rapid.Int64Range(-1, 1)
	side := rapid.Custom(func(t *rapid.T) *files.Row {
		if !rapid.Bool().Draw(t, "there") {
			return nil
		}
		return &files.Row{Source: orderedText.Draw(t, "source"), Position: few.Draw(t, "position"), MarkMs: few.Draw(t, "mark")} // has no effect
	})
	compare := func(a, b *files.Row) int {
		if a == nil || b == nil {
			return map[bool]int{true: 1}[a != nil] - map[bool]int{true: 1}[b != nil]
		}
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Position, b.Position))
	}
	rapid.Check(t, func(t *rapid.T) {
		var rows [2]Joined
		var times [2]int64
		for i := range rows {
			times[i] = few.Draw(t, "time")
			rows[i] = Joined{Key: orderedText.Draw(t, "key"), Left: side.Draw(t, "left"), Right: side.Draw(t, "right")}
		}
		a, b := &rows[0], &rows[1]
		equal := rapid.IntRange(0, 4).Draw(t, "equal")
		for i, copyField := range []func(){
			func() { times[1] = times[0] }, func() { b.Key = a.Key }, func() { b.Left = a.Left }, func() { b.Right = a.Right },
		} {
			if i < equal {
				copyField()
			}
		}
		want := cmp.Or(cmp.Compare(times[0], times[1]), strings.Compare(a.Key, b.Key), compare(a.Left, b.Left), compare(a.Right, b.Right))
		if got := bytes.Compare(OrderJoined(nil, times[0], a), OrderJoined(nil, times[1], b)); got != want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	})
	// As a mart has it, what is not there comes before a source without a name.
	if j, k := (Joined{}), (Joined{Left: &files.Row{Position: math.MinInt64 + 1}}); bytes.Compare(OrderJoined(nil, 0, &j), OrderJoined(nil, 0, &k)) >= 0 {
		t.Error("a row without a left side is not in front")
	}
}

// TestJoinedTimeBytes checks that rows of a left semi join are told apart by what is
// behind the time.
func TestJoinedTimeBytes(t *testing.T) {
	id := func(timeMs int64, key, source string, position int64) string {
		j := Joined{Key: key, Left: &files.Row{Source: source, Position: position}}
		return string(OrderJoined(nil, timeMs, &j)[JoinedTimeBytes:])
	}
	const ms = 1_559_347_200_000
	want := id(ms, "k", "a.ndjson", 7)
	for _, timeMs := range []int64{math.MinInt64, -1, ms + 1, math.MaxInt64} {
		if got := id(timeMs, "k", "a.ndjson", 7); got != want {
			t.Errorf("at %d the row is %q, want %q", timeMs, got, want)
		}
	}
	for i, other := range []string{id(ms, "l", "a.ndjson", 7), id(ms, "k", "b.ndjson", 7), id(ms, "k", "a.ndjson", 8)} {
		if other == want {
			t.Errorf("row %d is that of another record, %q", i, want)
		}
	}
}
