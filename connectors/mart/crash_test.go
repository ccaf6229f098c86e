package mart

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// manyRows are enough for a SQLite with a small cache to write some of them
// before it commits.
func manyRows(sum int) Lines {
	return func(emit func([]byte) error) error {
		for i := range 5000 {
			if err := emit([]byte(row(fmt.Sprintf("key %05d", i), 8, 0, sum))); err != nil {
				return err
			}
		}
		return nil
	}
}

// manyPairs are as many of a join.
func manyPairs(emit func([]byte) error) error {
	for i := range 5000 {
		if err := emit([]byte(joinedLine(8, fmt.Sprintf("key %05d", i), i+1, i+1))); err != nil {
			return err
		}
	}
	return nil
}

// child is a process that tells what it has done on standard output, a line at a
// time, until it is killed.
func child(what, path string) {
	die := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	m, err := Open(path)
	die(err)
	r, err := m.Begin(RunInfo{Job: "job", Command: "gmv"})
	die(err)
	switch what {
	case "replace":
		die(m.exec("PRAGMA cache_size = 50"))
		die(r.Replace(map[Kind]Lines{Rows: manyRows(2), Late: func(func([]byte) error) error {
			fmt.Println("rows are written, late records are not")
			select {}
		}}, Summary{}))
	case "join":
		die(m.exec("PRAGMA cache_size = 50"))
		all, sum := selfJoin()
		all[Rows] = manyPairs
		all[Bad] = func(func([]byte) error) error {
			fmt.Println("rows are written, bad records are not")
			select {}
		}
		j, err := m.Begin(RunInfo{Job: "trips", Command: "join", Work: Join, JoinType: "full"})
		die(err)
		die(j.Replace(all, sum))
	case "insert":
		for i := 0; ; i++ {
			die(r.Insert(Rows, of(row(fmt.Sprint(i), 8, 0, 1), row(fmt.Sprint(i), 9, 0, 1))))
			fmt.Println("inserted", i)
		}
	}
	os.Exit(1) // it should have been killed
}

// kill starts a child, and kills it when it has said n lines.
func kill(t *testing.T, what, path string, n int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), asChild+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	said := bufio.NewScanner(out)
	for range n {
		if !said.Scan() || strings.HasPrefix(said.Text(), "failed") {
			t.Errorf("the child said %q", said.Text())
			break
		}
	}
	ok(t, cmd.Process.Kill())
	for said.Scan() { // what it has said before it died
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the child has ended with %v, want it killed", cmd.ProcessState)
	}
}

// TestKilledReplace kills a process in the middle of its transaction. Nothing of
// it is seen, and the next run makes the same mart as one that had no crash.
func TestKilledReplace(t *testing.T) {
	for what, old := range map[string]Lines{
		"new job":                 nil, // written directly
		"job with rows (staged)":  of(row("key 00000", 8, 0, 2), row("z", 8, 0, 1)),
		"job with a run, no rows": of(),
	} {
		t.Run(what, func(t *testing.T) {
			fill := func(m *Mart) {
				ok(t, begin(t, m, "other").Replace(map[Kind]Lines{Rows: of(row("a", 8, 0, 1))}, Summary{}))
				if old != nil {
					ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Rows: old}, Summary{Read: 2}))
				}
			}
			path := filepath.Join(t.TempDir(), "mart.db")
			m := opened(t, path)
			fill(m)
			before, runs := dump(t, m), dumpRuns(t, m)
			ok(t, m.Close())

			kill(t, "replace", path, 1)
			if info, err := os.Stat(path + "-wal"); err != nil || info.Size() < 100_000 {
				t.Errorf("next to the mart: %v, %v, want a part of the transaction", info, err)
			}
			ok(t, Check(path))
			m = opened(t, path)
			same(t, "rows after the crash", before, dump(t, m))
			status := func(s string) []string {
				return append(runs[:len(runs):len(runs)], fmt.Sprintf("%d|job|gmv|%s|null|null|null|null|null|null|null", len(runs)+1, s))
			}
			same(t, "runs after the crash", status("running"), dumpRuns(t, m))

			again := begin(t, m, "job")
			same(t, "runs when the next begins", status("crashed"), dumpRuns(t, m)[:len(runs)+1])
			ok(t, again.Replace(map[Kind]Lines{Rows: manyRows(2)}, Summary{}))
			same(t, "integrity", []string{"ok"}, query(t, m, "PRAGMA integrity_check"))

			clean := newMart(t)
			fill(clean)
			begin(t, clean, "job") // for the number
			ok(t, begin(t, clean, "job").Replace(map[Kind]Lines{Rows: manyRows(2)}, Summary{}))
			same(t, "rows of the next run", dump(t, clean), dump(t, m))
			ok(t, m.Close())
		})
	}
}

// TestKilledJoin kills a process in the middle of replacing a join. Its rows, late
// records and counts are as they were, and reconcile as they did.
func TestKilledJoin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	m := opened(t, path)
	all, sum := selfJoin()
	ok(t, beginJoin(t, m, "trips", "full").Replace(all, sum))
	before := dump(t, m)
	ok(t, m.Close())

	kill(t, "join", path, 1)
	m = opened(t, path)
	defer func() { ok(t, m.Close()) }()
	same(t, "rows after the crash", before, dump(t, m))
	check := func(status string) {
		t.Helper()
		ok(t, m.Balances("trips", func(b *Balance) error {
			if !b.Join.Ended || b.Assigned != sum.Assigned || b.Status != status {
				t.Errorf("%+v, want %d assigned and the status %s", b, sum.Assigned, status)
			}
			return b.Check()
		}))
	}
	check(running)
	again := beginJoin(t, m, "trips", "full")
	ok(t, again.Replace(all, sum))
	same(t, "rows of the next run", before, dump(t, m))
	same(t, "crashed", []string{"crashed"}, query(t, m, "SELECT status FROM runs WHERE job = 'trips' AND run = ?", again.Number()-1))
	check(Done)
}

// TestKilledInsert kills a process between and in its transactions. What it had
// said it had inserted is there, and nothing by halves.
func TestKilledInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	kill(t, "insert", path, 20)
	m := opened(t, path)
	defer func() { ok(t, m.Close()) }()
	same(t, "integrity", []string{"ok"}, query(t, m, "PRAGMA integrity_check"))
	same(t, "batches by halves", nil, query(t, m, "SELECT key FROM gmv GROUP BY key HAVING count(*) <> 2"))
	same(t, "batches", []string{"1|1"}, query(t, m, "SELECT count(DISTINCT key) >= 20, max(CAST(key AS INTEGER)) + 1 = count(DISTINCT key) FROM gmv"))

	// The next run makes it right.
	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Rows: of(row("0", 8, 0, 1), row("1", 8, 0, 7))}, Summary{}))
	same(t, "rows of the next run", []string{"0|1|1", "1|7|2"}, query(t, m, "SELECT key, sum, run FROM gmv"))
	same(t, "runs", []string{"1|crashed", "2|done"}, query(t, m, "SELECT run, status FROM runs"))
}
