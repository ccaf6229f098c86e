package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/connectors/mart"
	"tidemark/connectors/sink"
	"tidemark/internal/jobserver"
	"tidemark/internal/tally"
)

// clusterInput has two keys, a record that is late by a second, and a bad one.
const clusterInput = `{"key":"a","time":1000,"amount_cents":5,"value":5}
{"key":"b","time":2000,"amount_cents":7,"value":7}
{"key":"a","time":61000,"amount_cents":9,"value":9}
{"key":"b","time":3000,"amount_cents":1,"value":1}
{"key":"b"}
{"key":"b","time":62000,"amount_cents":2,"value":2}
`

// poll is how long is waited between two looks at what another process does.
const poll = 10 * time.Millisecond

// onServer are the flags of a job server whose workers are in the command.
func onServer(t *testing.T) []string {
	return []string{"--runner", "portable", "--endpoint", jobserver.Start(t)}
}

// boot starts a worker as a cluster does, but for fetching its binary, which is this
// one. Prism's job server quotes the id, and has all services in one place.
const boot = `#!/bin/sh
for a in "$@"; do
	case $a in
	--id=*) id=$(echo "${a#--id=}" | tr -d "'") ;;
	--provision_endpoint=*) at=${a#--provision_endpoint=} ;;
	esac
done
exec env ` + asCommand + `=1 "$BINARY" --worker=true "--id=$id" "--control_endpoint=$at" "--logging_endpoint=$at"
`

// elsewhere are those of one whose workers are processes of their own.
func elsewhere(t *testing.T) []string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "boot.sh")
	if err := os.WriteFile(command, []byte(boot), 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"command": command, "env": map[string]string{"BINARY": os.Args[0]}})
	if err != nil {
		t.Fatal(err)
	}
	return append(onServer(t), "--environment_type", "PROCESS", "--environment_config", string(config))
}

// TestOnCluster runs commands behind a job server, and compares all that they write
// with what they write in one process. Of streams the order of lines may differ.
func TestOnCluster(t *testing.T) {
	for _, where := range []struct {
		name  string
		flags func(*testing.T) []string
	}{{"workers here", onServer}, {"workers elsewhere", elsewhere}} {
		for _, job := range []struct{ name, args string }{
			{"gmv", "gmv --input in.ndjson --window 1m"},
			{"average", "average --input in.ndjson --window 2m --every 1m"},
			{"join", "join --left in.ndjson --right in.ndjson --lower 0s --upper 1s --type full"},
		} {
			for _, stream := range []bool{false, true} {
				args := strings.Fields(job.args + " --output rows.ndjson --late_output late.csv --bad_output bad.ndjson")
				if stream {
					args = append(args, "--stream")
				}
				t.Run(where.name+", "+strings.Join(args, " "), func(t *testing.T) {
					dir, other := t.TempDir(), t.TempDir()
					write(t, dir, "in.ndjson", clusterInput)
					write(t, other, "in.ndjson", clusterInput)
					want := succeed(t, dir, "", args...)
					got := succeed(t, other, "", append(args, where.flags(t)...)...)
					if got.lastLine() != want.lastLine() {
						t.Errorf("summary %s, want %s", got.lastLine(), want.lastLine())
					}
					for _, name := range []string{"rows.ndjson", "late.csv", "bad.ndjson"} {
						w, g := sortedLines(t, dir, name), sortedLines(t, other, name)
						if !slices.Equal(w, g) {
							t.Errorf("%s: %q, want %q", name, g, w)
						}
						if len(w) == 0 {
							t.Errorf("%s is empty", name)
						}
					}
				})
			}
		}
	}
}

