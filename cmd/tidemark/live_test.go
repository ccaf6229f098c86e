//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// session is a command that reads standard input as a stream, which stays open.
type session struct {
	cmd    *exec.Cmd
	dir    string
	in     io.WriteCloser
	out    *bufio.Reader
	faults []string

	left, right *os.File // named pipes that a join reads instead; see holdPair
}

// write gives the command more to read.
func (s *session) write(text string) { s.writeTo(s.in, text) }

func (s *session) writeTo(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		s.faults = append(s.faults, err.Error())
	}
}

// close ends all that the command reads.
func (s *session) close() {
	_ = s.in.Close()
	for _, f := range []*os.File{s.left, s.right} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// expect waits for a line on standard output.
func (s *session) expect(want string) {
	line, err := s.out.ReadString('\n')
	if line != want {
		s.faults = append(s.faults, fmt.Sprintf("a line: %s, error %v, want %s", line, err, want))
	}
}

func (s *session) signal(signal os.Signal) {
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.faults = append(s.faults, err.Error())
	}
}

// sessions is how often a session is held, where the runner lets it down: what
// was read of a pipe cannot be read again.
const sessions = 5

// hold runs the command in a folder, with input, as a stream of standard input.
// Talk writes to it, and reads its rows; then the input is closed, and what comes
// out behind is the standard output of the result.
func hold(t *testing.T, args string, talk func(s *session)) (dir string, r result) {
	t.Helper()
	return holdCommand(t, "gmv --stream --window 1h --input - "+args, nil, talk)
}

// holdCommand is [hold] for any command. Begin is called before it starts.
func holdCommand(t *testing.T, args string, begin func(s *session) error, talk func(s *session)) (dir string, r result) {
	t.Helper()
	for n := 1; ; n++ {
		s := &session{dir: t.TempDir()}
		s.cmd = newCommand(t, s.dir, strings.Fields(args)...)
		var err error
		if begin != nil {
			if err := begin(s); err != nil {
				t.Fatal(err)
			}
		}
		if s.in, err = s.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := s.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		s.out = bufio.NewReader(out)
		var rest []byte
		r := finish(t, s.cmd, func() {
			talk(s)
			if len(s.faults) > 0 {
				s.close() // nobody waits for what does not come
			}
			if rest, err = io.ReadAll(s.out); err != nil {
				t.Error(err)
			}
		})
		s.close()
		r.stdout = string(rest)
		if n < sessions && strings.Contains(r.stderr, "want of CPU time") {
			continue
		}
		for _, f := range s.faults {
			t.Error(f)
		}
		if len(s.faults) > 0 {
			t.Fatal(r.stderr)
		}
		return s.dir, r
	}
}

// corrected is a LATE row of an hour, the revision after one with the previous
// sum and count.
func corrected(key string, hour int, revision, sum, previous, count, previousCount int64, latest string) string {
	return strings.NewReplacer(`"ON_TIME","revision":0`, fmt.Sprintf(`"LATE","revision":%d`, revision),
		`"previous_sum":null`, fmt.Sprintf(`"previous_sum":%d`, previous), `"previous_count":null`, fmt.Sprintf(`"previous_count":%d`, previousCount)).
		Replace(hourRow(key, hour, sum, count, latest))
}

