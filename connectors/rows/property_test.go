package rows

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/records"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

var (
	anyText = rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringOf(rapid.RuneFrom([]rune("\"\\\n\r\x00\u2028{}:,"))),
	)
	anyTime = rapid.Int64Range(records.MinTimeMs, records.MaxTimeMs)
)

// Window is a window in a row, to be embedded.
type Window struct {
	Start time.Time `json:"window_start"`
	End   time.Time `json:"window_end"`
}

func windowOf(startMs, endMs int64) Window {
	return Window{time.UnixMilli(startMs).UTC(), time.UnixMilli(endMs).UTC()}
}

// readable is s as a JSON decoder can return it.
func readable(s string) string {
	var b strings.Builder
	for _, r := range s { // U+FFFD for each byte that does not belong
		b.WriteRune(r)
	}
	return b.String()
}

// decode reads row, which must be one JSON object on one line, have exactly the
// members of want, in their order, and the same values.
func decode[T any](t *rapid.T, row []byte, want T) {
	t.Helper()
	if bytes.ContainsAny(row, "\n\r") || !utf8.Valid(row) {
		t.Fatalf("%q is not one line of UTF-8", row)
	}
	d := json.NewDecoder(bytes.NewReader(row))
	d.DisallowUnknownFields()
	var got T
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%s: %v", row, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%s: more than one value", row)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: mismatch (-want +got)\n%s", row, diff)
	}
	doc, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members(t, doc), members(t, row)); diff != "" {
		t.Fatalf("%s: mismatch of members (-want +got)\n%s", row, diff)
	}
}

