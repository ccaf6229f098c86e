package files

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// zip compresses text.
func zip(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fileOf writes a file and says what it is.
func fileOf(t testing.TB, dir, name string, content []byte) File {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Of(path, "")
	if err != nil {
		t.Fatal(err)
	}
	f.Name = "in"
	return f
}

// TestGzip reads a compressed file of several bundles, in one go and with every
// bundle opening it again.
func TestGzip(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	for i := 0; b.Len() < 2*bundleBytes+bundleBytes/2; i++ {
		b.WriteString(record(fmt.Sprintf("%d-%s", i, strings.Repeat("k", random.IntN(3000)))) + "\n")
	}
	text := b.String()
	half := len(text) / 2
	for name, content := range map[string][]byte{
		"one member":  zip(t, text),
		"two members": append(zip(t, text[:half]), zip(t, text[half:])...),
	} {
		file := fileOf(t, t.TempDir(), "in.ndjson.gz", content)
		fn := setup(t, 1<<20)
		whole, err := fn.CreateInitialRestriction(file)
		if err != nil || whole.End != math.MaxInt64 {
			t.Fatalf("%+v, %v: how long the text is cannot be known", whole, err)
		}
		for _, again := range []bool{false, true} {
			reopen = again
			got, checkpoints := process(t, fn, file, whole)
			reopen = false
			if diff := cmp.Diff(expected(text, 1<<20, false), got); diff != "" || checkpoints != 2 {
				t.Errorf("%s, opened again %v: %d checkpoints, want 2, mismatch (-want +got):\n%.1000s", name, again, checkpoints, diff)
			}
		}
	}
}

// TestGzipCutShort cuts a compressed file at every byte: what could be read are
// records from the beginning, and the rest is one bad record behind them.
func TestGzipCutShort(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		text.WriteString(record(fmt.Sprintf("%x", i*i*i*7919)) + "\n")
	}
	whole, dir := zip(t, text.String()), t.TempDir()
	all := expected(text.String(), 1<<20, false)
	for n := range len(whole) {
		got, _ := process(t, setup(t, 1<<20), fileOf(t, dir, "in.ndjson.gz", whole[:n]), span{End: math.MaxInt64, Line: 1})
		good, last := got[:len(got)-1], got[len(got)-1]
		if diff := cmp.Diff(all[:len(good)], good, cmp.Comparer(func(a, b []seen) bool { return cmp.Equal(append([]seen{}, a...), append([]seen{}, b...)) })); diff != "" {
			t.Fatalf("%d of %d bytes: mismatch (-want +got):\n%s", n, len(whole), diff)
		}
		rest := strings.SplitAfter(text.String(), "\n")[len(good):]
		if last.Position != int64(len(good)+1) || !strings.Contains(last.Reason, "gzip data is cut short") || !strings.HasPrefix(strings.Join(rest, ""), last.Raw) {
			t.Fatalf("%d of %d bytes: %+v behind %d records", n, len(whole), last, len(good))
		}
	}
}

// TestGzipDamaged has bytes in a compressed file that do not belong there.
func TestGzipDamaged(t *testing.T) {
	text := strings.Repeat(record("a")+"\n", 3)
	whole := zip(t, text)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for name, c := range map[string]struct {
		content []byte
		good    int
		reason  string
	}{
		"not compressed":  {[]byte(text), 0, "gzip: invalid header"},
		"a wrong sum":     {flipped, 3, "gzip: invalid checksum"},
		"text behind it":  {append(bytes.Clone(whole), text...), 3, "what follows is not gzip data"},
		"a byte behind":   {append(bytes.Clone(whole), 'x'), 3, "what follows is not gzip data"},
		"zeros behind it": {append(bytes.Clone(whole), make([]byte, 700)...), 3, ""},
		"zeros between":   {slices.Concat(whole, make([]byte, 5), whole), 6, ""},
		"nothing at all":  {nil, 0, "cut short"},
		"an empty member": {zip(t, ""), 0, ""},
	} {
		got, _ := process(t, setup(t, 1<<20), fileOf(t, t.TempDir(), "in.ndjson.gz", c.content), span{End: math.MaxInt64, Line: 1})
		want := c.good
		if c.reason != "" {
			want++
		}
		if len(got) != want || c.reason != "" && !strings.Contains(got[want-1].Reason, c.reason) {
			t.Errorf("%s: %+v, want %d records and %q", name, got, c.good, c.reason)
		}
	}
}

// TestUnzipAtOnce reads a pipe that stays open: what is whole comes before there
// is more.
func TestUnzipAtOnce(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	in := Unzip(r)
	for _, text := range []string{"one", "two", ""} {
		go func() { _, _ = w.Write(zip(t, text)) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != text {
			t.Fatalf("%q and error %v, want %q", got, err, text)
		}
	}
	go func() { _ = w.Close() }()
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("behind it: %q, error %v", rest, err)
	}
}

// TestTableCut has compressed tables that end while a quote is open: the rows
// behind it are read all the same.
func TestTableCut(t *testing.T) {
	text := "k,t,m\na,\"1000,5\nb,1000,5\nc,1000,5\n"
	for i := range 1000 {
		text += fmt.Sprintf("%d,1000,5\n", i*i*i)
	}
	content := zip(t, text)
	got, _ := process(t, setup(t, 1<<20), fileOf(t, t.TempDir(), "in.csv.gz", content[:len(content)/2]), span{End: math.MaxInt64, Line: 1})
	if len(got) < 100 {
		t.Fatalf("%d records, want more than 100", len(got))
	}
	want := []seen{{Position: 2, Raw: `a,"1000,5`, Reason: errOpenQuote.Error()}, {Position: 3, Key: "b"}, {Position: 4, Key: "c"}, {Position: 5, Key: "0"}}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	last := got[len(got)-1]
	if !strings.Contains(last.Reason, "cut short") || last.Position != int64(len(got))+1 || !strings.Contains(text, last.Raw) {
		t.Errorf("the last of %d is %+v, want what is there of line %d, cut short", len(got), last, len(got)+1)
	}
}

