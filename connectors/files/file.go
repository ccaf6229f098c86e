package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Format is how records are written.
type Format string

// The formats: an object of JSON on each line, and comma-separated values with
// a header.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// File is a file to read.
type File struct {
	Path string
	Name string // what records call their source

	Format Format // NDJSON where empty
	Gzip   bool   // compressed

	// Pipe is the id of an open pipe ([OpenPipe]) to read instead of Path, or
	// empty.
	Pipe string
}

// extensions are those that [Of] knows, without .gz.
var extensions = map[string]Format{".ndjson": NDJSON, ".jsonl": NDJSON, ".json": NDJSON, "": NDJSON, ".csv": CSV}

// Of is the file at path. Where the format is empty the name says what is in it:
// .csv, or .ndjson, .jsonl, .json or no extension, each with or without .gz
// behind it.
func Of(path string, format Format) (File, error) {
	f := File{Path: path, Name: path}
	name := filepath.Base(path)
	if rest, ok := strings.CutSuffix(name, ".gz"); ok {
		f.Gzip, name = true, rest
	}
	if f.Format = format; format == "" {
		ext := filepath.Ext(name)
		known, ok := extensions[ext]
		if !ok {
			return File{}, fmt.Errorf("%s: files of kind %q are not known, want .ndjson or .csv, or one of these with .gz", path, ext)
		}
		f.Format = known
	}
	return f, nil
}

// ByName sets the format that the name of the file says, whatever was given to
// [Of]. A name without an extension, or with one that is not known, says none.
func (f *File) ByName() {
	ext := filepath.Ext(strings.TrimSuffix(filepath.Base(f.Path), ".gz"))
	if known, ok := extensions[ext]; ok && ext != "" {
		f.Format = known
	}
}

// Glob is the files that a path or a pattern of package filepath names, in
// lexical order. A path that exists is never taken for a pattern. Folders are
// no files: a pattern passes them over. For the format see [Of].
func Glob(pattern string, format Format) ([]File, error) {
	paths := []string{pattern}
	if _, err := os.Stat(pattern); errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(pattern, `*?[`) {
		if paths, err = filepath.Glob(pattern); err != nil {
			return nil, fmt.Errorf("%s: %w: want a path, or a pattern of *, ? and [a-z]", pattern, err)
		}
		paths = slices.DeleteFunc(paths, isFolder)
		if len(paths) == 0 {
			return nil, fmt.Errorf("%s: no file matches", pattern)
		}
		slices.Sort(paths)
	}
	var found []File
	for _, p := range paths {
		if err := CheckReadable(p); err != nil {
			return nil, err
		}
		f, err := Of(p, format)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// CheckReadable says why path is not a file that can be read, or returns nil.
func CheckReadable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory, want a file or a pattern such as %s", path, filepath.Join(path, "*.ndjson"))
	}
	if !info.Mode().IsRegular() {
		return nil // a named pipe can be opened once only
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return in.Close()
}

// Regular reports whether a file can be read again: it is neither standard input
// nor a named pipe or device.
func (f File) Regular() bool {
	info, err := os.Stat(f.Path)
	return f.Path != "" && f.Pipe == "" && (err != nil || info.Mode().IsRegular())
}

// CheckPair says why two inputs cannot be read together, or returns nil: what can
// be read only once cannot be on both sides.
func CheckPair(left, right []File) error {
	for _, l := range left {
		if l.Regular() {
			continue
		}
		if slices.ContainsFunc(right, l.same) {
			return fmt.Errorf("%s: on both sides, and can be read only once, want a file", l.Name)
		}
	}
	return nil
}

// same reports whether two files that can be read only once are one.
func (f File) same(g File) bool {
	switch {
	case f.Path == g.Path && f.Pipe == g.Pipe:
		return true
	case f.Pipe != "" || g.Pipe != "" || g.Regular():
		return false
	}
	a, errA := f.stat()
	b, errB := g.stat()
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// stat is about standard input where there is no path: it has one of its own,
// /dev/stdin.
func (f File) stat() (os.FileInfo, error) {
	if f.Path == "" {
		return os.Stdin.Stat()
	}
	return os.Stat(f.Path)
}

// Paths are the paths of files, for checks against outputs.
func Paths(files []File) []string {
	var paths []string
	for _, f := range files {
		if f.Path != "" {
			paths = append(paths, f.Path)
		}
	}
	return paths
}
