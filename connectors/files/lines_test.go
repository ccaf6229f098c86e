package files

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// piece is a line as this test sees it.
type piece struct {
	Text  string // at most the limit, or what is kept of a longer one
	Start int64
	Next  int64
	Long  bool
}

// cutUp is what a line reader has to make of text, which begins at offset off.
func cutUp(text string, off int64, limit int) []piece {
	var pieces []piece
	for len(text) > 0 {
		line, rest, ended := strings.Cut(text, "\n")
		next := off + int64(len(line))
		if ended {
			next++
		}
		p := piece{line, off, next, len(strings.TrimSuffix(line, "\r")) > limit}
		if p.Long {
			p.Text = line[:min(limit, 1024)]
		}
		pieces = append(pieces, p)
		text, off = rest, next
	}
	return pieces
}

// drain reads lines to the end, which is to come as the error end.
func drain(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *lineReader, end error,
) []piece {
	t.Helper()
	var pieces []piece
	for {
		ln, err := r.next()
		if err != nil {
			if !errors.Is(err, end) {
				t.Fatalf("ends with %v, want %v", err, end)
			}
			if again, err := r.next(); !errors.Is(err, end) || again.text != nil {
				t.Fatalf("after the end: %+v, %v", again, err)
			}
			return pieces
		}
		if !ln.long && cap(ln.text) != len(ln.text) {
			t.Fatalf("%q has room for %d bytes more, of the lines behind it", ln.text, cap(ln.text)-len(ln.text))
		}
		if n := len(pieces); n > 0 && pieces[n-1].Next != ln.start {
			t.Fatalf("line at %d, the one before ends at %d", ln.start, pieces[n-1].Next)
		}
		pieces = append(pieces, piece{string(ln.text), ln.start, ln.next, ln.long})
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("0123456789", 300_000) // longer than two chunks
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"one newline", "\n"},
		{"newlines", "\n\n\n"},
		{"one line", "a\n"},
		{"no final newline", "a\nb"},
		{"carriage returns are text", "a\r\nb\r"},
		{"zero bytes are text", "\x00\n\x00"},
		{"longer than chunks", long + "\nb\n" + long + long},
		{"a chunk exactly", long[:chunkBytes] + "\nb"},
		{"a chunk with its newline", long[:chunkBytes-1] + "\nb"},
	} {
		for _, limit := range []int{1, 2, 100, 1024, 2000, len(long) - 1, len(long), 1 << 30} {
			got := drain(t, newLineReader(strings.NewReader(c.text), 7, limit), io.EOF)
			if diff := cmp.Diff(cutUp(c.text, 7, limit), got); diff != "" {
				t.Errorf("%s, limit %d: mismatch (-want +got):\n%.2000s", c.name, limit, diff)
			}
		}
	}
}

// chunked hands out text in pieces of given lengths, the last one together with
// err if that is asked for.
type chunked struct {
	text     string
	lengths  []int
	err      error
	together bool
}

func (c *chunked) Read(p []byte) (int, error) {
	n := len(c.text)
	if len(c.lengths) > 0 {
		n, c.lengths = min(n, c.lengths[0]), c.lengths[1:]
	}
	n = copy(p, c.text[:n])
	c.text = c.text[n:]
	if len(c.text) == 0 && (n == 0 || c.together) {
		return n, c.err
	}
	return n, nil
}

// drawText draws text of a few lines, of letters that matter.
func drawText(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab\r é{}\x00")), 0, 12, -1), 0, 12).Draw(t, "lines")
	text := strings.Join(lines, "\n")
	if rapid.Bool().Draw(t, "final newline") {
		text += "\n"
	}
	return text
}

// TestLinesAnyChunks reads any text in any chunks, with any limit.
func TestLinesAnyChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		off := rapid.Int64Range(0, 1<<40).Draw(t, "offset")
		limit := rapid.IntRange(1, 15).Draw(t, "limit")
		in := &chunked{
			text:     text,
			lengths:  rapid.SliceOfN(rapid.IntRange(0, 9), 0, 30).Draw(t, "chunks"),
			err:      io.EOF,
			together: rapid.Bool().Draw(t, "end with the last chunk"),
		}
		got := drain(t, newLineReader(in, off, limit), io.EOF)
		if diff := cmp.Diff(cutUp(text, off, limit), got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestLinesError has a reader that fails: whole lines in front of the error are
// handed out, the part of one is not.
func TestLinesError(t *testing.T) {
	broken := errors.New("broken")
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		limit := rapid.IntRange(1, 15).Draw(t, "limit")
		in := &chunked{
			text:     text,
			lengths:  rapid.SliceOfN(rapid.IntRange(0, 9), 0, 30).Draw(t, "chunks"),
			err:      broken,
			together: rapid.Bool().Draw(t, "fail with the last chunk"),
		}
		got := drain(t, newLineReader(in, 0, limit), broken)
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		if diff := cmp.Diff(cutUp(whole, 0, limit), got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestLongLineIsNotHeld reads over a line that is much longer than the limit.
func TestLongLineIsNotHeld(t *testing.T) {
	const gigabyte = 1 << 30
	in := io.MultiReader(strings.NewReader("a\n"), io.LimitReader(zeros{}, gigabyte), strings.NewReader("\nb"))
	r := newLineReader(in, 0, 2*chunkBytes)
	var starts []int64
	for {
		ln, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if cap(r.rest) > 8*chunkBytes {
			t.Fatalf("%d bytes are held", cap(r.rest))
		}
		starts = append(starts, ln.start)
	}
	if diff := cmp.Diff([]int64{0, 2, gigabyte + 3}, starts); diff != "" {
		t.Errorf("starts of lines: mismatch (-want +got):\n%s", diff)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLinesStay checks that lines can be kept while others are read.
func TestLinesStay(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<14)
	in := strings.ReplaceAll(text, "f", "f\n") + strings.ReplaceAll(text, "f", "F\n") + strings.Repeat(text, 8)
	r := newLineReader(strings.NewReader(in), 0, 1<<20)
	var kept [][]byte
	for {
		ln, err := r.next()
		if err != nil {
			break
		}
		kept = append(kept, ln.text)
	}
	got := bytes.Join(kept[:1<<15], []byte("\n"))
	if want := in[:len(got)]; string(got) != want {
		t.Error("lines have changed since they were read")
	}
}
