package dataflow

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Build is the command that builds a worker of this program.
const Build = "CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o tidemark-worker ./cmd/tidemark"

// Worker is the binary that Dataflow's machines would run. Without a Path there is
// none yet.
type Worker struct {
	Path   string `json:"path,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`

	// Platform is what the binary is for: linux/amd64, or nothing without one.
	Platform string `json:"platform,omitempty"`

	// Static says that it needs no libraries of the machine's. One that does can
	// fail to start in the container.
	Static bool `json:"static"`

	// Missing says why there is none, and Build how to make one.
	Missing string `json:"missing,omitempty"`
	Build   string `json:"build,omitempty"`
}

// platform is that of Dataflow's workers.
const platform = "linux/amd64"

// FindWorker is the binary at path, or else the running program, where goos and
// goarch, which it was built for, say that it can be one.
func FindWorker(path, goos, goarch string) (Worker, error) {
	own := goos + "/" + goarch
	if path == "" && own != platform {
		return Worker{
			Missing: fmt.Sprintf("this program is for %s, and workers are %s: build one, and name it by --worker_binary", own, platform),
			Build:   Build,
		}, nil
	}
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return Worker{}, err
		}
	}
	return readWorker(path)
}

// readWorker reads what there is to know of the binary at path.
func readWorker(path string) (w Worker, err error) {
	f, err := openRegular(path)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w = Worker{Path: path, Platform: platform}
	if w.Static, err = checkELF(f); err != nil {
		return w, fmt.Errorf("%s %w, want a program for %s, as from %s", path, err, platform, Build)
	}
	sum := sha256.New()
	if w.Bytes, err = io.Copy(sum, f); err != nil {
		return w, err
	}
	w.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return w, nil
}

// openRegular opens a file that is one.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	var gone *fs.PathError
	switch {
	case errors.As(err, &gone):
		return nil, fmt.Errorf("%s: %w", path, gone.Err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file, want a program for %s", path, platform)
	}
	return os.Open(path)
}

// checkELF checks that r is a program for Linux on amd64, and reports whether it
// needs no libraries.
func checkELF(r io.ReaderAt) (static bool, err error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return false, errors.New("is no ELF file")
	}
	switch {
	case f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB || f.Machine != elf.EM_X86_64:
		return false, fmt.Errorf("is for machines of %v, %v, %v", f.Machine, f.Class, f.Data)
	case f.OSABI != elf.ELFOSABI_NONE && f.OSABI != elf.ELFOSABI_LINUX:
		return false, fmt.Errorf("is for systems of %v", f.OSABI)
	case f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN || f.Entry == 0:
		return false, fmt.Errorf("is no program but %v", f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false, nil
		}
	}
	return true, nil
}
