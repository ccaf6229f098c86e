package mart

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckpoint plays a runner that goes back to a checkpoint: rows come again, in
// other revisions than before.
func TestCheckpoint(t *testing.T) {
	m := newMart(t)
	run := begin(t, m, "j")
	counted := func(revision, sum, count int) string {
		return strings.Replace(row("k", 8, revision, sum), fmt.Sprintf(`"count":%d`, revision+1), fmt.Sprintf(`"count":%d`, count), 1)
	}
	for _, c := range []struct {
		name string
		line string
		want string
	}{
		{"the first", counted(0, 10, 1), "0|10|1"},
		{"a late element", counted(1, 20, 2), "1|20|2"},
		{"another one", counted(2, 30, 3), "2|30|3"},
		{"again from the start", counted(0, 10, 1), "2|30|3"},
		{"all late elements at once", counted(1, 40, 4), "1|40|4"},
		{"a row of before the failure", counted(2, 30, 3), "1|40|4"},
		{"the same number, newer", counted(2, 40, 4), "2|40|4"},
		{"withdrawn", counted(1, 0, 0), "1|0|0"},
		{"nothing comes after that", counted(3, 50, 5), "1|0|0"},
	} {
		ok(t, run.Insert(Rows, of(c.line)))
		same(t, c.name, []string{c.want}, query(t, m, "SELECT revision, sum, count FROM gmv"))
	}
}

// TestContinue goes on with a run, as from a savepoint.
func TestContinue(t *testing.T) {
	m := newMart(t)
	first, err := m.Continue(RunInfo{Job: "j"})
	ok(t, err)
	ok(t, first.Insert(Rows, of(row("k", 8, 0, 10))))
	ok(t, first.Finish(Interrupted, Summary{Read: 1}))
	begin(t, m, "other")
	again, err := m.Continue(RunInfo{Job: "j"})
	ok(t, err)
	if first.Number() != 1 || again.Number() != 1 {
		t.Errorf("runs %d and %d, want 1", first.Number(), again.Number())
	}
	same(t, "going on", []string{"1|running|null", "2|running|null"}, query(t, m, "SELECT run, status, ended_ms FROM runs"))
	ok(t, again.Insert(Rows, of(row("l", 8, 0, 20))))
	ok(t, again.Finish(Done, Summary{Read: 2}))
	same(t, "rows", []string{"1|k|10", "1|l|20"}, query(t, m, "SELECT run, key, sum FROM gmv"))
	same(t, "at the end", []string{"1|done|2"}, query(t, m, "SELECT run, status, read FROM runs WHERE job = 'j'"))
	if _, err := m.Continue(RunInfo{Job: "j", Work: Average}); err == nil || !strings.Contains(err.Error(), `"j"`) {
		t.Errorf("other work: %v", err)
	}
	if _, err := m.Continue(RunInfo{}); err == nil {
		t.Error("a job without a name")
	}
	if r, err := m.Continue(RunInfo{Job: "j", Sessions: true}); r != nil || err == nil || !strings.Contains(err.Error(), `run 1 of job "j" cannot go on as another one`) {
		t.Errorf("other windows: %v, %v", r, err)
	}
	beginJoin(t, m, "trips", "full")
	if r, err := m.Continue(RunInfo{Job: "trips", Work: Join, JoinType: "inner"}); r != nil || err == nil || !strings.Contains(err.Error(), `type of join "inner" and sessions false, want "full" and false`) {
		t.Errorf("another type: %v, %v", r, err)
	}

	// What is not known any more is not there.
	again, err = m.Continue(RunInfo{Job: "j"})
	ok(t, err)
	ok(t, again.Finish(Failed, Summary{Unknown: true}))
	same(t, "unknown", []string{"1|failed|null|null"}, query(t, m, "SELECT run, status, read, assigned FROM runs WHERE job = 'j'"))
}

// TestResume lets another process write for a run.
func TestResume(t *testing.T) {
	m := newMart(t)
	run, err := m.Begin(RunInfo{Job: "j", Work: Average, Command: "average"})
	ok(t, err)
	other, err := Open(m.path)
	ok(t, err)
	defer other.Close() //nolint:errcheck // nothing to lose
	worker, err := other.Resume(run.Number())
	ok(t, err)
	ok(t, worker.Insert(Rows, of(averageLine("a", 8, 0, "0.5", 1))))
	ok(t, run.Finish(Done, Summary{}))
	same(t, "rows", []string{"1|j|a"}, query(t, m, "SELECT run, job, key FROM averages"))
	if _, err := other.Resume(7); err == nil || !strings.Contains(err.Error(), "run 7") {
		t.Errorf("a run that is not there: %v", err)
	}
}
