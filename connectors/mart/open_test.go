package mart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// files are the files in dir, with what is in them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			text = []byte(e.Type().String())
		}
		all[e.Name()] = string(text)
	}
	return all
}

// other makes a SQLite file by statements.
func other(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	ok(t, err)
	for _, s := range statements {
		_, err := db.Exec(s)
		ok(t, err)
	}
	ok(t, db.Close())
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	ok(t, os.WriteFile(at("text.db"), []byte("key,sum\n"+fmt.Sprintf("%600d", 1)), 0o666))
	ok(t, os.WriteFile(at("short.db"), []byte("x"), 0o666))
	ok(t, os.Mkdir(at("folder.db"), 0o777))
	other(t, at("foreign.db"), "CREATE TABLE t (x)")
	other(t, at("app.db"), "PRAGMA application_id = 7")
	other(t, at("wal.db"), "PRAGMA journal_mode = WAL", "CREATE TABLE t (x)")
	m := opened(t, at("newer.db"))
	ok(t, m.exec("PRAGMA user_version = 4"))
	ok(t, m.Close())

	before := files(t, dir)
	for _, c := range []struct {
		path string
		want []string
	}{
		{"", []string{"path is empty"}},
		{at("text.db"), []string{"not a mart: not a SQLite file"}},
		{at("short.db"), []string{"not a mart: not a SQLite file"}},
		{at("folder.db"), []string{"not a mart: a folder"}},
		{os.DevNull, []string{"not a mart: a special file"}},
		{at("foreign.db"), []string{"not a mart: a SQLite file with the application_id 0, want 1416193125"}},
		{at("app.db"), []string{"application_id 7, want 1416193125"}},
		{at("wal.db"), []string{"application_id 0, want 1416193125"}},
		{at("newer.db"), []string{"schema version (user_version) is 4, want 3"}},
		{at("gone/mart.db"), []string{"gone", "no such file or directory"}},
		{at("text.db/mart.db"), []string{"not a directory"}},
	} {
		for name, try := range map[string]func(string) error{
			"Check":        Check,
			"Open":         func(path string) error { _, err := Open(path); return err },
			"OpenReadOnly": func(path string) error { _, err := OpenReadOnly(path); return err },
		} {
			t.Run(name+" "+filepath.Base(c.path), func(t *testing.T) {
				err := try(c.path)
				says(t, err, append(c.want, fmt.Sprintf("mart %q", c.path))...)
				if after := files(t, dir); !maps.Equal(before, after) {
					t.Errorf("files before: %q\nand after: %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
				}
			})
		}
	}
}

// TestCheck looks at paths that are fine, and changes nothing.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	ok(t, Check(path))
	if after := files(t, dir); len(after) > 0 {
		t.Errorf("files: %q, want none", after)
	}
	ok(t, os.WriteFile(path, nil, 0o666))
	ok(t, Check(path))
	if after := files(t, dir); len(after) != 1 || after["mart.db"] != "" {
		t.Errorf("files: %q, want an empty one", after)
	}

	m := opened(t, path)
	ok(t, m.Close())
	before := files(t, dir)
	ok(t, Check(path))
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("the mart has changed, or there are other files: %q", slices.Collect(maps.Keys(after)))
	}
}

// TestPermissions needs a user whom permissions hold back.
func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	m := opened(t, path)
	ok(t, m.Close())
	ok(t, os.Chmod(path, 0o444))
	for what, try := range map[string]func(string) error{
		"Check": Check, "Open": func(path string) error { _, err := Open(path); return err },
	} {
		if err := try(path); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: error %v, want ErrReadOnly", what, err)
		}
	}
	ro, err := OpenReadOnly(path)
	ok(t, err)
	ok(t, ro.Close())
	ok(t, os.Chmod(dir, 0o555))
	defer func() { ok(t, os.Chmod(dir, 0o777)) }()
	says(t, Check(filepath.Join(dir, "new.db")), "takes no files: permission denied")
}

// TestEmptyDatabase has a database with nothing in it.
func TestEmptyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	other(t, path, "PRAGMA journal_mode = WAL")
	before := files(t, filepath.Dir(path))
	ok(t, Check(path))
	if after := files(t, filepath.Dir(path)); len(before["mart.db"]) == 0 || !maps.Equal(before, after) {
		t.Errorf("files before: %q, and after: %q", before, after)
	}
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrNotMart) {
		t.Errorf("OpenReadOnly: error %v, want ErrNotMart", err)
	}
	ok(t, opened(t, path).Close())
}

func TestOpenNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a b?x=1&mode=memory#%41.db", ":memory:", "file:x.db", "é.db"} {
		m := opened(t, name)
		begin(t, m, "job")
		ok(t, m.Close())
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("there is no file of the name %q: %v", name, err)
		}
	}
	if all := files(t, dir); len(all) != 4 {
		t.Errorf("files: %q, want 4", slices.Sorted(maps.Keys(all)))
	}
}

func TestOpenReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrNotExist) {
		t.Errorf("error %v, want ErrNotExist", err)
	}
	ok(t, os.WriteFile(path, nil, 0o666))
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrNotMart) {
		t.Errorf("an empty file: error %v, want ErrNotMart", err)
	}
	m := opened(t, path)
	ok(t, m.Close())
	before := files(t, filepath.Dir(path))
	ro, err := OpenReadOnly(path)
	ok(t, err)
	if _, err := ro.Begin(RunInfo{Job: "job"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("error %v, want ErrReadOnly", err)
	}
	ok(t, ro.Close())
	if after := files(t, filepath.Dir(path)); !maps.Equal(before, after) {
		t.Errorf("the mart has changed, or there are other files")
	}
}

// TestOpenAtOnce lets many make the same mart.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := m.Begin(RunInfo{Job: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	m := opened(t, path)
	same(t, "runs", []string{"8|8"}, query(t, m, "SELECT count(*), max(run) FROM runs"))
	same(t, "journal", []string{"wal"}, query(t, m, "PRAGMA journal_mode"))
	ok(t, m.Close())
}

// TestLocked has another connection that writes.
func TestLocked(t *testing.T) {
	m, dir := newMart(t), ""
	dir = m.path
	r := begin(t, m, "job")
	w := opened(t, dir)
	defer func() { ok(t, w.Close()) }()
	before := dump(t, m)
	ok(t, w.transact(func() error {
		const want = "locked by another process for more than 0s; nothing was written"
		_, err := m.Begin(RunInfo{Job: "other"})
		for what, err := range map[string]error{
			"Begin":   err,
			"Insert":  r.Insert(Rows, of(row("a", 8, 0, 1))),
			"Replace": r.Replace(map[Kind]Lines{Rows: of(row("a", 8, 0, 1))}, Summary{}),
			"Finish":  r.Finish(Done, Summary{}),
		} {
			if !errors.Is(err, ErrLocked) {
				t.Errorf("%s: error %v, want ErrLocked", what, err)
			}
			says(t, err, want, m.path)
		}
		ok(t, Check(m.path)) // it may be free when it is needed
		// Nor does it wait, as long as this one.
		patient, err := OpenFor(m.path, time.Hour)
		ok(t, err)
		same(t, "patience", []string{"3600000"}, query(t, patient, "PRAGMA busy_timeout"))
		ok(t, patient.Close())
		// Who reads need not wait.
		ro, err := OpenReadOnly(m.path)
		ok(t, err)
		ok(t, ro.Balances("", func(*Balance) error { return nil }))
		return ro.Close()
	}))
	same(t, "rows", before, dump(t, m))
	ok(t, r.Replace(map[Kind]Lines{Rows: of(row("a", 8, 0, 1))}, Summary{}))
}

// TestFull lets the file not grow.
func TestFull(t *testing.T) {
	m := newMart(t)
	r := begin(t, m, "job")
	ok(t, r.Insert(Rows, of(row("a", 8, 0, 1))))
	before, runs := dump(t, m), dumpRuns(t, m)
	_, err := m.conn.ExecContext(context.Background(), "PRAGMA max_page_count = 20")
	ok(t, err)
	many := func(emit func([]byte) error) error {
		for i := range 5000 {
			if err := emit([]byte(row(fmt.Sprintf("key %d", i), 8, 0, 1))); err != nil {
				return err
			}
		}
		return nil
	}
	for what, err := range map[string]error{
		"Insert":  r.Insert(Rows, many),
		"Replace": r.Replace(map[Kind]Lines{Rows: many}, Summary{}),
	} {
		if !errors.Is(err, ErrFull) {
			t.Errorf("%s: error %v, want ErrFull", what, err)
		}
		says(t, err, "the disk is full, or the file may not grow; nothing was written", m.path)
	}
	same(t, "rows", before, dump(t, m))
	same(t, "runs", runs, dumpRuns(t, m))

	_, err = m.conn.ExecContext(context.Background(), "PRAGMA max_page_count = 100000")
	ok(t, err)
	ok(t, r.Replace(map[Kind]Lines{Rows: many}, Summary{}))
	same(t, "rows", []string{"5000"}, query(t, m, "SELECT count(*) FROM gmv"))
}

// TestCloseFolds closes a mart that another process has open, which is killed then: what
// was written is in the file alone.
func TestCloseFolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mart.db")
	m, err := Open(path)
	ok(t, err)
	run := begin(t, m, "job")
	worker, err := Open(path)
	ok(t, err)
	theirs, err := worker.Resume(run.Number())
	ok(t, err)
	ok(t, theirs.Insert(Rows, of(row("a", 8, 0, 10))))
	ok(t, run.Finish(Done, Summary{}))
	ok(t, m.Close())

	text, err := os.ReadFile(path)
	ok(t, err)
	alone := filepath.Join(t.TempDir(), "mart.db")
	ok(t, os.WriteFile(alone, text, 0o666))
	ok(t, worker.Close())
	m, err = OpenReadOnly(alone)
	ok(t, err)
	same(t, "rows", []string{"a|10|done"}, query(t, m, "SELECT key, sum, status FROM gmv JOIN runs USING (run)"))
	ok(t, m.Close())
}
