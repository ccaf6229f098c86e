//go:build flink

package flink

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The script faults sets these.
var (
	faultRuns = flag.Int("faults.runs", 0, "how often each job has each fault; 0 is one fault for each job, as far as there are faults")
	faultSeed = flag.Uint64("faults.seed", 1, "when faults come")
)

// faults are what befalls a job, which then goes on.
var faults = []struct {
	name  string
	do    func(c *cluster, t *testing.T, d *disturbed)
	alone bool // its command does not wait for it any more
}{
	{"none", func(*cluster, *testing.T, *disturbed) {}, false}, // but checkpoints
	{"TaskManager killed", (*cluster).killTaskManager, false},
	{"worker killed", (*cluster).killWorker, false},
	{"savepoint", (*cluster).savepointAndResume, false},
	{"left alone", (*cluster).leaveAlone, true},
}

// disturbed is a job that a fault befalls.
type disturbed struct {
	name string
	dir  string
	args []string
	*process
}

// TestFaults plays jobs that write a mart, and has faults befall them: in the end
// the mart is that of a run on the embedded runner, which nothing has disturbed,
// and its accounts add up.
func TestFaults(t *testing.T) {
	c := need(t)
	random := rand.New(rand.NewPCG(*faultSeed, 0))
	// By default each has the fault of its place. Sessions have that after which most is done
	// again: which windows they have had on the way depends on what came together.
	jobs := []work{works[0], works[5], join("left_semi"), join("full"), works[3]}
	for i, w := range jobs {
		those := faults
		if *faultRuns == 0 {
			those = faults[i : i+1]
		}
		dir := w.prepare(t)
		undisturbed := c.succeed(t, dir, w.intoMart(true, "embedded.db")...)
		for run := range max(*faultRuns, 1) {
			for _, f := range those {
				after := 1 + random.IntN(6) // checkpoints
				t.Run(fmt.Sprintf("%s/%s/%d", w.name, f.name, run), func(t *testing.T) {
					d := &disturbed{
						name: strings.ReplaceAll(fmt.Sprintf("%s %s %d", w.name, f.name, run), " ", "-"),
						dir:  dir,
					}
					mart := d.name + ".db"
					d.args = append(w.intoMart(true, mart), c.processFlags()...)
					d.args = append(d.args, "--checkpoint_interval", "500ms", "--bundle_bytes", "20000", "--job_name", d.name)
					d.process = c.begin(t, d.dir, d.args...)
					eventually(t, fmt.Sprintf("%d checkpoints", after), func() bool { return d.ended() || c.checkpoints(t, d.name) >= after })
					if d.ended() {
						t.Fatalf("the job ended before anything could befall it:\n%s", d.wait(t).stderr)
					}
					f.do(c, t, d)
					if f.alone {
						eventually(t, "the mart is complete", func() bool {
							return w.isSameMart(t, filepath.Join(d.dir, "embedded.db"), filepath.Join(d.dir, mart))
						})
						if out, err := c.flink("cancel", d.name); err != nil {
							t.Fatalf("flink cancel: %v\n%s", err, out)
						}
						return
					}
					got := d.wait(t)
					if got.status != 0 {
						t.Fatalf("status %d, want 0:\n%s", got.status, got.stderr)
					}
					w.sameSummary(t, undisturbed, got)
					w.sameMart(t, true, filepath.Join(d.dir, "embedded.db"), filepath.Join(d.dir, mart), "run")
					if r := c.tidemark(t, d.dir, "reconcile", "--mart", "sqlite:"+mart); r.status != 0 || r.stderr != "" {
						t.Errorf("reconcile: %+v", r)
					}
				})
			}
		}
	}
	c.noWorkers(t)
}

// killTaskManager kills the TaskManager, and starts another one.
func (c *cluster) killTaskManager(t *testing.T, _ *disturbed) {
	for _, verb := range []string{"kill", "start"} {
		if out, err := c.flink("taskmanager", verb); err != nil {
			t.Fatalf("flink taskmanager %s: %v\n%s", verb, err, out)
		}
	}
}

// killWorker kills the processes that run DoFns.
func (c *cluster) killWorker(t *testing.T, _ *disturbed) {
	workers := c.workers(t)
	if len(workers) == 0 {
		t.Fatal("there is no worker")
	}
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("killing the worker %d: %v", pid, err)
		}
	}
}

// leaveAlone ends the command, and kills the workers: those that come then have no one to
// send the account to.
func (c *cluster) leaveAlone(t *testing.T, d *disturbed) {
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r := d.wait(t); r.status != 0 || !strings.Contains(r.stderr, "goes on, on the cluster") {
		t.Fatalf("the command that is interrupted: status %d\n%s", r.status, r.stderr)
	}
	c.killWorker(t, d)
}

// savepointAndResume stops the job with a savepoint, and goes on from it.
func (c *cluster) savepointAndResume(t *testing.T, d *disturbed) {
	out, err := c.flink("savepoint", d.name)
	if err != nil {
		t.Fatalf("flink savepoint: %v\n%s", err, out)
	}
	if r := d.wait(t); r.status != 0 || !strings.Contains(r.stderr, "was stopped before its end") {
		t.Fatalf("the command of a job that is stopped: status %d\n%s", r.status, r.stderr)
	}
	d.process = c.begin(t, d.dir, append(d.args, "--savepoint_path", strings.TrimSpace(out))...)
}

// checkpoints is how many checkpoints of the running job of a name are complete.
func (c *cluster) checkpoints(t *testing.T, name string) int {
	t.Helper()
	j := c.job(t, name)
	if j.State != "RUNNING" {
		return 0
	}
	var of struct{ Counts struct{ Completed int } }
	if err := ask(c.rest()+"/jobs/"+j.ID+"/checkpoints", &of); err != nil {
		t.Fatal(err)
	}
	return of.Counts.Completed
}
