package sink

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, uri := range []string{
		"-", "a.ndjson", "./a.ndjson", "/tmp/a b/c.ndjson", "out/2024:01.ndjson", "2024-01-01T00:00.ndjson",
		`C:\out.ndjson`, "./sqlite:a.ndjson", ".ndjson", "a.csv.ndjson", "\u00e9.ndjson",
	} {
		target, err := ParseTarget(uri)
		if err != nil || target.String() != uri || target.IsStdout() != (uri == "-") || target.IsZero() {
			t.Errorf("ParseTarget(%q) = %q, %v", uri, target, err)
		}
	}
	for _, tc := range []struct{ uri, want string }{
		{"", "output is empty, want - or a path that ends in .ndjson or .csv"},
		{"sqlite:mart.db", `output "sqlite:mart.db" has the scheme sqlite, want - or a path`},
		{"postgres://host/db", "has the scheme postgres, want"},
		{"kafka://broker/topic.ndjson", "has the scheme kafka, want"},
		{"FILE:a.ndjson", "has the scheme FILE, want - or a path that ends in .ndjson or .csv (if it is a path, begin with ./)"},
		{"x-y+z.1:a", "has the scheme x-y+z.1, want"},
		{"mart.db", `output "mart.db" ends in ".db", want`},
		{"a.ndjson.gz", `ends in ".gz", want`},
		{"a.NDJSON", `ends in ".NDJSON", want`},
		{"ndjson", `has no extension, want`},
		{"/dev/stdout", "has no extension, want"},
		{"out.ndjson/", "has no extension, want"},
		{"--late_output", "has no extension, want"},
		{"a\x00.ndjson", "holds a zero byte, want"},
	} {
		target, err := ParseTarget(tc.uri)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !target.IsZero() {
			t.Errorf("ParseTarget(%q) = %q, %v, want an error with %q", tc.uri, target, err, tc.want)
		}
	}
}

// parse is ParseTarget for targets that are well-formed.
func parse(t *testing.T, uri string) Target {
	t.Helper()
	target, err := ParseTarget(uri)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// touch makes a file with a little text.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names lists a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	touch(t, path("old.ndjson"))
	touch(t, path("file"))
	must(t, os.Mkdir(path("folder.ndjson"), 0o755))
	must(t, os.Symlink("old.ndjson", path("link.ndjson")))
	must(t, os.Symlink("new", path("dangling.ndjson")))
	must(t, os.Symlink("missing/new", path("lost.ndjson")))
	must(t, os.Symlink("loop.ndjson", path("loop.ndjson")))
	must(t, os.Symlink("folder.ndjson", path("tofolder.ndjson")))
	must(t, os.Symlink(os.DevNull, path("null.ndjson")))
	must(t, syscall.Mkfifo(path("pipe.ndjson"), 0o644))
	before := names(t, dir)
	long := strings.Repeat("x", 248) + ".ndjson" // 255 bytes, the most there is

	for _, tc := range []struct{ uri, want string }{
		{"-", ""},
		{path("new.ndjson"), ""},
		{path("old.ndjson"), ""},
		{path("link.ndjson"), ""},
		{path("dangling.ndjson"), ""},
		{path(long), ""},
		{path("x" + long), "file name too long"},
		{path("folder.ndjson"), "is a folder, want a file"},
		{path("tofolder.ndjson"), "is a folder, want a file"},
		{path("pipe.ndjson"), "is a special file (prw-r--r--), want a regular one"},
		{path("null.ndjson"), "is a special file"},
		{path("missing/a.ndjson"), `: folder "` + path("missing") + `/": no such file or directory`},
		{path("lost.ndjson"), `: folder "` + path("missing") + `/": no such file or directory`},
		{path("file/a.ndjson"), ": not a directory"},
		{path("loop.ndjson"), "too many symbolic links"},
	} {
		err := parse(t, tc.uri).Check()
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("Check of %s: %v", tc.uri, err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), `output "`+tc.uri+`"`) || !strings.HasSuffix(err.Error(), tc.want) && !strings.Contains(err.Error(), tc.want)):
			t.Errorf("Check of %s: %v, want %q", tc.uri, err, tc.want)
		}
	}
	if after := names(t, dir); after != before {
		t.Errorf("files after checks: %s, before: %s", after, before)
	}
	if text, err := os.ReadFile(path("old.ndjson")); err != nil || string(text) != "old\n" {
		t.Errorf("file after checks: %q, %v", text, err)
	}
	if err := (Target{}).Check(); err == nil {
		t.Error("the zero Target passes")
	}
}

