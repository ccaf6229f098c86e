package files

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

// marked is an element of the records that [Read] makes.
type marked = streamtest.KV[int64, Record]

// readAll reads files on a runner.
func readAll(t *testing.T, limit int, in []File) (good []streamtest.Element[marked], bad []Bad, counts *tally.Tally) {
	t.Helper()
	var goodCol, badCol *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		counts = tally.Start()
		g, b := Read(s, Config{Fields: fields, MaxRecordBytes: limit}, in)
		goodCol, badCol = streamtest.Capture(s, g), streamtest.Capture(s, b)
	})
	return streamtest.Elements[marked](goodCol), streamtest.Values[Bad](badCol), counts
}

// TestRead reads several files, an empty one and one twice among them.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	var in []File
	for name, text := range map[string]string{
		"a": "\ufeff" + record("a1") + "\r\n\r\nx\r\n" + record("a4"),
		"b": record("b1") + "\n" + strings.Repeat("x", 200) + "\n",
		"c": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		in = append(in, File{Path: path, Name: "the " + name})
	}
	in = append(in, File{Path: filepath.Join(dir, "b"), Name: "again"})

	good, bad, counts := readAll(t, 100, in)
	var got []Record
	for _, e := range good {
		if e.TimeMs != 1000 || !e.Global || e.Value.Key != math.MinInt64 {
			t.Errorf("%+v, want it at 1000 ms in the global window, with the mark of what cannot be late", e)
		}
		got = append(got, e.Value.Value)
	}
	want := []Record{
		{Key: "a1", Amount: 5, Value: 5, Source: "the a", Position: 1},
		{Key: "a4", Amount: 5, Value: 5, Source: "the a", Position: 4},
		{Key: "b1", Amount: 5, Value: 5, Source: "the b", Position: 1},
		{Key: "b1", Amount: 5, Value: 5, Source: "again", Position: 1},
	}
	if diff := streamtest.Diff(want, got, emptyRaw); diff != "" {
		t.Error(diff)
	}
	const long = "longer than 100 bytes, the limit on records"
	wantBad := []Bad{
		{Source: "the a", Position: 3, Raw: []byte("x"), Reason: "invalid JSON: unexpected 'x' at byte offset 0"},
		{Source: "the b", Position: 2, Raw: []byte(strings.Repeat("x", 100)), Reason: long},
		{Source: "again", Position: 2, Raw: []byte(strings.Repeat("x", 100)), Reason: long},
	}
	if diff := streamtest.Diff(wantBad, bad); diff != "" {
		t.Error(diff)
	}
	if read, refused := counts.Get(tally.Read), counts.Get(tally.Bad); read != 7 || refused != 3 {
		t.Errorf("read %d, bad %d, want 7 and 3", read, refused)
	}
}

// emptyRaw takes no and empty bytes for the same, as coders do.
var emptyRaw = cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })

// TestReadNothing reads no files, or none with a line.
func TestReadNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]File{"no files": {}, "an empty file": {{Path: empty, Name: "-"}}} {
		if good, bad, _ := readAll(t, 100, in); len(good)+len(bad) > 0 {
			t.Errorf("%s: %+v, %+v", name, good, bad)
		}
	}
}

// TestReadFails has files that are not there, or cannot be read: the job fails.
func TestReadFails(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ path, want string }{
		"gone":     {filepath.Join(dir, "gone"), "no such file or directory"},
		"a folder": {dir, "reading the input: "},
	} {
		_, err := streamtest.TryRun(func(s beam.Scope) {
			Read(s, Config{Fields: fields, MaxRecordBytes: 100}, []File{{Path: c.path, Name: "the input"}})
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

// TestReadBundles reads files that take several bundles on a runner, and end
// with one.
func TestReadBundles(t *testing.T) {
	dir := t.TempDir()
	line := record(strings.Repeat("k", 1000)) + "\n"
	var in []File
	for i, lines := range []int{bundleBytes/len(line) + 1, 3 * bundleBytes / len(line)} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(strings.Repeat(line, lines)), 0o666); err != nil {
			t.Fatal(err)
		}
		in = append(in, File{Path: path, Name: fmt.Sprint(lines)})
	}
	good, bad, _ := readAll(t, 2000, in)
	for _, f := range in {
		seen := map[int64]int{}
		for _, e := range good {
			if e.Value.Value.Source == f.Name {
				seen[e.Value.Value.Position]++
			}
		}
		var n int64
		if _, err := fmt.Sscan(f.Name, &n); err != nil {
			t.Fatal(err)
		}
		for line := int64(1); line <= n; line++ {
			if seen[line] != 1 {
				t.Fatalf("line %d of %d was read %d times", line, n, seen[line])
			}
		}
		if int64(len(seen)) != n {
			t.Errorf("%d lines, want %d", len(seen), n)
		}
	}
	if len(bad) > 0 {
		t.Errorf("bad records: %+v", bad)
	}
}

// TestReadParallel reads a file that is large enough for ranges, on a runner.
// Its lines are long, so that there are few.
func TestReadParallel(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 128 MiB")
	}
	path := filepath.Join(t.TempDir(), "in.ndjson")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", 1<<20-100)
	want, wantBad := map[int64]int64{}, map[int64]bool{}
	at := int64(0)
	for i := int64(0); at < 2*SplitBytes; i++ {
		text := fmt.Sprintf(`{"k":"","t":1000,"m":%d,"pad":"%s"}`+"\n", i, pad)
		if i%10 == 9 {
			text = fmt.Sprintf("x%d%s\n", i, pad)
			wantBad[at] = true
		} else {
			want[at] = i
		}
		n, err := out.WriteString(text)
		if err != nil {
			t.Fatal(err)
		}
		at += int64(n)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	good, bad, counts := readAll(t, 1<<20, []File{{Path: path, Name: "in"}})
	got, gotBad := map[int64]int64{}, map[int64]bool{}
	for _, e := range good {
		got[e.Value.Value.Position] = e.Value.Value.Amount
	}
	for _, b := range bad {
		gotBad[b.Position] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(good) != len(want) {
		t.Errorf("%d records, want %d: amounts by offset: mismatch (-want +got):\n%s", len(good), len(want), diff)
	}
	if diff := cmp.Diff(wantBad, gotBad); diff != "" || len(bad) != len(wantBad) {
		t.Errorf("%d bad records, want %d: mismatch (-want +got):\n%s", len(bad), len(wantBad), diff)
	}
	if read := counts.Get(tally.Read); read != int64(len(want)+len(wantBad)) {
		t.Errorf("read %d", read)
	}
}

func TestPaths(t *testing.T) {
	got := Paths([]File{{Path: "a", Name: "x"}, {Name: "-"}, {Path: "b"}})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
