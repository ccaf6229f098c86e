package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// openParts opens the part of a worker.
func openParts(t *testing.T, p Parts) *part {
	t.Helper()
	place, err := p.Place()
	must(t, err)
	r, err := openPart([]byte(place.Config))
	must(t, err)
	return r.(*part)
}

func gathered(t *testing.T, p Parts) []string {
	t.Helper()
	sp := NewSpool(t.TempDir(), true)
	must(t, p.CopyTo(sp))
	return linesOf(t, sp)
}

// TestOptionalParts has a folder that is gone when a worker begins, and one that goes
// while it writes.
func TestOptionalParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	parts := Parts{Dir: dir, Name: "account", Optional: true}
	must(t, openParts(t, parts).AddBatch(orderedBatch("dropped")))

	must(t, os.Mkdir(dir, 0o777))
	p := openParts(t, parts)
	must(t, p.AddBatch(orderedBatch("kept")))
	if got := gathered(t, parts); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("gathered %q, want what came while the folder was there", got)
	}
	must(t, os.RemoveAll(dir))
	for range 2 {
		must(t, p.AddBatch(orderedBatch("dropped")))
	}
	if p.file != nil {
		t.Error("a file that was removed is still open, and takes space for nobody")
	}
	if err := parts.CopyTo(NewSpool(t.TempDir(), true)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gathering from no folder: %v, want that it is not there", err)
	}

	parts.Optional = false
	place, err := parts.Place()
	must(t, err)
	if _, err := openPart([]byte(place.Config)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lines that somebody wants: %v, want that there is no folder", err)
	}
	must(t, os.WriteFile(dir, nil, 0o666))
	parts.Optional = true
	place, err = parts.Place()
	must(t, err)
	if _, err := openPart([]byte(place.Config)); err == nil {
		t.Error("a file for a folder is taken")
	}
}

// TestPartsAnywhere has folders and outputs whose names are patterns, and other files
// beside the parts.
func TestPartsAnywhere(t *testing.T) {
	for _, name := range []string{"job[1]", "job*", `job\`, "[", "job"} {
		dir := filepath.Join(t.TempDir(), name)
		must(t, os.Mkdir(dir, 0o777))
		for _, output := range []string{"rows", "r[1]", "?ows"} {
			parts := Parts{Dir: dir, Name: output}
			for _, line := range []string{"a", "b"} {
				must(t, openParts(t, parts).AddBatch(orderedBatch(line+" "+output)))
			}
			must(t, os.WriteFile(filepath.Join(dir, output+"-1.other"), []byte("\x01"), 0o666))
		}
		if got, want := gathered(t, Parts{Dir: dir, Name: "?ows"}), []string{"a ?ows", "b ?ows"}; !slices.Equal(got, want) {
			t.Errorf("from %q: %q, want %q", name, got, want)
		}
	}
}

// fullAt takes half of a batch, as a full disk does.
type fullAt struct{ *os.File }

func (f fullAt) WriteAt(b []byte, at int64) (int, error) {
	n, _ := f.File.WriteAt(b[:len(b)/2], at)
	return n, syscall.ENOSPC
}

// TestPartFails fills the disk inside a batch, and then makes room: what was half
// written is not read, nor is what comes behind it read as a part of it.
func TestPartFails(t *testing.T) {
	parts := Parts{Dir: t.TempDir(), Name: "rows"}
	p := openParts(t, parts)
	must(t, p.AddBatch(orderedBatch("before")))
	p.out = fullAt{p.file}
	for range 2 {
		if err := p.AddBatch(orderedBatch(strings.Repeat("lost ", 100))); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("AddBatch: %v, want no space", err)
		}
	}
	p.out = p.file
	must(t, p.AddBatch(orderedBatch("behind")))
	if got, want := gathered(t, parts), []string{"before", "behind"}; !slices.Equal(got, want) {
		t.Errorf("gathered %q, want %q", got, want)
	}
}

// TestPartFailsForGood cannot take back what was half written: nothing comes behind
// it.
func TestPartFailsForGood(t *testing.T) {
	parts := Parts{Dir: t.TempDir(), Name: "rows"}
	p := openParts(t, parts)
	must(t, p.AddBatch(orderedBatch("before")))
	writable := p.file
	p.out = fullAt{writable}
	readOnly, err := os.Open(writable.Name())
	must(t, err)
	p.file = readOnly // cannot be truncated
	if err := p.AddBatch(orderedBatch("torn")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("AddBatch: %v, want no space", err)
	}
	p.out, p.file = writable, writable
	if err := p.AddBatch(orderedBatch("behind")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("AddBatch behind half a batch: %v, want the first error", err)
	}
	if got, want := gathered(t, parts), []string{"before"}; !slices.Equal(got, want) {
		t.Errorf("gathered %q, want %q", got, want)
	}
}
