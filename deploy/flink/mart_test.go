//go:build flink

package flink

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of marts
)

// tables are those of a mart, but for the one of runs.
var tables = []string{"gmv", "averages", "overflows", "window_counts", "joined", "join_late", "late", "bad"}

// rowsOf are the rows of a table of a mart, each as text, but for the columns except.
func rowsOf(t *testing.T, path, table string, except ...string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, pointers := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i, name := range names {
			if !slices.Contains(except, name) {
				_, _ = fmt.Fprintf(&b, "%s=%v ", name, values[i])
			}
		}
		all = append(all, b.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// intoMart are the flags of a run that goes to a mart.
func (w work) intoMart(streamed bool, mart string) []string {
	return append(w.flags(streamed), "--output", "sqlite:"+mart, "--bad_output", "sqlite:"+mart, "--job", "work")
}

// chance are the columns that differ from run to run: see work.
func (w work) chance(streamed bool) (columns []string) {
	if streamed && w.totals {
		columns = append(columns, path...)
	}
	if w.once {
		columns = append(columns, "time_ms")
	}
	return columns
}

// sameMart compares the tables of the marts of two runs, but for what differs from run to
// run and the columns except. It returns how many rows each has.
func (w work) sameMart(t *testing.T, streamed bool, want, got string, except ...string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, table := range tables {
		rows := w.rowsOf(t, streamed, want, table, except...)
		same(t, table, rows, w.rowsOf(t, streamed, got, table, except...))
		count[table] = len(rows)
	}
	return count
}

// isSameMart reports whether the marts of two streams are the same.
func (w work) isSameMart(t *testing.T, want, got string) bool {
	t.Helper()
	return !slices.ContainsFunc(tables, func(table string) bool {
		return !slices.Equal(w.rowsOf(t, true, want, table, "run"), w.rowsOf(t, true, got, table, "run"))
	})
}

// rowsOf are the rows of a table of a mart, but for what differs from run to run.
func (w work) rowsOf(t *testing.T, streamed bool, path, table string, except ...string) []string {
	t.Helper()
	rows := rowsOf(t, path, table, append(w.chance(streamed), except...)...)
	if streamed && w.totals {
		rows = slices.DeleteFunc(rows, withdrawn)
	}
	return rows
}

// withdrawn reports whether a row is that of a session that was withdrawn: see totals.
func withdrawn(row string) bool { return strings.Contains(row, " count=0 ") }

// TestMart writes a mart with each runner. The same is in them, nothing of it is
// lost, and nothing twice.
func TestMart(t *testing.T) {
	c := need(t)
	// What is filled by which work; of a stream there are late records besides.
	for _, k := range []struct {
		work
		filled, late []string
	}{
		{works[0], []string{"gmv", "window_counts", "bad"}, []string{"late"}},
		{works[3], []string{"averages", "window_counts", "bad"}, []string{"late"}},
		{join("full"), []string{"joined", "bad"}, []string{"join_late"}},
		{join("left_semi"), []string{"joined", "bad"}, []string{"join_late"}},
	} {
		modes(t, k.name, func(t *testing.T, streamed bool) {
			dir := k.prepare(t)
			want := c.succeed(t, dir, k.intoMart(streamed, "embedded.db")...)
			got := c.onFlink(t, dir, k.intoMart(streamed, "flink.db")...)
			k.sameSummary(t, want, got)
			if r := c.tidemark(t, dir, "reconcile", "--mart", "sqlite:flink.db"); r.status != 0 || r.stdout == "" {
				t.Errorf("reconcile: %+v", r)
			}
			filled := k.filled
			if streamed {
				filled = append(slices.Clone(filled), k.late...)
			}
			for table, rows := range k.sameMart(t, streamed, filepath.Join(dir, "embedded.db"), filepath.Join(dir, "flink.db")) {
				if slices.Contains(filled, table) != (rows > 0) {
					t.Errorf("%d rows in %s", rows, table)
				}
			}
		})
	}
}