// members lists the names in an object.
func members(t *rapid.T, object []byte) (names []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// ifAsked is nil for a currency that was not asked for.
func ifAsked(currency string, asked bool) *string {
	if !asked {
		return nil
	}
	currency = readable(currency)
	return &currency
}

func TestGMVRoundTrips(t *testing.T) {
	type row struct {
		Key      string  `json:"key"`
		Currency *string `json:"currency,omitempty"`
		Window
		Pane          string     `json:"pane"`
		Revision      int64      `json:"revision"`
		Sum           int64      `json:"sum"`
		PreviousSum   *int64     `json:"previous_sum"`
		Count         int64      `json:"count"`
		PreviousCount *int64     `json:"previous_count"`
		MaxEventTime  *time.Time `json:"max_event_time"`
	}
	rapid.Check(t, func(t *rapid.T) {
		r := gmv.Row{
			Key: anyText.Draw(t, "key"), Currency: anyText.Draw(t, "currency"),
			StartMs: anyTime.Draw(t, "start"), EndMs: anyTime.Draw(t, "end"), Pane: anyText.Draw(t, "pane"),
			Revision: rapid.Int64().Draw(t, "revision"), Minor: rapid.Int64().Draw(t, "minor"), Count: rapid.Int64().Draw(t, "count"),
			PreviousMinor: rapid.Ptr(rapid.Int64(), true).Draw(t, "previous minor"),
			PreviousCount: rapid.Ptr(rapid.Int64(), true).Draw(t, "previous count"),
			MaxTimeMs:     rapid.Ptr(anyTime, true).Draw(t, "max"),
		}
		var latest *time.Time
		if r.MaxTimeMs != nil {
			latest = new(time.UnixMilli(*r.MaxTimeMs).UTC())
		}
		asked := rapid.Bool().Draw(t, "with currency")
		decode(t, AppendGMV(nil, &r, asked), row{
			readable(r.Key), ifAsked(r.Currency, asked), windowOf(r.StartMs, r.EndMs), readable(r.Pane), r.Revision,
			r.Minor, r.PreviousMinor, r.Count, r.PreviousCount, latest,
		})
	})
}

func TestOverflowRoundTrips(t *testing.T) {
	type unshown struct {
		Key      string  `json:"key"`
		Currency *string `json:"currency,omitempty"`
		Window
		Pane  string      `json:"pane"`
		Sum   json.Number `json:"sum"`
		Count int64       `json:"count"`
	}
	type row struct {
		Source   string  `json:"source"`
		Position int64   `json:"position"`
		Raw      string  `json:"raw"`
		Reason   string  `json:"reason"`
		Key      string  `json:"key"`
		Currency *string `json:"currency,omitempty"`
		Window
		Total string `json:"total"`
	}
	rapid.Check(t, func(t *rapid.T) {
		o := gmv.Overflow{
			Key: anyText.Draw(t, "key"), Currency: anyText.Draw(t, "currency"),
			StartMs: anyTime.Draw(t, "start"), EndMs: anyTime.Draw(t, "end"), Pane: anyText.Draw(t, "pane"),
			Count: rapid.Int64().Draw(t, "count"), Reason: anyText.Draw(t, "reason"),
		}
		sum := big.NewInt(rapid.Int64().Draw(t, "high"))
		o.Total = sum.Lsh(sum, 40).String()
		asked := rapid.Bool().Draw(t, "with currency")
		key, currency, w := readable(o.Key), ifAsked(o.Currency, asked), windowOf(o.StartMs, o.EndMs)

		got := AppendOverflow([]byte{'x'}, &o, asked)[1:]
		var parsed row
		if err := json.Unmarshal(got, &parsed); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		decode(t, []byte(parsed.Raw), unshown{key, currency, w, readable(o.Pane), json.Number(o.Total), o.Count})
		decode(t, got, row{"total", 0, parsed.Raw, readable(o.Reason), key, currency, w, o.Total})
	})
}

func TestLateRoundTrips(t *testing.T) {
	type row struct {
		Event     any       `json:"event"`
		Time      time.Time `json:"time"`
		Missed    []Window  `json:"missed"`
		MissedAll bool      `json:"missed_all"`
		Source    string    `json:"source"`
		Position  int64     `json:"position"`
	}
	piece := rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `"a"`, `:`, `,`, "1", "null", "\n", "\r", " ", "\"\xff\"", "\"\u2028\""})
	event := rapid.OneOf(
		rapid.Map(rapid.SliceOf(piece), func(parts []string) string { return strings.Join(parts, "") }),
		rapid.SampledFrom([]string{"{}", " {\n\"a\"\r\n: [1 ,\t{}]\n}\r", `{"a":"\n"}`, `"text"`}),
		anyText,
	)
	rapid.Check(t, func(t *rapid.T) {
		rec := Late{
			Event: []byte(event.Draw(t, "event")), TimeMs: anyTime.Draw(t, "time"), All: rapid.Bool().Draw(t, "all"),
			Source: anyText.Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"),
		}
		want := row{
			Time: time.UnixMilli(rec.TimeMs).UTC(), Missed: []Window{}, MissedAll: rec.All,
			Source: readable(rec.Source), Position: rec.Position,
		}
		if !utf8.Valid(rec.Event) || json.Unmarshal(rec.Event, &want.Event) != nil {
			want.Event = readable(string(rec.Event))
		}
		for range rapid.IntRange(0, 3).Draw(t, "missed") {
			w := windowfns.Window{StartMs: anyTime.Draw(t, "start"), EndMs: anyTime.Draw(t, "end")}
			rec.Missed = append(rec.Missed, w)
			want.Missed = append(want.Missed, windowOf(w.StartMs, w.EndMs))
		}
		decode(t, AppendLate(nil, &rec), want)
	})
}

func TestBadRoundTrips(t *testing.T) {
	type row struct {
		Source    string `json:"source"`
		Position  int64  `json:"position"`
		Raw       string `json:"raw"`
		Reason    string `json:"reason"`
		RawBase64 []byte `json:"raw_base64,omitempty"`
	}
	rapid.Check(t, func(t *rapid.T) {
		rec := Bad{
			Source: anyText.Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"),
			Raw: []byte(anyText.Draw(t, "raw")), Reason: anyText.Draw(t, "reason"),
		}
		want := row{readable(rec.Source), rec.Position, readable(string(rec.Raw)), readable(rec.Reason), nil}
		if want.Raw != string(rec.Raw) {
			want.RawBase64 = rec.Raw
		}
		decode(t, AppendBad(nil, &rec), want)
	})
}
