package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// extensions are those of the files that lines can go to.
var extensions = []string{".ndjson", ".csv"}

// extension is that of uri among them, or empty.
func extension(uri string) string {
	for _, ext := range extensions {
		if strings.HasSuffix(uri, ext) {
			return ext
		}
	}
	return ""
}

// Target is where the lines of an output go: a file or standard output. The zero
// Target is neither; it stands for an output that is not wanted.
type Target struct {
	uri string // "-", a path, or empty
}

// ParseTarget reads a target: "-" is standard output, a path that ends in
// .ndjson or .csv is a file. It does not look at the file system; see [Target.Check].
func ParseTarget(uri string) (Target, error) {
	const want = "want - or a path that ends in .ndjson or .csv"
	switch scheme := schemeOf(uri); {
	case uri == "-":
	case uri == "":
		return Target{}, fmt.Errorf("output is empty, %s", want)
	case scheme != "" && extension(uri) != "":
		return Target{}, fmt.Errorf("output %q has the scheme %s, %s (if it is a path, begin with ./)", uri, scheme, want)
	case scheme != "":
		return Target{}, fmt.Errorf("output %q has the scheme %s, %s", uri, scheme, want)
	case strings.ContainsRune(uri, 0):
		return Target{}, fmt.Errorf("output %q holds a zero byte, %s", uri, want)
	case extension(uri) == "":
		return Target{}, fmt.Errorf("output %q %s, %s", uri, ending(uri), want)
	}
	return Target{uri}, nil
}

// schemeOf returns the scheme of a URI, or "" if it has none. One letter is not
// a scheme but a drive.
func schemeOf(uri string) string {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 {
		return ""
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20 // lower case
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= scheme[i] && scheme[i] <= '9' || strings.IndexByte("+-.", scheme[i]) >= 0):
		default:
			return ""
		}
	}
	return scheme
}

// ending says how a path ends, for people.
func ending(path string) string {
	if ext := filepath.Ext(path); ext != "" {
		return fmt.Sprintf("ends in %q", ext)
	}
	return "has no extension"
}

// String returns the target as it was given.
func (t Target) String() string { return t.uri }

// IsZero reports whether t is the zero Target.
func (t Target) IsZero() bool { return t.uri == "" }

// IsCSV reports whether t is a file of comma-separated values.
func (t Target) IsCSV() bool { return extension(t.uri) == ".csv" }

// IsStdout reports whether t is standard output.
func (t Target) IsStdout() bool { return t.uri == "-" }

// Check reports why lines could not be written to t. It creates an empty file
// next to t and removes it, and changes nothing else. A file that is there must
// be a regular one, and writable: it is replaced, which its own permissions
// would not prevent.
func (t Target) Check() error {
	if t.IsZero() {
		return errors.New("no output is given")
	}
	if t.IsStdout() {
		return nil
	}
	path, err := followLinks(t.uri)
	if err != nil {
		return fmt.Errorf("output %q: %w", t.uri, cause(err))
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("output %q: %w", t.uri, cause(err))
	case info.IsDir():
		return fmt.Errorf("output %q is a folder, want a file", t.uri)
	case !info.Mode().IsRegular():
		return fmt.Errorf("output %q is a special file (%v), want a regular one", t.uri, info.Mode())
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("output %q cannot be written: %w", t.uri, cause(err))
		}
		f.Close() //nolint:errcheck // nothing was written
	}
	dir := folder(path)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("output %q: folder %q: %w", t.uri, dir, cause(err))
	}
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("output %q: folder %q takes no files: %w", t.uri, dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// CheckDistinct reports two targets that name the same file, or standard output
// twice. Names that differ can still name one file: through relative paths,
// symbolic or hard links, or a file system that ignores case. Zero Targets are
// passed over.
func CheckDistinct(targets ...Target) error {
	for i, t := range targets {
		for _, u := range targets[:i] {
			switch {
			case t.IsZero() || u.IsZero():
			case t.IsStdout() && u.IsStdout():
				return errors.New("two outputs are standard output, want at most one")
			case t.SameFile(u.uri):
				return fmt.Errorf("outputs %q and %q are the same file, want different ones", u.uri, t.uri)
			}
		}
	}
	return nil
}

// SameFile reports whether t is the file that path names, which need not exist.
func (t Target) SameFile(path string) bool {
	if t.IsZero() || t.IsStdout() || path == "" || path == "-" {
		return false
	}
	return SameFile(t.uri, path)
}

// SameFile reports whether two paths name the same file, which need not exist.
func SameFile(path, other string) bool {
	a, errA := followLinks(path)
	b, errB := followLinks(other)
	if errA != nil || errB != nil {
		return path == other
	}
	if same, _ := sameInode(a, b); same {
		return true
	}
	if same, known := sameInode(folder(a), folder(b)); known {
		return same && filepath.Base(a) == filepath.Base(b)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// sameInode reports whether two paths lead to the same place, which is known
// only if both exist.
func sameInode(a, b string) (same, known bool) {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX != nil || errY != nil {
		return false, false
	}
	return os.SameFile(x, y), true
}
