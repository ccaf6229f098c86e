// Package paths makes paths absolute for processes in other folders.
package paths

import (
	"os"
	"path/filepath"
)

// Abs returns an absolute path of the file that path names here: a relative one is put
// behind the working directory. Nothing is cleaned, as package filepath would do:
// where link is a symbolic link to a folder elsewhere, "link/../file" is not "file".
func Abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	if filepath.VolumeName(path) != "" || path != "" && os.IsPathSeparator(path[0]) {
		return filepath.Abs(path) // of a drive's own folder, or of the drive that we are on
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	return dir + path, nil
}
