package sink

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func batchOf(lines ...string) Batch {
	var p Packer
	for _, l := range lines {
		p.Add([]byte("any order"), []byte(l))
	}
	return p.Bytes()
}

func TestAppender(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string // "-" is no file
		header string
		want   string
		err    string
	}{
		{"new file", "-", "", "one\ntwo\nthree\n", ""},
		{"empty file", "", "", "one\ntwo\nthree\n", ""},
		{"behind lines", "old\n", "", "old\none\ntwo\nthree\n", ""},
		{"behind a torn line", "old\nto", "", "old\nto\none\ntwo\nthree\n", ""},
		{"header of a new file", "-", "a,b", "a,b\none\ntwo\nthree\n", ""},
		{"header of an empty file", "", "a,b", "a,b\none\ntwo\nthree\n", ""},
		{"header is there", "a,b\nold\n", "a,b", "a,b\nold\none\ntwo\nthree\n", ""},
		{"header without an end", "a,b", "a,b", "a,b\none\ntwo\nthree\n", ""},
		{"another header", "a,c\nold\n", "a,b", "a,c\nold\n", `begins with "a,c", want the header "a,b", or an empty file`},
		{"another header, and a torn line", "a,c\nto", "a,b", "a,c\nto", `begins with "a,c", want the header "a,b", or an empty file`},
		{"a longer header", "a,bc\n", "a,b", "a,bc\n", `begins with "a,bc", want the header "a,b", or an empty file`},
	} {
		path := filepath.Join(t.TempDir(), "out.ndjson")
		if c.before != "-" {
			must(t, os.WriteFile(path, []byte(c.before), 0o666))
		}
		if err := CheckAppend(parse(t, path), Layout{Header: c.header}); (err != nil) != (c.err != "") {
			t.Errorf("%s: the check says %v, want %q", c.name, err, c.err)
		}
		if _, err := os.Stat(path); (err != nil) != (c.before == "-") {
			t.Errorf("%s: the check has left the file as %v", c.name, err)
		}
		a, err := NewAppender(parse(t, path), Layout{Header: c.header}, nil)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
		} else {
			must(t, err)
			must(t, a.AddBatch(batchOf("one", "two")))
			must(t, a.AddBatch(nil))
			must(t, a.AddSpool(spoolOf(t, "three")))
			must(t, a.Close())
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestAppenderToStdout(t *testing.T) {
	var out bytes.Buffer
	a, err := NewAppender(parse(t, "-"), Layout{Header: "a\tb", Right: []bool{false, true}}, &out)
	must(t, err)
	must(t, a.AddBatch(batchOf("x\t1", "long\t234")))
	must(t, a.AddBatch(batchOf("y\t5")))
	must(t, a.Close())
	if want := "a  b\nx  1\nlong  234\ny       5\n"; out.String() != want {
		t.Errorf("%q, want %q: columns grow as they have to", out.String(), want)
	}
}

// TestAppenderWhole has many writers: lines come whole.
func TestAppenderWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	a, err := NewAppender(parse(t, path), Layout{}, nil)
	must(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := a.AddBatch(batchOf(strings.Repeat(string(rune('a'+i)), 1000), "-")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, a.Close())
	text, err := os.ReadFile(path)
	must(t, err)
	got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(got) != 800 {
		t.Errorf("%d lines, want 800", len(got))
	}
	for _, l := range got {
		if l != "-" && l != strings.Repeat(l[:1], 1000) {
			t.Fatalf("a mixed line: %q", l)
		}
	}
}

// halfway takes a few bytes and then no more, as a full disk does.
type halfway struct{ *os.File }

func (h halfway) Write(b []byte) (int, error) {
	n, _ := h.File.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}

// TestAppenderFails fills the disk inside a line: the lines before stay whole,
// and nothing more is taken.
func TestAppenderFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	a, err := NewAppender(parse(t, path), Layout{}, nil)
	must(t, err)
	must(t, a.AddBatch(batchOf("one")))
	a.out = halfway{a.file}
	for range 2 {
		if err := a.AddBatch(batchOf("two", "three")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Errorf("AddBatch: %v, want no space, and where", err)
		}
	}
	must(t, a.Close())
	if got, err := os.ReadFile(path); err != nil || string(got) != "one\n" {
		t.Errorf("%q, %v, want what was there before", got, err)
	}
	if _, err := NewAppender(parse(t, filepath.Join(path, "x.ndjson")), Layout{}, nil); err == nil {
		t.Error("a file for a folder is taken")
	}
}

// TestAppenderBehindTorn has another process killed inside a line, and another one
// empty the file, while an appender is open.
func TestAppenderBehindTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	a, err := NewAppender(parse(t, path), Layout{Header: "h"}, nil)
	must(t, err)
	must(t, a.AddBatch(batchOf("one")))
	other, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = other.WriteString("whole\nto")
	must(t, errors.Join(err, other.Close()))
	must(t, a.AddBatch(batchOf("two", "three")))
	must(t, a.AddBatch(batchOf("four")))
	if got, err := os.ReadFile(path); err != nil || string(got) != "h\none\nwhole\nto\ntwo\nthree\nfour\n" {
		t.Errorf("behind a torn line: %q, %v", got, err)
	}
	must(t, os.Truncate(path, 0))
	must(t, a.AddSpool(spoolOf(t, "five")))
	must(t, a.Close())
	if got, err := os.ReadFile(path); err != nil || string(got) != "h\nfive\n" {
		t.Errorf("in an empty file: %q, %v", got, err)
	}
}

func TestTable(t *testing.T) {
	l := Layout{Header: "key\tsum\tnote", Right: []bool{false, true, false}}
	var out bytes.Buffer
	must(t, Commit(parse(t, "-"), l, spoolOf(t, "é\t-5\t", "longer\t1234\tx"), &out))
	if want := "key      sum  note\né         -5  \nlonger  1234  x\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	must(t, Commit(parse(t, "-"), l, spoolOf(t), &out))
	if want := "key  sum  note\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
