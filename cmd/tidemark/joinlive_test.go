//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// holdPair joins two named pipes as streams, with pairs within a minute. Talk
// writes to left and right.
func holdPair(t *testing.T, args string, talk func(s *session)) (dir string, r result) {
	t.Helper()
	return holdCommand(t, "join --stream --upper 1m --left left.ndjson --right right.ndjson "+args, (*session).makePipes, talk)
}

// makePipes makes two named pipes and opens them. Nobody has to read them for that.
func (s *session) makePipes() (err error) {
	for name, f := range map[string]**os.File{"left": &s.left, "right": &s.right} {
		path := filepath.Join(s.dir, name+".ndjson")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return err
		}
		if *f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) writeLeft(text string)  { s.writeTo(s.left, text) }
func (s *session) writeRight(text string) { s.writeTo(s.right, text) }

// TestJoinLive waits for pairs, rows without a partner, late and bad records while
// both pipes stay open.
func TestJoinLive(t *testing.T) {
	_, r := holdPair(t, "--type full --late_output - --bad_output - --max_out_of_orderness 5s --allowed_lateness 10s", func(s *session) {
		s.writeLeft(l1)
		s.writeRight(r1)
		s.expect(p11)
		s.writeRight("{}\n")
		s.expect(`{"source":"right.ndjson","position":2,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n")

		// The row of l2 is due behind 08:05:00 + 1m + 10s, which the watermark is at
		// first, and then behind.
		s.writeLeft(l2)
		s.writeRight(rec("r4", "x", "08:06:15"))
		s.writeLeft(rec("l4", "a", "08:06:15"))
		s.writeRight("{}\n") // read behind them
		s.expect(`{"source":"right.ndjson","position":4,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n")
		s.writeRight(rec("r5", "x", "08:06:15.001"))
		s.writeLeft(rec("l5", "y", "08:06:15.001"))
		s.expect(lone2)

		s.writeLeft(rec("l6", "x", "08:06:00.001")) // late by the lateness
		s.expect(joinRow("x", rec("l6", "x", "08:06:00.001"), rec("r4", "x", "08:06:15"), "08:06:15"))
		s.expect(joinRow("x", rec("l6", "x", "08:06:00.001"), rec("r5", "x", "08:06:15.001"), "08:06:15.001"))
		s.writeRight(rec("r7", "a", "08:06:00")) // and 1 ms more
		s.expect(lateRow("right", rec("r7", "a", "08:06:00"), "08:06:00", "right.ndjson", 6))
		s.close()
	})
	const want = "read=11 bad=2 assigned=9 added=8 late=1 left_assigned=5 left_joined=2 left_unmatched=3 left_late=0" +
		" right_assigned=4 right_joined=3 right_unmatched=0 right_late=1"
	rest := joinRow("a", rec("l4", "a", "08:06:15"), "", "08:06:15") + joinRow("y", rec("l5", "y", "08:06:15.001"), "", "08:06:15.001")
	if r.status != exitOK || r.stderr != want+"\n" || inOrder(t, r.stdout) != inOrder(t, rest) {
		t.Errorf("got %+v\nwant %s and %s", r, want, rest)
	}
}

// TestJoinIdle has a right side that says nothing: it is left out after a while,
// and what it says then can be late.
func TestJoinIdle(t *testing.T) {
	_, r := holdPair(t, "--type left --late_output - --idle_timeout 50ms", func(s *session) {
		s.writeLeft(l1 + l2)
		s.expect(joinRow("a", l1, "", "08:00:00"))
		s.writeRight(r1)
		s.expect(lateRow("right", r1, "08:00:30", "right.ndjson", 1))
		s.close()
	})
	const want = "read=3 bad=0 assigned=3 added=2 late=1 left_assigned=2 left_joined=0 left_unmatched=2 left_late=0" +
		" right_assigned=1 right_joined=0 right_unmatched=0 right_late=1\n"
	if r != (result{exitOK, lone2, want}) {
		t.Errorf("got %+v, want %s", r, want)
	}
}

// TestJoinFileAndPipe has a file on the left, which waits for the pipe on the
// right: what comes there is in time, however far the file could be.
func TestJoinFileAndPipe(t *testing.T) {
	_, r := holdCommand(t, "join --stream --upper 1m --left left.ndjson --right - --type left --late_output late.ndjson", func(s *session) error {
		return os.WriteFile(filepath.Join(s.dir, "left.ndjson"), []byte(l1+l2+l3), 0o666)
	}, func(s *session) {
		s.write(r1)
		s.expect(p11)
		s.write(r2)
		s.expect(lone2)
		s.expect(p32)
		s.close()
	})
	const want = "read=5 bad=0 assigned=5 added=5 late=0 left_assigned=3 left_joined=2 left_unmatched=1 left_late=0" +
		" right_assigned=2 right_joined=2 right_unmatched=0 right_late=0\n"
	if r != (result{exitOK, "", want}) {
		t.Errorf("got %+v, want %s", r, want)
	}
}

// TestJoinInterrupted interrupts a join whose pipes stay open: rows that are not
// due yet are left out and counted, or come all the same where it drains.
func TestJoinInterrupted(t *testing.T) {
	talk := func(s *session) {
		s.writeLeft(l1 + l2)
		s.writeRight(rec("r9", "z", "08:05:00"))
		s.expect(joinRow("a", l1, "", "08:00:00"))
		s.signal(os.Interrupt)
	}
	const read = "read=3 bad=0 assigned=3 added=3 late=0 left_assigned=2 left_joined=0 left_unmatched=2 left_late=0"
	_, r := holdPair(t, "--type full", talk)
	if want := (result{exitOK, "", read + " left_open=1 right_assigned=1 right_joined=0 right_unmatched=1 right_late=0 right_open=1\n"}); r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
	_, r = holdPair(t, "--type full --drain", talk)
	rest := lone2 + joinRow("z", "", rec("r9", "z", "08:05:00"), "08:05:00")
	if inOrder(t, r.stdout) != inOrder(t, rest) || r.status != exitOK || r.stderr != read+" right_assigned=1 right_joined=0 right_unmatched=1 right_late=0\n" {
		t.Errorf("drained: got %+v\nwant %s", r, rest)
	}

	// A mart has the same counts, and is right.
	dir, r := holdPair(t, "--type left --late_output - --output sqlite:mart.db --job pipes", func(s *session) {
		s.writeLeft(l1 + l2)
		s.writeRight(rec("r9", "z", "08:05:00"))
		s.writeLeft(rec("l0", "a", "08:00:00")) // late, which is how we know that the others have been read
		s.expect(lateRow("left", rec("l0", "a", "08:00:00"), "08:00:00", "left.ndjson", 3))
		s.signal(syscall.SIGTERM)
	})
	if r.status != exitOK || !strings.Contains(r.lastLine(), " left_late=1 left_open=1 ") {
		t.Errorf("%+v", r)
	}
	same(t, "rows in the mart", `{"id":"l1","key":"a","time":"2024-06-01T08:00:00Z"}`, strings.Join(ask(t, filepath.Join(dir, "mart.db"), "SELECT left_event FROM joined"), "\n"))
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	if r.status != exitOK || r.stderr != "tidemark: job \"pipes\": its newest run, 1, is interrupted\n" || !strings.Contains(r.stdout, `"left_unmatched":2,"left_late":1,"left_over_limit":0,"left_open":1,`) {
		t.Errorf("%+v", r)
	}
}