func sortedLines(t *testing.T, dir, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// TestMartOnCluster writes a mart from workers in processes of their own.
func TestMartOnCluster(t *testing.T) {
	for _, stream := range []bool{false, true} {
		dir := t.TempDir()
		write(t, dir, "in.ndjson", clusterInput)
		args := []string{"gmv", "--input", "in.ndjson", "--window", "1m", "--output", "sqlite:mart.db", "--job", "j"}
		if stream {
			args = append(args, "--stream")
		}
		succeedBad(t, dir, append(args, elsewhere(t)...)...)
		m, err := mart.OpenReadOnly(filepath.Join(dir, "mart.db"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		if err := m.Balances("j", func(b *mart.Balance) error {
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			text, err := json.Marshal([]any{b.Assigned, b.Added, b.Late, b.Bad})
			rows = append(rows, string(text))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"[3,3,0,null]", "[2,2,0,null]", "[5,5,0,1]"}
		if stream {
			want = []string{"[3,2,1,null]", "[2,2,0,null]", "[5,4,1,1]"}
		}
		if !slices.Equal(rows, want) {
			t.Errorf("stream %v: %q, want %q", stream, rows, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// succeedBad runs a command that has bad records.
func succeedBad(t *testing.T, dir string, args ...string) {
	t.Helper()
	if r := tidemark(t, dir, "", args...); r.status != exitBad || !counts.MatchString(r.lastLine()) {
		t.Fatalf("status %d, want %d:\n%s", r.status, exitBad, r.stderr)
	}
}

// TestAsync leaves a stream to the cluster, which writes its rows all the same.
func TestAsync(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.ndjson", clusterInput)
	r := tidemark(t, dir, "", append([]string{"gmv", "--input", "in.ndjson", "--window", "1m", "--stream", "--output", "rows.csv", "--async"}, elsewhere(t)...)...)
	if id := strings.TrimSuffix(r.stdout, "\n"); r.status != exitOK || id == "" || strings.ContainsAny(id, " \n") || r.stderr != "" {
		t.Fatalf("status %d, standard output %q, want the id of the job; standard error %q", r.status, r.stdout, r.stderr)
	}
	for deadline := time.Now().Add(time.Minute); len(sortedLines(t, dir, "rows.csv")) < 4; {
		if time.Now().After(deadline) {
			t.Fatalf("rows after a minute: %q", sortedLines(t, dir, "rows.csv"))
		}
		time.Sleep(poll)
	}
}

// TestInterruptOnCluster interrupts the command while its job is on a cluster that
// has no worker for it.
func TestInterruptOnCluster(t *testing.T) {
	never := filepath.Join(t.TempDir(), "never.sh")
	if err := os.WriteFile(never, []byte("#!/bin/sh\ntouch "+never+".begun\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stream string
		status int
		want   string
	}{
		{"--stream=false", exitFailed, "tidemark: interrupted; nothing was written"},
		{"--stream=true", exitOK, "goes on, on the cluster"},
	} {
		dir := t.TempDir()
		write(t, dir, "in.ndjson", clusterInput)
		cmd := newCommand(t, dir, append([]string{
			"gmv", "--input", "in.ndjson", "--window", "1m", "--output", "rows.csv", c.stream,
			"--environment_type", "PROCESS", "--environment_config", `{"command":"` + never + `"}`,
		}, onServer(t)...)...)
		r := finish(t, cmd, func() {
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(poll) {
				if _, err := os.Stat(never + ".begun"); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Error("after a minute no worker was asked for")
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		})
		if err := os.Remove(never + ".begun"); err != nil {
			t.Error(err)
		}
		if r.status != c.status || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", c.stream, r.status, c.status, c.want, r.stderr)
		}
	}
}

// TestMartPlace opens what a worker gets.
func TestMartPlace(t *testing.T) {
	for config, want := range map[string]string{
		`{`:                                     "JSON",
		`{"Path":"/nowhere/at/all.db","Run":1}`: "no such file",
	} {
		if _, err := openPlace([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "mart.db")
	if _, err := openPlace([]byte(`{"Path":"` + path + `","Run":7}`)); err == nil || !strings.Contains(err.Error(), "run 7") {
		t.Errorf("a run that is not there: %v", err)
	}
}

// TestCancelWhenDone cancels a job whose outputs are written, until that succeeds.
func TestCancelWhenDone(t *testing.T) {
	dir := t.TempDir()
	j := job{outlets: outlets{done: dir, list: []output{{flag: "output"}}}}
	over, stop := context.WithCancel(t.Context())
	stop()
	write(t, dir, accountOutput, "")
	j.cancelWhenDone(over, func(context.Context) error {
		t.Error("cancelled before all was written")
		return nil
	})
	write(t, dir, "output", "")
	busy, tried := errors.New("the job server is busy"), 0
	j.cancelWhenDone(t.Context(), func(context.Context) error {
		if tried++; tried < 3 {
			return busy
		}
		return nil
	})
	if tried != 3 {
		t.Errorf("tried %d times, want 3", tried)
	}
	j.cancelWhenDone(over, func(context.Context) error { return busy }) // returns
}

// TestAccount takes lines of an account in any order: the one with the most counts.
func TestAccount(t *testing.T) {
	batch := func(text string) sink.Batch {
		var p sink.Packer
		p.Add(nil, []byte(text))
		return p.Bytes()
	}
	line := func(read, late int) sink.Batch { return batch(fmt.Sprintf(`{"read":%d,"late":%d}`, read, late)) }
	for _, c := range []struct {
		name   string
		lines  []sink.Batch
		wentOn bool
		want   string
	}{
		{"the last line has the most", []sink.Batch{line(1, 0), line(5, 1)}, false, "5 1"},
		{"it came first", []sink.Batch{line(5, 1), line(1, 0)}, false, "5 1"},
		{"as many, of other kinds: after a failure", []sink.Batch{line(5, 1), line(4, 2)}, false, "4 2"},
		{"nothing was counted", nil, false, "0 0"},
		{"nothing was counted since a savepoint", nil, true, "unknown"},
		{"something was", []sink.Batch{line(7, 0)}, true, "7 0"},
	} {
		var a account
		for _, b := range c.lines {
			if err := a.AddBatch(b); err != nil {
				t.Fatal(err)
			}
		}
		counts := &tally.Tally{}
		counts.Inc(t.Context(), tally.Bad, 3) // of workers, which have counted something twice
		counts, err := a.settle(counts, c.wentOn)
		got := "unknown"
		if counts != nil {
			got = fmt.Sprint(counts.Get(tally.Read), counts.Get(tally.Late))
			if n := counts.Get(tally.Bad); n != 0 {
				t.Errorf("%s: %d bad, want 0", c.name, n)
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	if err := new(account).AddBatch(batch("no JSON")); err == nil || !strings.Contains(err.Error(), "the account of the job") {
		t.Errorf("error %v", err)
	}
}
