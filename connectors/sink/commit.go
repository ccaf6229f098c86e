package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Commit writes the lines of sp to t, in the layout l: to stdout where t is
// standard output, else to its file, whole or not at all. The folder must exist. A new file gets the
// permissions that the umask leaves, a replaced one keeps its own.
//
// If Commit fails, the file is as it was; standard output may have got a part of
// the lines.
func Commit(t Target, l Layout, sp *Spool, stdout io.Writer) error {
	var err error
	switch {
	case t.IsZero():
		return errors.New("sink.Commit: no target")
	case t.IsStdout():
		err = l.release(sp, stdout)
	default:
		err = replaceFile(t.uri, func(w io.Writer) error { return l.release(sp, w) })
	}
	if err != nil {
		return fmt.Errorf("output %q: writing lines: %w", t.uri, err)
	}
	return nil
}

// replaceFile makes what write writes the content of the file at path.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	if path, err = followLinks(path); err != nil {
		return err
	}
	tmp, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()           //nolint:errcheck // the first error counts
			os.Remove(tmp.Name()) //nolint:errcheck // as above
		}
	}()
	if err := write(tmp); err != nil {
		return err
	}
	if err := keepMode(tmp, path); err != nil {
		return err
	}
	// A file system may do the renaming before the writing, and a crash in
	// between would leave neither the old lines nor the new ones.
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// keepMode gives f the permissions of the file at path, if there is one.
func keepMode(f *os.File, path string) error {
	was, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := f.Stat()
	if err != nil || is.Mode().Perm() == was.Mode().Perm() {
		return err
	}
	return f.Chmod(was.Mode().Perm())
}