// TestLive waits for rows, corrections, late and bad records while standard input
// stays open.
func TestLive(t *testing.T) {
	_, r := hold(t, "--allowed_lateness 30m --late_output - --bad_output - --max_out_of_orderness 10s", func(s *session) {
		// The watermark stays 1 ms in front of the window's end, and what comes
		// then is on time.
		s.write(order("a", "08:00:00", 1) + order("a", "09:00:09.999", 10))
		s.write("{}\n")
		s.expect(`{"source":"-","position":3,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n")
		s.write(order("a", "08:59:59.999", 2))
		s.write(order("a", "09:00:10", 20))
		s.expect(hourRow("a", 8, 3, 2, "08:59:59.999"))
		s.write(order("a", "08:30:00", 4))
		s.expect(corrected("a", 8, 1, 7, 3, 3, 2, "08:59:59.999"))
		s.write(order("b", "08:30:00", -4)) // the first of its window
		s.expect(strings.Replace(hourRow("b", 8, -4, 1, "08:30:00"), "ON_TIME", "LATE", 1))
		s.write(order("a", "07:29:59", 8))
		s.expect(`{"event":{"key":"a","time":"2024-06-01T07:29:59Z","amount_cents":8},"time":"2024-06-01T07:29:59Z",` +
			`"missed":[{"window_start":"2024-06-01T07:00:00Z","window_end":"2024-06-01T08:00:00Z"}],"missed_all":true,"source":"-","position":8}` + "\n")
		_ = s.in.Close()
	})
	want := result{exitOK, hourRow("a", 9, 30, 2, "09:00:10"), "read=8 bad=1 assigned=7 added=6 late=1\n"}
	if r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
}

// TestLiveInterrupted interrupts a stream whose input stays open.
func TestLiveInterrupted(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for args, rest := range map[string]string{"": "", "--drain": hourRow("a", 9, 2, 1, "09:00:00")} {
			_, r := hold(t, args, func(s *session) {
				s.write(order("a", "08:00:00", 1) + order("a", "09:00:00", 2))
				s.expect(hourRow("a", 8, 1, 1, "08:00:00"))
				s.signal(signal)
			})
			if want := (result{exitOK, rest, "read=2 bad=0 assigned=2 added=2 late=0\n"}); r != want {
				t.Errorf("%v %s: got %+v\nwant %+v", signal, args, r, want)
			}
		}
	}
	// A sum outside int64 is not shown either where its window was open.
	for args, overflows := range map[string]int{"": 0, "--drain": 1} {
		_, r := hold(t, args+" --bad_output -", func(s *session) {
			s.write(order("a", "08:00:00", 1) + order("b", "09:00:00", 1<<63-1) + order("b", "09:00:00", 1))
			s.expect(hourRow("a", 8, 1, 1, "08:00:00"))
			s.write("{}\n") // the last one that is read
			s.expect(`{"source":"-","position":4,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n")
			s.signal(os.Interrupt)
		})
		if n := strings.Count(r.stdout, `"total":"9223372036854775808"`); r.status != exitOK || n != overflows || strings.Contains(r.stderr, "overflowed=1") != (n == 1) {
			t.Errorf("%s: %+v, want %d sums outside int64", args, r, overflows)
		}
	}
	const titles = "key  window_start  window_end  pane  revision  sum  previous_sum  count  previous_count  max_event_time\n"
	if _, r := hold(t, "--format table", func(s *session) {
		s.expect(titles)
		s.signal(os.Interrupt)
	}); r != (result{exitOK, "", "read=0 bad=0 assigned=0 added=0 late=0\n"}) {
		t.Errorf("before anything is read: %+v", r)
	}
	_, r := hold(t, "--log_level error", func(s *session) {
		s.write("{}\n" + order("a", "08:00:00", 1) + order("a", "09:00:00", 1))
		s.expect(hourRow("a", 8, 1, 1, "08:00:00"))
		s.signal(os.Interrupt)
	})
	if r.status != exitBad || r.lastLine() != "read=3 bad=1 assigned=2 added=2 late=0" || r.stdout != "" {
		t.Errorf("with a bad record that goes nowhere: %+v", r)
	}
}

// TestLiveTables shows rows as they come in forms other than JSON.
func TestLiveTables(t *testing.T) {
	in := order("a", "08:00:00", 1) + order("a", "09:00:00", 2)
	if _, r := hold(t, "--format pipe", func(s *session) {
		s.write(in)
		s.expect("a|1717228800000|1\n")
		_ = s.in.Close()
	}); r.stdout != "a|1717232400000|2\n" || r.status != exitOK {
		t.Errorf("%+v", r)
	}
	if _, r := hold(t, "--format table", func(s *session) {
		s.expect("key  window_start  window_end  pane  revision  sum  previous_sum  count  previous_count  max_event_time\n")
		s.write(in)
		s.expect("a    2024-06-01T08:00:00Z  2024-06-01T09:00:00Z  ON_TIME         0    1                    1                  2024-06-01T08:00:00Z\n")
		_ = s.in.Close()
	}); r.status != exitOK || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("%+v", r)
	}
}

// TestNamedPipeStream reads named pipes, a compressed one too, with files of
// other kinds in front of them and behind them; the pipe stays open.
func TestNamedPipeStream(t *testing.T) {
	for _, name := range []string{"b.csv", "b.csv.gz"} {
		dir := t.TempDir()
		write(t, dir, "a.ndjson", order("a", "08:00:00", 1))
		write(t, dir, "c.ndjson", order("a", "10:00:00", 4))
		if err := syscall.Mkfifo(dir+"/"+name, 0o600); err != nil {
			t.Fatal(err)
		}
		text := header + cells("a", "09:00:00", 2)
		if name == "b.csv.gz" {
			text = zipped(t, text)
		}
		cmd := newCommand(t, dir, strings.Fields("gmv --stream --window 1h --input [abc].*")...)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var first string
		var rest []byte
		r := finish(t, cmd, func() {
			in, err := os.OpenFile(dir+"/"+name, os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.WriteString(text); err != nil {
				t.Error(err)
			}
			out := bufio.NewReader(stdout)
			first, _ = out.ReadString('\n')
			_ = in.Close()
			rest, _ = io.ReadAll(out)
		})
		if strings.Contains(r.stderr, "want of CPU time") {
			t.Skip(r.stderr)
		}
		if r.status != exitOK || r.stderr != "read=3 bad=0 assigned=3 added=3 late=0\n" {
			t.Errorf("%s: %+v", name, r)
		}
		same(t, name, hourRow("a", 8, 1, 1, "08:00:00")+hourRow("a", 9, 2, 1, "09:00:00")+hourRow("a", 10, 4, 1, "10:00:00"), first+sorted(t, lines(t, string(rest))))
	}
}

// TestVanishes removes a file between the check and the reading: that fails, and
// says of what.
func TestVanishes(t *testing.T) {
	for args, want := range map[string]string{
		"":         "tidemark: spooling b.ndjson: stat b.ndjson: no such file or directory\n",
		"--stream": "tidemark: reading b.ndjson: open b.ndjson: no such file or directory\n",
	} {
		dir := t.TempDir()
		write(t, dir, "b.ndjson", order("b", "08:00:00", 1))
		if err := syscall.Mkfifo(dir+"/a.ndjson", 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := newCommand(t, dir, append(strings.Fields("gmv --window 1h --input [ab].ndjson --log_level error"), strings.Fields(args)...)...)
		r := finish(t, cmd, func() {
			in, err := os.OpenFile(dir+"/a.ndjson", os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(dir + "/b.ndjson"); err != nil {
				t.Error(err)
			}
			_, _ = in.WriteString(order("a", "08:00:00", 1))
			_ = in.Close()
		})
		if r.status != exitFailed || r.stdout != "" || r.lastLine()+"\n" != want {
			t.Errorf("%s: %+v, want status 1 and %s", args, r, want)
		}
	}
}