// TestTable reads tables: what is bad about rows and headers, and where.
func TestTable(t *testing.T) {
	const header = "k,t,m\n"
	for name, c := range map[string]struct {
		text string
		want []seen
	}{
		"empty":                 {"", nil},
		"header only":           {header, nil},
		"header without end":    {"k,t,m", nil},
		"rows":                  {header + "a,1000,5\n\n\"b\nb\",1000,5\r\nc,1000,5", []seen{{Position: 2, Key: "a"}, {Position: 4, Key: "b\nb"}, {Position: 6, Key: "c"}}},
		"byte order mark":       {"\ufeff" + header + "a,1000,5\n", []seen{{Position: 2, Key: "a"}}},
		"other order":           {"x,m,t,k\n,5,1000,a\n", []seen{{Position: 2, Key: "a"}}},
		"a missing column":      {"k,t\na,1000\n", []seen{{Position: 2, Raw: "a,1000", Reason: `field "m": missing, the header has no column of that name`}}},
		"a ragged line":         {header + "a,1000\nb,1000,5\n", []seen{{Position: 2, Raw: "a,1000", Reason: "2 columns, want the 3 of the header"}, {Position: 3, Key: "b"}}},
		"a long line":           {header + "a,1000,5" + strings.Repeat(" ", 100) + "\nb,1000,5\n", []seen{{Position: 2, Raw: "a,1000,5" + strings.Repeat(" ", 92), Reason: "longer than 100 bytes, the limit on records"}, {Position: 3, Key: "b"}}},
		"a malformed header":    {"k,\"t,m\na,1000,5\n", []seen{{Position: 1, Raw: `k,"t,m`, Reason: "the header is malformed: invalid CSV: a quote is opened and never closed"}, {Position: 2, Raw: "a,1000,5", Reason: "the header, line 1, is malformed: invalid CSV: a quote is opened and never closed"}}},
		"carriage returns only": {"k,t,m\ra,1000,5\r", []seen{{Position: 1, Raw: "k,t,m\ra,1000,5", Reason: "the header is malformed: a carriage return inside a line, want lines that end with a newline"}}},
		"a header of bytes":     {"\x1f\x8b\x08\xff", []seen{{Position: 1, Raw: "\x1f\x8b\x08\xff", Reason: "the header is malformed: invalid UTF-8"}}},
		"a quote that closes":   {header + "\"a\nb,1000,5\n", []seen{{Position: 2, Raw: "\"a", Reason: "invalid CSV: a quote is opened and never closed"}, {Position: 3, Key: "b"}}},
	} {
		for _, ext := range []string{"in.csv", "in.csv.gz"} {
			content, end := []byte(c.text), int64(len(c.text))
			if ext == "in.csv.gz" {
				content, end = zip(t, c.text), math.MaxInt64
			}
			file := fileOf(t, t.TempDir(), ext, content)
			got, _ := process(t, setup(t, 100), file, span{End: end, Line: 1})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s: mismatch (-want +got):\n%s", name, ext, diff)
			}
		}
	}
}

// TestTableBundles reads a table of several bundles, every one of which opens it
// again.
func TestTableBundles(t *testing.T) {
	var b strings.Builder
	var want []seen
	b.WriteString("k,t,m\n")
	for line := int64(2); b.Len() < 2*bundleBytes+bundleBytes/2; line += 2 {
		key := fmt.Sprintf("%d\n%s", line, strings.Repeat("k", 1000))
		want = append(want, seen{Position: line, Key: key})
		b.WriteString(`"` + key + `",1000,5` + "\n")
	}
	file := fileOf(t, t.TempDir(), "in.csv", []byte(b.String()))
	for _, again := range []bool{false, true} {
		reopen = again
		got, checkpoints := process(t, setup(t, 1<<20), file, span{End: int64(b.Len()), Line: 1})
		reopen = false
		if diff := cmp.Diff(want, got); diff != "" || checkpoints != 2 {
			t.Errorf("opened again %v: %d checkpoints, want 2, mismatch (-want +got):\n%.1000s", again, checkpoints, diff)
		}
	}
}

// TestFileChanges has files that grow, shrink or vanish while they are read.
func TestFileChanges(t *testing.T) {
	line := record(strings.Repeat("k", 1000)) + "\n"
	text := strings.Repeat(line, 2*bundleBytes/len(line))
	for name, c := range map[string]struct {
		change func(path string) error
		err    string
	}{
		"grows": {func(path string) error { return os.WriteFile(path, []byte(text+line), 0o666) }, ""},
		"shrinks": {
			func(path string) error { return os.Truncate(path, int64(len(text)-len(line))) },
			"reading in: the file has become shorter while it was read: it ends at byte",
		},
		"vanishes, and is open": {os.Remove, ""},
	} {
		file := fileOf(t, t.TempDir(), "in.ndjson", []byte(text))
		changed := false
		got, _, err := tryProcess(t, setup(t, 1<<20), file, span{End: int64(len(text)), Line: 1}, func() {
			if err := c.change(file.Path); err != nil {
				t.Fatal(err)
			}
			changed = true
		})
		parked.clear()
		switch {
		case !changed:
			t.Fatal("the file takes one bundle only")
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", name, err, c.err)
			}
		case err != nil || len(got) != len(text)/len(line):
			t.Errorf("%s: %d lines, %v, want %d", name, len(got), err, len(text)/len(line))
		}
	}
}
