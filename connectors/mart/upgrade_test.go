package mart

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// oldMart makes a mart of an older version.
func oldMart(t *testing.T, version int) (path string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/version%d.sql", version))
	ok(t, err)
	path = filepath.Join(t.TempDir(), "mart.db")
	other(t, path, string(text))
	return path
}

// oldTables are those of an older version, with what is in them. Columns that are
// not in all versions are left out.
func oldTables(t *testing.T, m *Mart, version int) (out []string) {
	t.Helper()
	names := []string{"runs", "gmv", "window_counts", "late", "bad", "overflows"}
	if version > 1 {
		names = append(names, "averages")
	}
	added := append([]string{"aggregate", "work", "sessions", "side", "join_type"}, joinCountNames...)
	for _, name := range names {
		var cols string
		for _, c := range query(t, m, "SELECT name FROM pragma_table_info(?)", name) {
			if !slices.Contains(added, c) {
				cols += ", quote(" + c + ")"
			}
		}
		out = append(out, query(t, m, "SELECT '"+name+"'"+cols+" FROM "+name)...)
	}
	return out
}

// schemaOf is what a mart is made of, without the order of columns.
func schemaOf(t *testing.T, m *Mart) []string {
	t.Helper()
	all := query(t, m, "SELECT type, name, CASE type WHEN 'view' THEN sql END FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'")
	all = append(all, query(t, m, `SELECT s.name, c.name, c.type, c."notnull", c.dflt_value, c.pk FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table'`)...)
	all = append(all, query(t, m, "SELECT name, wr, strict FROM pragma_table_list WHERE type = 'table'")...)
	slices.Sort(all)
	return append(all, query(t, m, "PRAGMA user_version")...)
}

// TestUpgrade opens marts of older versions. Until somebody writes to them, they
// stay as they are, and can be read.
func TestUpgrade(t *testing.T) {
	const first, second = "9223372036854775828=9223372036854775823(5)+5", "9223372036854775833=9223372036854775823(10)+10"
	for version, want := range map[int][]string{
		1: {`orders 08 "EUR" 5=4(1)+1 ` + first, `orders all "EUR" 5=4(1)+1 ` + first, "orders all - 5=4(1)+1 <nil>=<nil>(<nil>)+<nil> bad 1"},
		2: {
			`orders 08 "EUR" 3=2(1)+1 ` + second, `orders all "EUR" 3=2(1)+1 ` + second, "orders all - 3=2(1)+1 <nil>=<nil>(<nil>)+<nil> bad 2",
			"readings 08 - 2=2(0)+0 <nil>=<nil>(<nil>)+<nil>", "readings all - 2=2(0)+0 <nil>=<nil>(<nil>)+<nil> bad 0",
		},
	} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testUpgrade(t, version, want) })
	}
}

func testUpgrade(t *testing.T, version int, want []string) {
	path := oldMart(t, version)
	before := files(t, filepath.Dir(path))
	ok(t, Check(path))
	ok(t, CheckJob(path, RunInfo{Job: "orders"}))
	others := map[string]Work{"orders": Join}
	if version > 1 {
		others["readings"] = GMV
		ok(t, CheckJob(path, RunInfo{Job: "readings", Work: Average}))
	}
	for job, work := range others {
		if err := CheckJob(path, RunInfo{Job: job, Work: work}); !errors.Is(err, ErrOtherJob) {
			t.Errorf("error %v, want ErrOtherJob", err)
		}
	}
	ro, err := OpenReadOnly(path)
	ok(t, err)
	rows := oldTables(t, ro, version)
	got, faults := balances(t, ro, "")
	same(t, "balances", want, got)
	same(t, "faults", nil, faults)
	ok(t, ro.Close())
	if after := files(t, filepath.Dir(path)); !maps.Equal(before, after) {
		t.Errorf("the mart has changed, or there are other files: %q", slices.Collect(maps.Keys(after)))
	}

	m := opened(t, path)
	defer func() { ok(t, m.Close()) }()
	same(t, "rows", rows, oldTables(t, m, version))
	same(t, "bad records", []string{""}, query(t, m, "SELECT DISTINCT side FROM bad"))
	same(t, "schema", schemaOf(t, newMart(t)), schemaOf(t, m))
	same(t, "integrity", []string{"ok"}, query(t, m, "PRAGMA integrity_check"))
	got, faults = balances(t, m, "")
	same(t, "balances", want, got)
	same(t, "faults", nil, faults)
	if n := begin(t, m, "orders").Number(); n != 4 {
		t.Errorf("run %d, want 4", n)
	}
	ok(t, beginAverages(t, m, "readings").Replace(map[Kind]Lines{Rows: of(averageLine("a", 8, 0, "0.1", 1)), Counts: of(plainLine(8, 1, 0, 0))}, Summary{Assigned: 1, Added: 1}))
	ok(t, beginJoin(t, m, "trips", "left").Replace(map[Kind]Lines{Rows: of(joinedLine(8, "a", 1, 0))}, joinSummary(SideCounts{Assigned: 1, Unmatched: 1}, SideCounts{})))
	_, faults = balances(t, m, "")
	same(t, "faults", nil, faults)
}

// TestUpgradeLocked has somebody else write when the mart is to be upgraded, which
// cannot be put off, and then many who upgrade it at once.
func TestUpgradeLocked(t *testing.T) {
	path := oldMart(t, 1)
	w, err := open(path, "rw", 0)
	ok(t, err)
	ok(t, w.transact(func() error {
		if _, err := open(path, "rwc", 0); !errors.Is(err, ErrLocked) {
			t.Errorf("error %v, want ErrLocked", err)
		}
		return Check(path)
	}))
	same(t, "version", []string{"1"}, query(t, w, "PRAGMA user_version"))
	ok(t, w.Close())

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			m, err := Open(path)
			if err == nil {
				_, err = m.Begin(RunInfo{Job: "orders"})
				err = errors.Join(err, m.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	m := opened(t, path)
	same(t, "version and runs", []string{"3|9"}, query(t, m, "SELECT user_version, (SELECT count(*) FROM runs) FROM pragma_user_version"))
	ok(t, m.Close())
}
