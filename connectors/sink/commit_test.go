package sink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// spoolOf returns a spool of lines, in order.
func spoolOf(t *testing.T, lines ...string) *Spool {
	t.Helper()
	sp := NewSpool(t.TempDir(), false)
	t.Cleanup(func() { must(t, sp.Close()) })
	for _, line := range lines {
		must(t, sp.Add(nil, []byte(line)))
	}
	return sp
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestCommitToFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.ndjson")
	for _, lines := range [][]string{{"one", "two"}, {"three"}, {}} {
		must(t, Commit(parse(t, path), Layout{}, spoolOf(t, lines...), nil))
		want := ""
		for _, line := range lines {
			want += line + "\n"
		}
		if got := read(t, path); got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
	}
	if got := names(t, dir); got != "out.ndjson" {
		t.Errorf("files: %s", got)
	}
}

func TestCommitToStdout(t *testing.T) {
	var out bytes.Buffer
	must(t, Commit(parse(t, "-"), Layout{}, spoolOf(t, "one", "two"), &out))
	if out.String() != "one\ntwo\n" {
		t.Errorf("stdout = %q", out.String())
	}
	if err := Commit(Target{}, Layout{}, spoolOf(t), &out); err == nil {
		t.Error("the zero Target takes lines")
	}
}

func TestCommitKeepsPermissions(t *testing.T) {
	was := syscall.Umask(0o027)
	defer syscall.Umask(was)
	dir := t.TempDir()
	for _, tc := range []struct {
		name       string
		mode, want os.FileMode // mode 0: no file
	}{
		{"new.ndjson", 0, 0o640},
		{"private.ndjson", 0o600, 0o600},
		{"open.ndjson", 0o666, 0o666},
		{"program.ndjson", 0o755, 0o755},
	} {
		path := filepath.Join(dir, tc.name)
		if tc.mode != 0 {
			touch(t, path)
			must(t, os.Chmod(path, tc.mode))
		}
		must(t, Commit(parse(t, path), Layout{}, spoolOf(t, "x"), nil))
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != tc.want {
			t.Errorf("%s: mode %v, want %v", tc.name, info.Mode(), tc.want)
		}
	}
}

func TestCommitThroughLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.MkdirAll("far/away", 0o755))
	must(t, os.Symlink("far/away", "way"))
	must(t, os.Symlink("../real.ndjson", "far/away/link.ndjson"))
	for _, line := range []string{"first", "second"} { // a dangling link, then not
		must(t, Commit(parse(t, "way/link.ndjson"), Layout{}, spoolOf(t, line), nil))
		if got := read(t, "far/real.ndjson"); got != line+"\n" {
			t.Errorf("file = %q, want %q", got, line)
		}
	}
	if got := names(t, "far/away"); got != "link.ndjson" {
		t.Errorf("files: %s", got)
	}
	if to, err := os.Readlink("far/away/link.ndjson"); err != nil || to != "../real.ndjson" {
		t.Errorf("the link is %q, %v", to, err)
	}
}

// A reader that has the old file open goes on to see the old lines.
func TestCommitReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	touch(t, path)
	f, err := os.Open(path)
	must(t, err)
	defer f.Close() //nolint:errcheck // read only
	must(t, Commit(parse(t, path), Layout{}, spoolOf(t, "new"), nil))
	if text, err := io.ReadAll(f); err != nil || string(text) != "old\n" {
		t.Errorf("open file = %q, %v", text, err)
	}
}

func TestCommitFailureKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.ndjson")
	touch(t, path)

	broken := spoolOf(t, "new")
	broken.err = errors.New("disk full")
	err := Commit(parse(t, path), Layout{}, broken, nil)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Commit: %v", err)
	}

	// Half of the lines are written when the rest turns out to be missing.
	half := NewSpool(dir, true)
	defer half.Close() //nolint:errcheck // its file is closed already
	half.memory = 1000
	for range 1000 {
		must(t, half.Add([]byte("k"), bytes.Repeat([]byte("x"), 300)))
	}
	must(t, half.disk.levels[0].file.File.Truncate(half.disk.levels[0].file.size-1))
	err = Commit(parse(t, path), Layout{}, half, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Commit: %v, want an unexpected end", err)
	}

	if got := read(t, path); got != "old\n" {
		t.Errorf("file = %q after failures, want the old lines", got)
	}
	if got := names(t, dir); got != "out.ndjson" {
		t.Errorf("files after failures: %s", got)
	}
}

// A target that has become a folder since it was checked cannot be replaced: the
// very last step fails.
func TestCommitFailureOfRename(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.ndjson")
	must(t, os.MkdirAll(filepath.Join(path, "x"), 0o755))
	if err := Commit(parse(t, path), Layout{}, spoolOf(t, "new"), nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Commit: %v", err)
	}
	if err := Commit(parse(t, filepath.Join(dir, "gone", "a.ndjson")), Layout{}, spoolOf(t, "new"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Commit: %v, want that the folder does not exist", err)
	}
	if got := names(t, dir); got != "out.ndjson" {
		t.Errorf("files: %s", got)
	}
}

func TestCommitToFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close() //nolint:errcheck // takes nothing anyway
	err = Commit(parse(t, "-"), Layout{}, spoolOf(t, "new"), full)
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), `output "-": writing lines: `) {
		t.Errorf("Commit: %v, want no space", err)
	}
}
