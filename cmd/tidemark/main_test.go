package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// updating reports whether -update was given, which rewrites the expected
// results in testdata. Beam brings a flag of that name, so that there is no
// room for one of our own.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// asCommand makes the test binary be the command: its exit status and streams
// are then the real ones.
const asCommand = "TIDEMARK_TEST_AS_COMMAND"

// impatient makes the command wait for a locked mart for this duration.
const impatient = "TIDEMARK_TEST_MART_PATIENCE"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		forgetTestFlags()
		if d, err := time.ParseDuration(os.Getenv(impatient)); err == nil {
			martPatience = d
		}
		main()
	}
	os.Exit(m.Run())
}

// forgetTestFlags leaves the flags that the command has outside of tests.
func forgetTestFlags() {
	fs := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flag.VisitAll(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && !strings.HasPrefix(f.Name, "rapid.") {
			fs.Var(f.Value, f.Name, f.Usage)
		}
	})
	flag.CommandLine = fs
}

// result is how a command ended.
type result struct {
	status         int
	stdout, stderr string
}

// lastLine is the last line on standard error.
func (r result) lastLine() string {
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	return lines[len(lines)-1]
}

// counts is the form of the summary.
var counts = regexp.MustCompile(`^read=\d+ bad=\d+ assigned=\d+ added=\d+ late=\d+( overflowed=\d+)?( over_limit=\d+)?(` + bothSides + `)?$`)

// bothSides is what it has of a join besides.
var bothSides = sideCounts("left") + sideCounts("right")

func sideCounts(s string) string {
	return fmt.Sprintf(` %[1]s_assigned=\d+ %[1]s_joined=\d+ %[1]s_unmatched=\d+ %[1]s_late=\d+( %[1]s_over_limit=\d+)?( %[1]s_open=\d+)?`, s)
}

// newCommand prepares a run in the folder dir.
func newCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+t.TempDir())
	return cmd
}

// finish runs cmd to its end; once it has been started, it calls running.
// Whatever happens, there is no stack trace and no temporary file stays behind.
func finish(t *testing.T, cmd *exec.Cmd, running ...func()) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range running {
		f()
	}
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	for _, trace := range []string{"goroutine ", "panic:", "debug.Stack"} {
		if strings.Contains(r.stderr, trace) {
			t.Errorf("standard error holds %q:\n%s", trace, r.stderr)
		}
	}
	for _, kv := range cmd.Env {
		if tmp, ok := strings.CutPrefix(kv, "TMPDIR="); ok && filepath.IsAbs(tmp) && tmp != os.TempDir() {
			if left := contents(t, tmp); len(left) > 0 {
				t.Errorf("temporary files stay behind: %v", left)
			}
		}
	}
	return r
}

// tidemark runs the command in the folder dir, with stdin.
func tidemark(t *testing.T, dir, stdin string, args ...string) result {
	t.Helper()
	cmd := newCommand(t, dir, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return finish(t, cmd)
}

// succeed runs the command, which has to end with status 0 and a summary.
func succeed(t *testing.T, dir, stdin string, args ...string) result {
	t.Helper()
	r := tidemark(t, dir, stdin, args...)
	if r.status != exitOK || !counts.MatchString(r.lastLine()) {
		t.Fatalf("%q: status %d, want 0 and a summary on standard error, got:\n%s", args, r.status, r.stderr)
	}
	return r
}

// write makes a file in dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// read is the content of a file in dir.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// contents is what is in dir and below: the text of files, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		switch {
		case err != nil || path == dir:
			return err
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		default:
			all[path] = info.Mode().String()
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lines are the lines of text, each of which ends with a newline.
func lines(t *testing.T, text string) []string {
	t.Helper()
	if text == "" {
		return nil
	}
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line has no newline: %q", text)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// same compares texts, for people line by line.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: mismatch (-want +got):\n%s", what, diff)
	}
}

// order is an order of key at the time of day hh:mm:ss on 1 June 2024.
func order(key, clock string, cents int64) string {
	return fmt.Sprintf(`{"key":%q,"time":"2024-06-01T%sZ","amount_cents":%d}`+"\n", key, clock, cents)
}

// hourRow is the ON_TIME row of an hour of 1 June 2024.
func hourRow(key string, hour int, sum, count int64, latest string) string {
	return fmt.Sprintf(`{"key":%q,"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","pane":"ON_TIME","revision":0,`+
		`"sum":%d,"previous_sum":null,"count":%d,"previous_count":null,"max_event_time":"2024-06-01T%sZ"}`+"\n", key, hour, hour+1, sum, count, latest)
}
