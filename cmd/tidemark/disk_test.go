//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fileLimit makes the command write files of so many bytes at most, as a full
// disk does.
const fileLimit = "TIDEMARK_TEST_FILE_LIMIT"

func init() {
	if n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil && os.Getenv(asCommand) != "" {
		limit := syscall.Rlimit{Cur: n, Max: n}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}
}

// TestDiskFull has outputs that are larger than what the disk takes: status 1,
// what was there stays as it was, and no temporary file is left.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 3000 {
		in.WriteString(order(fmt.Sprintf("company %d", i), "08:00:00", 1))
	}
	write(t, dir, "in.ndjson", in.String())
	write(t, dir, "rows.ndjson", "old\n")
	write(t, dir, "rows.csv", csvHeader+"old\n")
	fill(t, filepath.Join(dir, "mart.db"), "other", 0)
	before := contents(t, dir)
	for _, c := range []struct{ args, says string }{
		{"--input in.ndjson --output rows.ndjson", `tidemark: --output: output "rows.ndjson": writing lines: `},
		{"--input in.ndjson --output new.csv", `tidemark: --output: output "new.csv": writing lines: `},
		{"--input in.ndjson --stream --output rows.ndjson", `tidemark: --output: output "rows.ndjson": `},
		{"--input in.ndjson --stream --output rows.csv --format json", `tidemark: --output: output "rows.csv": `},
		{"--input - --output new.ndjson", "tidemark: spooling -: "},
		{"--input in.ndjson --output sqlite:mart.db", `tidemark: mart "mart.db": `},
		{"--input in.ndjson --stream --output sqlite:mart.db", `tidemark: mart "mart.db": `},
	} {
		cmd := newCommand(t, dir, append(strings.Fields("gmv --window 1h --log_level error"), strings.Fields(c.args)...)...)
		cmd.Env = append(cmd.Env, fileLimit+"=100000")
		cmd.Stdin = strings.NewReader(in.String())
		r := finish(t, cmd)
		if r.status != exitFailed || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, c.says) {
			t.Errorf("%s: %+v, want status 1 and one line that begins with %q", c.args, r, c.says)
		}
		after := contents(t, dir)
		for _, all := range []map[string]string{before, after} {
			maps.DeleteFunc(all, func(path, _ string) bool { return strings.Contains(path, "mart.db") })
		}
		if !maps.Equal(before, after) {
			t.Errorf("%s: other files: %q", c.args, slices.Collect(maps.Keys(after)))
		}
	}
	path := filepath.Join(dir, "mart.db")
	if got := ask(t, path, "SELECT status, read FROM runs ORDER BY run"); !slices.Equal(got, []string{"done|0", "failed|3000", "failed|3000"}) {
		t.Errorf("runs: %q", got)
	}
	if got := dump(t, path, true); got != "" {
		t.Errorf("in the mart: %s", got)
	}
	succeed(t, dir, "", strings.Fields("gmv --window 1h --input in.ndjson --output sqlite:mart.db")...)
}

// TestLiveDiskFull fills the disk while a stream goes on: the rows that are out
// stay, whole.
func TestLiveDiskFull(t *testing.T) {
	var many strings.Builder
	for i := range 3000 {
		many.WriteString(order(fmt.Sprintf("company %d", i), "09:00:00", 1))
	}
	dir := t.TempDir()
	cmd := newCommand(t, dir, strings.Fields("gmv --stream --window 1h --input - --output rows.ndjson --log_level error")...)
	cmd.Env = append(cmd.Env, fileLimit+"=100000")
	cmd.Stdin = strings.NewReader(order("a", "08:00:00", 1) + many.String())
	r := finish(t, cmd)
	if r.status != exitFailed || !strings.HasPrefix(r.lastLine(), `tidemark: output "rows.ndjson": `) {
		t.Errorf("%+v", r)
	}
	rows := lines(t, read(t, dir, "rows.ndjson"))
	if len(rows) > 0 && rows[0]+"\n" != hourRow("a", 8, 1, 1, "08:00:00") {
		t.Errorf("%s", rows[0])
	}
}

// TestLiveNobodyReads closes standard output under a stream, as head does.
func TestLiveNobodyReads(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reading.Close()
	defer func() { _ = writing.Close() }()
	for _, in := range []string{"-", "in.ndjson"} {
		dir := t.TempDir()
		write(t, dir, "in.ndjson", order("a", "08:00:00", 1))
		cmd := newCommand(t, dir, "gmv", "--stream", "--window", "1h", "--input", in, "--log_level", "error")
		cmd.Stdin, cmd.Stdout = strings.NewReader(order("a", "08:00:00", 1)), writing
		r := finish(t, cmd)
		if r.status != exitFailed || !strings.HasPrefix(r.lastLine(), "tidemark: ") || !strings.HasSuffix(r.lastLine(), "broken pipe") {
			t.Errorf("%s: %+v, want status 1 and a broken pipe", in, r)
		}
	}
}
