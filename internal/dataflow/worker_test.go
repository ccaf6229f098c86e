package dataflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// header is the header of an ELF file of 64 bits with one segment, of the given type,
// and nothing else.
func header(segment uint32) []byte {
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00")
	b.Write(make([]byte, 8))
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), // EXEC, X86_64, version
		uint64(0x401000), uint64(64), uint64(0), // entry, segments, sections
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0),
		segment, uint32(4), // type, flags
		[6]uint64{},
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

const (
	load   = 1 // PT_LOAD
	interp = 3 // PT_INTERP
)

// changed is b with other bytes from an offset on.
func changed(b []byte, at int, to ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], to)
	return b
}

func TestELF(t *testing.T) {
	good := header(load)
	for _, tt := range []struct {
		name   string
		file   []byte
		static bool
		want   string // in the error
	}{
		{"a program", good, true, ""},
		{"for Linux by name", changed(good, 7, 3), true, ""},
		{"that can be anywhere", changed(good, 16, 3), true, ""},
		{"with libraries", header(interp), false, ""},

		{"nothing", nil, false, "is no ELF file"},
		{"text", []byte("#!/bin/sh\nexec tidemark\n"), false, "is no ELF file"},
		{"of Windows", changed(good, 0, 'M', 'Z'), false, "is no ELF file"},
		{"cut short", good[:40], false, "is no ELF file"},
		{"for arm64", changed(good, 18, 183), false, "is for machines of EM_AARCH64"},
		{"for 386", changed(good, 18, 3), false, "is for machines of EM_386"},
		{"big-endian", changed(good, 5, 2), false, "is"},
		{"of 32 bits", changed(good, 4, 1), false, "is"},
		{"for FreeBSD", changed(good, 7, 9), false, "is for systems of ELFOSABI_FREEBSD"},
		{"for OpenBSD", changed(good, 7, 12), false, "is for systems of ELFOSABI_OPENBSD"},
		{"an object file", changed(good, 16, 1), false, "is no program but ET_REL"},
		{"a core dump", changed(good, 16, 4), false, "is no program but ET_CORE"},
		{"without a beginning", changed(good, 24, make([]byte, 8)...), false, "is no program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			static, err := checkELF(bytes.NewReader(tt.file))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
				t.Errorf("error %v, want %s", err, tt.want)
			case static != tt.static:
				t.Errorf("static: %v", static)
			}
		})
	}
}

func TestFindWorker(t *testing.T) {
	dir := t.TempDir()
	path, text := filepath.Join(dir, "worker"), filepath.Join(dir, "worker.sh")
	good := header(load)
	for name, b := range map[string][]byte{path: good, text: []byte("#!/bin/sh\n")} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256(good)
	got, err := FindWorker(path, "plan9", "mips")
	if want := (Worker{Path: path, Bytes: int64(len(good)), SHA256: hex.EncodeToString(sum[:]), Platform: "linux/amd64", Static: true}); err != nil || got != want {
		t.Errorf("%+v, error %v, want %+v", got, err, want)
	}
	for path, want := range map[string]string{
		text:                       "worker.sh is no ELF file, want a program for linux/amd64, as from CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build",
		filepath.Join(dir, "gone"): "gone: no such file or directory",
		dir:                        "is no file, want a program for linux/amd64",
	} {
		if _, err := FindWorker(path, "linux", "amd64"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
}

// TestNoWorker says how to build a worker where the program cannot be one.
func TestNoWorker(t *testing.T) {
	for _, own := range [][2]string{{"darwin", "arm64"}, {"linux", "arm64"}, {"windows", "amd64"}} {
		got, err := FindWorker("", own[0], own[1])
		if err != nil || got.Path != "" || got.SHA256 != "" || got.Build != Build || !strings.Contains(got.Missing, own[0]+"/"+own[1]) {
			t.Errorf("%v: %+v, error %v", own, got, err)
		}
	}
}
