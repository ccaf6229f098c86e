//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// trigger is a standard error that calls do once, when a text is on it.
type trigger struct {
	on   string
	do   func() error
	text bytes.Buffer
	err  error
	done bool
}

// reading is logged, by Prism, when the first records are on their way.
const reading = "State() Bag.Append"

// Write implements io.Writer.
func (w *trigger) Write(b []byte) (int, error) {
	n, err := w.text.Write(b)
	if !w.done && bytes.Contains(w.text.Bytes(), []byte(w.on)) {
		w.done, w.err = true, w.do()
	}
	return n, err
}

// check reports a trigger that has not worked.
func (w *trigger) check(t *testing.T) {
	t.Helper()
	if w.err != nil || !w.done {
		t.Fatalf("%q was on standard error: %v, what was done then: %v", w.on, w.done, w.err)
	}
}

// TestFilesInterrupted interrupts a stream of files, wherever it may be: that
// ends it well, with the rows of windows that were complete; all of them where it
// drains.
func TestFilesInterrupted(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 200_000 {
		in.WriteString(order("a", fmt.Sprintf("%02d:%02d:%02d", i/10_000, i/200%50, i%60), 1))
	}
	write(t, dir, "in.ndjson", in.String())
	full := lines(t, succeed(t, dir, "", strings.Fields("gmv --input in.ndjson --window 1h")...).stdout)
	for args, signal := range map[string]os.Signal{"": os.Interrupt, "--drain": syscall.SIGTERM} {
		write(t, dir, "rows.ndjson", "")
		cmd := newCommand(t, dir, append(strings.Fields("gmv --stream --input in.ndjson --window 1h --max_out_of_orderness 1h --output rows.ndjson --log_level debug"), strings.Fields(args)...)...)
		logs := &trigger{on: reading, do: func() error { return cmd.Process.Signal(signal) }}
		cmd.Stderr = logs
		r := finish(t, cmd)
		logs.check(t)
		r.stderr = logs.text.String()
		if r.status != exitOK || !counts.MatchString(r.lastLine()) || r.stdout != "" {
			t.Fatalf("%s: status %d, %s", args, r.status, r.lastLine())
		}
		checkCounts(t, r.lastLine(), "")
		shown := 0
		for _, row := range lines(t, read(t, dir, "rows.ndjson")) {
			var v struct{ Count int }
			if err := json.Unmarshal([]byte(row), &v); err != nil {
				t.Fatal(err)
			}
			if args == "" && !slices.Contains(full, row) {
				t.Errorf("%s: the window was not complete", row)
			}
			shown += v.Count
		}
		var n int
		if _, err := fmt.Sscanf(r.lastLine(), "read=%d", &n); err != nil || shown > n || args != "" && shown != n {
			t.Errorf("%s: %s, and rows with %d records", args, r.lastLine(), shown)
		}
	}
}
