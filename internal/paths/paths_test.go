package paths_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/paths"
)

// TestAbs has files that cleaned paths would miss: behind a symbolic link, and in front
// of a working directory that is one.
func TestAbs(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"here", "there", "there/inner"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../there/inner", filepath.Join(dir, "here", "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file", "there/file"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(path), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ from, path, want string }{
		{"here", "link/../file", "there/file"},
		{"here", "./link/../file", "there/file"},
		{"here", "../file", "file"},
		{"here/link", "../file", "there/file"},
		{"here", filepath.Join(dir, "here") + "/link/../file", "there/file"},
	} {
		t.Chdir(filepath.Join(dir, c.from))
		abs, err := paths.Abs(c.path)
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(os.TempDir())
		text, err := os.ReadFile(abs)
		if err != nil || !filepath.IsAbs(abs) || string(text) != c.want {
			t.Errorf("%s in %s is %s, which holds %q, %v, want %q", c.path, c.from, abs, text, err, c.want)
		}
	}
}

func TestAbsText(t *testing.T) {
	root, err := filepath.Abs("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for path, want := range map[string]string{
		"file":      root + "file",
		"a/../file": root + "a/../file",
		"":          root,
	} {
		if got, err := paths.Abs(path); err != nil || got != want {
			t.Errorf("%q in %s is %q, %v, want %q", path, root, got, err, want)
		}
	}
	if got, err := paths.Abs(root + "a/./b"); err != nil || got != root+"a/./b" {
		t.Errorf("an absolute path has become %q, %v", got, err)
	}
}
