package sink

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many symbolic links may lead to a file.
const maxLinks = 40

// followLinks returns the path of the file that would be made by creating path:
// path itself, or what it leads to where it is a symbolic link. The file need
// not exist.
//
// Paths are joined as text: cleaning "link/../file" would name another file.
func followLinks(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		next, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			dir, _ := filepath.Split(path)
			next = dir + next
		}
		path = next
	}
	return "", errors.New("too many symbolic links")
}

// folder returns the folder that path is in.
func folder(path string) string {
	if dir, _ := filepath.Split(path); dir != "" {
		return dir
	}
	return "."
}

// createBeside creates a temporary file in the folder of path, with the
// permissions of any new file: os.CreateTemp would keep it from everyone else.
// Its name does not hold path's, which may be as long as names can be.
func createBeside(path string) (*os.File, error) {
	dir, _ := filepath.Split(path)
	var id [8]byte
	rand.Read(id[:]) // never fails, by its own contract
	return os.OpenFile(fmt.Sprintf("%s.tidemark-%x.tmp", dir, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

// cause strips the call and the path from an error of package os.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