func TestCheckHere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := parse(t, "a.ndjson").Check(); err != nil {
		t.Error(err)
	}
	if got := names(t, "."); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// Permissions do not hold for the superuser.
func TestCheckPermissions(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("runs as root")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.ndjson")
	touch(t, file)
	must(t, os.Chmod(file, 0o444))
	if err := parse(t, file).Check(); err == nil || !strings.Contains(err.Error(), "cannot be written: permission denied") {
		t.Errorf("read-only file: %v", err)
	}
	must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755) //nolint:errcheck // the folder goes away
	other := filepath.Join(dir, "b.ndjson")
	if err := parse(t, other).Check(); err == nil || !strings.Contains(err.Error(), "takes no files: permission denied") {
		t.Errorf("read-only folder: %v", err)
	}
}

func TestCheckDistinct(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.MkdirAll("a/b", 0o755))
	must(t, os.Symlink("a/b", "way"))
	must(t, os.Symlink("../new.ndjson", "a/link.ndjson"))
	must(t, os.Symlink("link.ndjson", "a/linklink.ndjson"))
	touch(t, "old.ndjson")
	must(t, os.Link("old.ndjson", "a/hard.ndjson"))

	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"new.ndjson", "new.ndjson", true},
		{"new.ndjson", "./new.ndjson", true},
		{"new.ndjson", dir + "/new.ndjson", true},
		{"new.ndjson", "a/../new.ndjson", true},
		{"new.ndjson", "a//../a/b/../..//new.ndjson", true},
		{"new.ndjson", "a/link.ndjson", true},
		{"new.ndjson", "a/linklink.ndjson", true},
		{"a/new.ndjson", "way/../new.ndjson", true}, // not new.ndjson: way leads to a/b
		{"new.ndjson", "way/../new.ndjson", false},
		{"way/new.ndjson", "a/b/new.ndjson", true},
		{"old.ndjson", "./old.ndjson", true},
		{"old.ndjson", "a/hard.ndjson", true},
		{"old.ndjson", "a/old.ndjson", false},
		{"new.ndjson", "new2.ndjson", false},
		{"new.ndjson", "old.ndjson", false},
		{"missing/a.ndjson", "missing/a.ndjson", true},
		{"missing/a.ndjson", "a.ndjson", false},
		{"-", "new.ndjson", false},
		{"-", "-", true},
	} {
		a, b := parse(t, tc.a), parse(t, tc.b)
		for _, list := range [][]Target{{a, b}, {b, a}, {{}, a, {}, parse(t, "c.ndjson"), b, {}}} {
			if err := CheckDistinct(list...); (err != nil) != tc.same {
				t.Errorf("CheckDistinct(%v): %v, want an error: %v", list, err, tc.same)
			}
		}
	}
	if err := CheckDistinct(); err != nil {
		t.Error(err)
	}
	err := CheckDistinct(parse(t, "a.ndjson"), parse(t, "b.ndjson"), parse(t, "./a.ndjson"))
	if err == nil || err.Error() != `outputs "a.ndjson" and "./a.ndjson" are the same file, want different ones` {
		t.Errorf("CheckDistinct: %v", err)
	}
	if parse(t, "-").SameFile("-") || (Target{}).SameFile("") {
		t.Error("what is no file is the same file as something")
	}
}
