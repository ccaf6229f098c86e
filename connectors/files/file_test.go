package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		path   string
		format Format
		want   File
		err    string
	}{
		{path: "a.ndjson", want: File{Format: NDJSON}},
		{path: "a.jsonl", want: File{Format: NDJSON}},
		{path: "x/a.json.gz", want: File{Format: NDJSON, Gzip: true}},
		{path: "a", want: File{Format: NDJSON}},
		{path: "a.gz", want: File{Format: NDJSON, Gzip: true}},
		{path: "a.csv", want: File{Format: CSV}},
		{path: "a.csv.gz", want: File{Format: CSV, Gzip: true}},
		{path: "dir.csv/a", want: File{Format: NDJSON}},
		{path: "a.txt", format: CSV, want: File{Format: CSV}},
		{path: "a.csv.gz", format: NDJSON, want: File{Format: NDJSON, Gzip: true}},
		{path: "a.txt", err: `a.txt: files of kind ".txt" are not known, want .ndjson or .csv, or one of these with .gz`},
		{path: "a.gz.gz", err: `a.gz.gz: files of kind ".gz" are not known`},
	} {
		got, err := Of(c.path, c.format)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("Of(%q): %v, want %s", c.path, err, c.err)
			}
			continue
		}
		c.want.Path, c.want.Name = c.path, c.path
		if err != nil || got != c.want {
			t.Errorf("Of(%q) = %+v, %v, want %+v", c.path, got, err, c.want)
		}
	}
}

func TestByName(t *testing.T) {
	for path, want := range map[string]Format{
		"a.csv": CSV, "a.csv.gz": CSV, "x.csv/a.jsonl": NDJSON, "a.ndjson.gz": NDJSON, "a.json": NDJSON, "a": "given", "a.gz": "given", "a.txt": "given",
	} {
		f, err := Of(path, "given")
		f.ByName()
		if err != nil || f.Format != want {
			t.Errorf("%s: %+v, error %v, want %s", path, f, err, want)
		}
	}
}

func TestGlob(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"b.ndjson", "a.csv", "c.ndjson.gz", "odd[1].ndjson", "odd1.ndjson", "x.xml"} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("d.ndjson", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern string
		want    []string
		err     string
	}{
		{pattern: "b.ndjson", want: []string{"b.ndjson"}},
		{pattern: "[a-d].*", want: []string{"a.csv", "b.ndjson", "c.ndjson.gz"}},
		{pattern: "odd[1].ndjson", want: []string{"odd[1].ndjson"}}, // what exists is no pattern
		{pattern: "odd?1?.ndjson", want: []string{"odd[1].ndjson"}},
		{pattern: "*", err: `x.xml: files of kind ".xml" are not known`},
		{pattern: "z*", err: "z*: no file matches"},
		{pattern: "d*", err: "d*: no file matches"},
		{pattern: "d.ndjson", err: "d.ndjson: is a directory, want a file or a pattern such as " + filepath.Join("d.ndjson", "*.ndjson")},
		{pattern: "z", err: "z: no such file"},
		{pattern: "[", err: "[: syntax error in pattern"},
	} {
		found, err := Glob(c.pattern, "")
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("Glob(%q): %v, want %s", c.pattern, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, Paths(found)); err != nil || diff != "" {
			t.Errorf("Glob(%q): %v, mismatch (-want +got):\n%s", c.pattern, err, diff)
		}
	}
}
