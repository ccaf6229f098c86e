//go:build flink

package flink

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestProcess has the workers in processes of the TaskManager, in another folder
// than the command. They end with the job.
func TestProcess(t *testing.T) {
	c := need(t)
	for _, k := range []struct {
		work
		streamed bool
	}{{works[0], false}, {join("full"), true}} {
		t.Run(k.name, func(t *testing.T) {
			dir := k.prepare(t)
			want := c.succeed(t, dir, append(k.flags(k.streamed), into("embedded")...)...)
			args := append(k.flags(k.streamed), into("flink")...)
			got := c.succeed(t, dir, append(args, c.processFlags()...)...)
			k.sameSummary(t, want, got)
			k.compare(t, dir, "embedded", "flink", k.streamed)
			c.noWorkers(t)
		})
	}
}

// noWorkers waits until no worker is left: neither what boot.sh records, nor a process.
func (c *cluster) noWorkers(t *testing.T) {
	t.Helper()
	eventually(t, "no worker is left", func() bool {
		folders, err := os.ReadDir(filepath.Join(c.home, "workers"))
		if err != nil {
			t.Fatal(err)
		}
		return len(folders)+len(c.boots(t))+len(c.workers(t)) == 0
	})
}

// boots are the processes that start workers.
func (c *cluster) boots(t *testing.T) []int {
	t.Helper()
	return processes(t, filepath.Join(c.home, "bin", "boot")+" ")
}

// workers are the processes that run DoFns.
func (c *cluster) workers(t *testing.T) []int {
	t.Helper()
	return processes(t, "--worker=true", c.home)
}

// processes are the ids of those that have all of these in their command lines.
func processes(t *testing.T, parts ...string) (ids []int) {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid,args").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		id, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(args, part) }) {
			continue
		}
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, pid)
	}
	return ids
}

// TestAsync leaves a stream to the cluster, which goes on until it is cancelled.
func TestAsync(t *testing.T) {
	c := need(t)
	w := works[1]
	dir := w.prepare(t)
	c.succeed(t, dir, append(w.flags(true), into("embedded")...)...)

	const name = "orders-async"
	args := append(w.flags(true), into("flink")...)
	r := c.succeed(t, dir, append(append(args, c.processFlags()...), "--async", "--job_name", name)...)
	if !regexp.MustCompile(`^\S*` + name + `\S*\n$`).MatchString(r.stdout) {
		t.Errorf("standard output %q, want the id of the job alone", r.stdout)
	}
	eventually(t, "the job runs", func() bool { return c.job(t, name).State == "RUNNING" })
	eventually(t, "all rows are written", func() bool {
		for _, suffix := range []string{".ndjson", "-late.ndjson", "-bad.ndjson"} {
			if _, err := os.Stat(filepath.Join(dir, "flink"+suffix)); err != nil {
				return false
			}
			if !slices.Equal(sortedLines(t, dir, "embedded"+suffix), sortedLines(t, dir, "flink"+suffix)) {
				return false
			}
		}
		return true
	})
	if out, err := c.flink("cancel", name); err != nil {
		t.Errorf("flink cancel: %v\n%s", err, out)
	}
	if s := c.job(t, name).State; s != "CANCELED" {
		t.Errorf("the job is %s, want CANCELED", s)
	}
	w.compare(t, dir, "embedded", "flink", true)
	c.noWorkers(t)
}
