package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// csvRow is a row as this test sees it.
type csvRow struct {
	Text  string
	Cells []string
	Lines int64
	Err   string
}

// readCSV reads all rows of text, which comes in pieces of the given size.
func readCSV(t fataler, text string, limit, size int) []csvRow {
	t.Helper()
	r := newCSVReader(newPipeReader(&pieces{text: []byte(text), size: size}, limit))
	var rows []csvRow
	for {
		got, err := r.next()
		switch {
		case errors.Is(err, errWait):
			continue
		case errors.Is(err, io.EOF):
			return rows
		case err != nil:
			t.Fatal(err)
		}
		row := csvRow{Text: string(got.text), Cells: slices.Clone(got.cells), Lines: got.count}
		if got.err != nil {
			row.Err = got.err.Error()
		}
		rows = append(rows, row)
	}
}

// pieces reads text a few bytes at a time, with errWait between them.
type pieces struct {
	text []byte
	size int
	wait bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.wait = !p.wait; p.wait {
		return 0, errWait
	}
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.text)
	p.text = p.text[n:]
	return n, nil
}

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []csvRow
	}{
		{"empty", "", nil},
		{"plain", "a,b\nc,\n", []csvRow{{"a,b", []string{"a", "b"}, 1, ""}, {"c,", []string{"c", ""}, 1, ""}}},
		{"no final newline", "a,b", []csvRow{{"a,b", []string{"a", "b"}, 1, ""}}},
		{"carriage returns", "a,b\r\nc,d\r\n", []csvRow{{"a,b\r", []string{"a", "b"}, 1, ""}, {"c,d\r", []string{"c", "d"}, 1, ""}}},
		{"quotes", `"a,""b""",c` + "\n", []csvRow{{`"a,""b""",c`, []string{`a,"b"`, "c"}, 1, ""}}},
		{"byte order mark and quotes", "\ufeff\"a\",b\n", []csvRow{{`"a",b`, []string{"a", "b"}, 1, ""}}},
		{
			"a row of three lines", "\"a\n\nb\",c\nd,e\n",
			[]csvRow{{"\"a\n\nb\",c", []string{"a\n\nb", "c"}, 3, ""}, {"d,e", []string{"d", "e"}, 1, ""}},
		},
		{
			"a quote that never closes", "a,b\n\"c,d\ne,f\ng,h\n",
			[]csvRow{
				{"a,b", []string{"a", "b"}, 1, ""},
				{`"c,d`, nil, 1, "invalid CSV: a quote is opened and never closed"},
				{"e,f", []string{"e", "f"}, 1, ""},
				{"g,h", []string{"g", "h"}, 1, ""},
			},
		},
		{
			"a quote that closes somewhere else", "\"a,b\nc,d\"x\ne,f\n",
			[]csvRow{
				{`"a,b`, nil, 1, `invalid CSV: extraneous or missing " in quoted-field at byte 4`},
				{`c,d"x`, nil, 1, "invalid CSV: a quote is opened and never closed"},
				{"e,f", []string{"e", "f"}, 1, ""},
			},
		},
		{"a bare quote", "a\"\"b,c\nd,e\n", []csvRow{
			{`a""b,c`, nil, 1, `invalid CSV: bare " in non-quoted-field at byte 2`},
			{"d,e", []string{"d", "e"}, 1, ""},
		}},
	} {
		for _, size := range []int{1, 3, 100} {
			if diff := cmp.Diff(c.want, readCSV(t, c.text, 1000, size)); diff != "" {
				t.Errorf("%s, %d bytes at a time: mismatch (-want +got):\n%s", c.name, size, diff)
			}
		}
	}
}

// TestCSVWellFormed reads what encoding/csv writes.
func TestCSVWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-c",\n ]{0,6}`)
		want := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 3), 0, 20).Draw(t, "rows")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(want); err != nil {
			t.Fatal(err)
		}
		rows := readCSV(t, b.String(), 1000, rapid.IntRange(1, 50).Draw(t, "size"))
		if len(rows) != len(want) {
			t.Fatalf("%d rows of %q, want %d", len(rows), b.String(), len(want))
		}
		for i, r := range rows {
			if r.Err != "" || !slices.Equal(r.Cells, want[i]) {
				t.Fatalf("row %d is %+v, want %q", i, r, want[i])
			}
		}
	})
}

// TestCSVLosesNothing reads any text: every line is in exactly one row.
func TestCSVLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a",\n]{0,60}`).Draw(t, "text")
		limit := rapid.SampledFrom([]int{5, 20, 1000}).Draw(t, "limit")
		size := rapid.IntRange(1, 50).Draw(t, "size")
		var back []string
		for _, r := range readCSV(t, text, limit, size) {
			if n := int64(1 + strings.Count(r.Text, "\n")); n != r.Lines {
				t.Fatalf("%q counts as %d lines", r.Text, r.Lines)
			}
			if r.Lines > 1 && len(r.Text) > limit+1 {
				t.Fatalf("%q is over the limit of %d", r.Text, limit)
			}
			back = append(back, r.Text)
		}
		var want []string
		for _, p := range cutUp(text, 0, limit) {
			want = append(want, p.Text)
		}
		if got := strings.Join(back, "\n"); got != strings.Join(want, "\n") {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}
