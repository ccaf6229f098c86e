//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestJobFails lets the reading fail in the middle of a job: status 1, nothing on
// standard output, and the files that are there stay as they are.
func TestJobFails(t *testing.T) {
	// A regular file, to all appearances, that cannot be read.
	const unreadable = "/proc/self/mem"
	if _, err := os.Stat(unreadable); err != nil {
		t.Skip("needs a file that can be opened and not read")
	}
	dir := t.TempDir()
	if err := os.Symlink(unreadable, filepath.Join(dir, "in.ndjson")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "rows.ndjson", "old rows\n")
	write(t, dir, "late.ndjson", "old late records\n")
	for _, args := range []string{"", "--output rows.ndjson", "--late_output late.ndjson --bad_output bad.ndjson"} {
		r := tidemark(t, dir, "", append(strings.Fields("gmv --input in.ndjson --window 1h "+args), "--log_level", "error")...)
		if r.status != exitFailed || r.stdout != "" {
			t.Errorf("%q: status %d, standard output %q, want 1 and nothing", args, r.status, r.stdout)
		}
		if !strings.HasPrefix(r.lastLine(), "tidemark: reading in.ndjson: ") {
			t.Errorf("%q: standard error does not say what has failed:\n%s", args, r.stderr)
		}
		if strings.Contains(r.stderr, "read=") {
			t.Errorf("%q: a summary of a job that failed:\n%s", args, r.stderr)
		}
	}
	if rows, late := read(t, dir, "rows.ndjson"), read(t, dir, "late.ndjson"); rows != "old rows\n" || late != "old late records\n" {
		t.Errorf("files are now %q and %q", rows, late)
	}
	if names := contents(t, dir); len(names) != 3 {
		t.Errorf("files: %v", names)
	}
}

// TestInputFails has a standard input that cannot be read: a folder.
func TestInputFails(t *testing.T) {
	dir := t.TempDir()
	stdin, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	cmd := newCommand(t, dir, "gmv", "--input", "-", "--window", "1h", "--output", "rows.ndjson")
	cmd.Stdin = stdin
	r := finish(t, cmd)
	if r.status != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "tidemark: spooling -: read /dev/stdin: ") {
		t.Errorf("%+v, want status 1 and one line", r)
	}
	if names := contents(t, dir); len(names) > 0 {
		t.Errorf("files: %v", names)
	}
}

// TestStandardOutputFails has a standard output without room.
func TestStandardOutputFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	cmd := newCommand(t, t.TempDir(), "gmv", "--input", "-", "--window", "1h")
	cmd.Stdin, cmd.Stdout = strings.NewReader(order("acme", "08:00:00", 1)), full
	r := finish(t, cmd)
	if r.status != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "no space left on device") {
		t.Errorf("%+v, want status 1 and one line", r)
	}
}

// pipe makes a named pipe in dir and runs the command on it. Between is called
// when the command has checked everything and waits for the input, which is
// written then.
func pipe(t *testing.T, dir, in string, between func() error, args ...string) result {
	t.Helper()
	fifo := filepath.Join(dir, "in.ndjson")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := newCommand(t, dir, append([]string{"gmv", "--input", "in.ndjson", "--window", "1h"}, args...)...)
	wrote := make(chan error, 1)
	go func() {
		out, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			wrote <- err
			return
		}
		err = between()
		_, short := io.WriteString(out, in)
		wrote <- errors.Join(err, short, out.Close())
	}()
	r := finish(t, cmd)
	if r.status == exitUsage {
		t.Fatalf("refused: %s", r.stderr) // nobody opens the pipe
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNamedPipe reads an input that can be read once only.
func TestNamedPipe(t *testing.T) {
	r := pipe(t, t.TempDir(), order("acme", "08:00:00", 1)+"{}", func() error { return nil })
	said := example(`in.ndjson, position 2: field "key": missing, want a string or a number`)
	want := result{exitBad, hourRow("acme", 8, 1, 1, "08:00:00"), said + "read=2 bad=1 assigned=1 added=1 late=0\n"}
	if r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
}

// TestOutputVanishes removes the folder of an output while the job runs.
func TestOutputVanishes(t *testing.T) {
	dir := t.TempDir()
	mart := filepath.Join(dir, "mart")
	if err := os.Mkdir(mart, 0o777); err != nil {
		t.Fatal(err)
	}
	r := pipe(t, dir, order("acme", "08:00:00", 1), func() error { return os.Remove(mart) }, "--output", "mart/rows.ndjson")
	if r.status != exitFailed || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, `"mart/rows.ndjson"`) {
		t.Errorf("%+v, want status 1 and one line that names the output", r)
	}
}

// TestOutputIsWhole looks at an output while the job runs: the old file is there
// until the new one is complete.
func TestOutputIsWhole(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "rows.ndjson", "old\n")
	r := pipe(t, dir, order("acme", "08:00:00", 1), func() error {
		rows, err := os.ReadFile(filepath.Join(dir, "rows.ndjson"))
		if string(rows) != "old\n" {
			t.Errorf("while the job runs the output is %q", rows)
		}
		return err
	}, "--output", "rows.ndjson")
	if r.status != exitOK {
		t.Errorf("%+v", r)
	}
	same(t, "rows", hourRow("acme", 8, 1, 1, "08:00:00"), read(t, dir, "rows.ndjson"))
}
