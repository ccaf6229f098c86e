//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupt interrupts the command while it waits for more of its input.
func TestInterrupt(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		write(t, dir, "rows.ndjson", "old\n")
		fifo := filepath.Join(dir, "in.ndjson")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := newCommand(t, dir, strings.Fields("gmv --input in.ndjson --window 1h --output rows.ndjson")...)
		ended := make(chan struct{})
		r := finish(t, cmd, func() {
			go func() {
				out, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = out.Close() }()
				if _, err := out.WriteString(order("acme", "08:00:00", 1)); err != nil {
					t.Error(err)
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Error(err)
				}
				<-ended // there is more to come, as far as the command can tell
			}()
		})
		close(ended)
		if want := (result{exitFailed, "", "tidemark: interrupted; nothing was written\n"}); r != want {
			t.Errorf("%v: got %+v, want %+v", signal, r, want)
		}
		if rows := read(t, dir, "rows.ndjson"); rows != "old\n" {
			t.Errorf("%v: the output is %q", signal, rows)
		}
	}
}

// TestNobodyReads closes the reading end of standard output, as head does.
func TestNobodyReads(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reading.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writing.Close() }()
	cmd := newCommand(t, t.TempDir(), "gmv", "--input", "-", "--window", "1h")
	cmd.Stdin, cmd.Stdout = strings.NewReader(order("acme", "08:00:00", 1)), writing
	r := finish(t, cmd)
	if r.status != exitFailed || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "broken pipe") {
		t.Errorf("%+v, want status 1 and one line", r)
	}
}
