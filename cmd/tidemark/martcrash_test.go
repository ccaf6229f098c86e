//go:build unix

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMartKilled kills the command while it reads, in batch and as a stream. The
// next run makes the mart of a clean one, whatever the first has left.
func TestMartKilled(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	var in strings.Builder
	for range 120_000 { // more than one bundle of a source
		in.WriteString(order(fmt.Sprint(random.IntN(50)), fmt.Sprintf("%02d:%02d:00", random.IntN(24), random.IntN(60)), random.Int64N(1000)-100))
	}
	write(t, dir, "in.ndjson", "{}\n"+in.String())
	clean := filepath.Join(dir, "clean.db")
	const load = "gmv --window 1h --input in.ndjson --output sqlite:"
	tidemark(t, dir, "", strings.Fields(load+"clean.db")...)
	want := dump(t, clean, false)
	for _, args := range []string{"", "--stream"} {
		name := "killed" + args + ".db"
		for range 2 {
			cmd := newCommand(t, dir, append(strings.Fields(load+name+" --log_level debug"), strings.Fields(args)...)...)
			cmd.Env = append(cmd.Env, "TMPDIR=") // nobody takes temporary files away
			logs := &trigger{on: reading, do: func() error { return cmd.Process.Signal(syscall.SIGKILL) }}
			cmd.Stderr = logs
			r := finish(t, cmd)
			if logs.check(t); r.status != -1 {
				t.Fatalf("status %d, want it killed", r.status)
			}
		}
		tidemark(t, dir, "", strings.Fields(load+name)...)
		path := filepath.Join(dir, name)
		if dump(t, path, false) != want {
			t.Errorf("%s: another mart than without the crashes", args)
		}
		if got := ask(t, path, "SELECT status FROM runs ORDER BY run"); !slices.Equal(got, []string{"crashed", "crashed", "done"}) {
			t.Errorf("%s: runs %q", args, got)
		}
	}
}

// TestMartLocked has somebody else write to the mart for too long.
func TestMartLocked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1))
	write(t, dir, "late.ndjson", "old\n")
	load := strings.Fields("gmv --window 1h --input in.ndjson --output sqlite:mart.db --late_output late.ndjson")
	fill(t, path, "other", 0)
	before := runsOf(t, path)
	db := openMart(t, path)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	want := result{exitFailed, "", `tidemark: mart "mart.db": locked by another process for more than 1ms; nothing was written` + "\n"}
	for _, args := range []string{"", "--stream"} {
		cmd := newCommand(t, dir, append(load, strings.Fields(args)...)...)
		cmd.Env = append(cmd.Env, impatient+"=1ms")
		if got := finish(t, cmd); got != want {
			t.Errorf("%s: got %+v\nwant %+v", args, got, want)
		}
	}
	// While it waits it can be interrupted.
	fifo := filepath.Join(dir, "fifo.ndjson")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := newCommand(t, dir, strings.Fields(strings.Replace(strings.Join(load, " "), "in.ndjson", "fifo.ndjson", 1))...)
	got := finish(t, cmd, func() {
		in, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			err = errors.Join(in.Close(), cmd.Process.Signal(os.Interrupt))
		}
		if err != nil {
			t.Error(err)
		}
	})
	if want := (result{exitFailed, "", "tidemark: interrupted; nothing was written\n"}); got != want {
		t.Errorf("interrupted: got %+v\nwant %+v", got, want)
	}
	if got := runsOf(t, path); !slices.Equal(got, before) || read(t, dir, "late.ndjson") != "old\n" {
		t.Errorf("runs %q, late records %q: want them as before", got, read(t, dir, "late.ndjson"))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	succeed(t, dir, "", load...)
}

// TestMartFails lets a stream fail whose rows are in the mart: its run says so,
// and how far it came.
func TestMartFails(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writing.Close() }()
	dir := t.TempDir()
	cmd := newCommand(t, dir, strings.Fields("gmv --stream --window 1h --input - --output sqlite:mart.db --job live --bad_output - --log_level error")...)
	cmd.Stdin, cmd.Stdout = strings.NewReader("{}\n"), writing
	_ = reading.Close() // nobody takes what is bad
	if r := finish(t, cmd); r.status != exitFailed || !strings.HasSuffix(r.lastLine(), "broken pipe") {
		t.Errorf("%+v", r)
	}
	if got := runsOf(t, filepath.Join(dir, "mart.db")); !slices.Equal(got, []string{"live|failed|1|1|0|0|0|0|0"}) {
		t.Errorf("runs: %q", got)
	}
}

// TestMartLive streams standard input into a mart, which can be reconciled
// meanwhile, and interrupts it.
func TestMartLive(t *testing.T) {
	const args = "--output sqlite:mart.db --job live --allowed_lateness 30m --bad_output -"
	dir, r := hold(t, args, func(s *session) {
		s.write(order("a", "08:00:00", 1) + order("a", "09:00:00", 2) + "{}\n")
		s.expect(`{"source":"-","position":3,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n")
		s.write(order("a", "08:30:00", 4) + order("b", "07:00:00", 8) + "[]\n")
		s.expect(`{"source":"-","position":6,"raw":"[]","reason":"an array, want a JSON object"}` + "\n")
		if r := tidemark(t, s.dir, "", "reconcile", "--mart", "sqlite:mart.db"); r.status != exitOK && !strings.Contains(r.stderr, unended) {
			s.faults = append(s.faults, fmt.Sprintf("reconcile while it runs: %+v", r))
		}
		s.signal(os.Interrupt)
	})
	if want := (result{exitOK, "", "read=6 bad=2 assigned=4 added=3 late=1\n"}); r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
	path := filepath.Join(dir, "mart.db")
	// The row of 08:00 may have been corrected, or the record have come in time
	// for it; that of 09:00 was open.
	same(t, "rows", "a|8|5|2", strings.Join(ask(t, path, "SELECT key, substr(window_start, 12, 2) + 0, sum, count FROM gmv_readable"), "\n"))
	same(t, "late records", "-|5", strings.Join(ask(t, path, "SELECT source, position FROM late"), "\n"))
	if got := ask(t, path, "SELECT job, status, read, bad, assigned, added, late FROM runs"); !slices.Equal(got, []string{"live|interrupted|6|2|4|3|1"}) {
		t.Errorf("runs: %q", got)
	}
	if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db"); r.status != exitOK || strings.Count(r.stdout, "\n") != 4 ||
		!strings.Contains(r.stdout, `"assigned_sum":15,"added_sum":7,`) || !strings.Contains(r.stdout, `"late_sum":8,"bad":2}`) {
		t.Errorf("%+v", r)
	}

	// The same stream, from a file: what was open has a row now, and no row is
	// there twice.
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1)+order("a", "09:00:00", 2)+order("a", "08:30:00", 4)+order("b", "07:00:00", 8))
	succeed(t, dir, "", strings.Fields("gmv --stream --window 1h --input in.ndjson --output sqlite:mart.db --job live --max_out_of_orderness 2h")...)
	same(t, "rows", "a|8|5|2\na|9|2|1\nb|7|8|1", strings.Join(ask(t, path, "SELECT key, substr(window_start, 12, 2) + 0, sum, count FROM gmv_readable ORDER BY key, 2"), "\n"))
	if r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db"); r.status != exitOK || !strings.HasSuffix(r.stdout, `"late_sum":0,"bad":0}`+"\n") {
		t.Errorf("%+v", r)
	}
}
