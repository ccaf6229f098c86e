package main

import (
	"path/filepath"
	"slices"
	"testing"

	"tidemark/connectors/mart"
	"tidemark/connectors/sink"
	"tidemark/internal/tally"
)

// TestMartRelease ends runs of a job, of which an earlier one has left a row. An
// interrupt that comes when the input was read to its end changes nothing, but
// of a stream of files it may have come before.
func TestMartRelease(t *testing.T) {
	for _, c := range []struct {
		how         release
		interrupted bool
		rows        []string
		status      string
	}{
		{whole, false, []string{"new"}, mart.Done},
		{whole, true, []string{"new"}, mart.Done},
		{played, true, []string{"new"}, mart.Done},
		{behind, false, []string{"new"}, mart.Done},
		{behind, true, []string{"new", "old"}, mart.Interrupted},
	} {
		path := filepath.Join(t.TempDir(), "mart.db")
		run := func(how release, interrupted bool, key string) {
			t.Helper()
			m := martSink{path: path, info: mart.RunInfo{Job: "job"}}
			if err := m.begin(); err != nil {
				t.Fatal(err)
			}
			spool := sink.NewSpool(t.TempDir(), true)
			var p sink.Packer
			row := hourRow(key, 8, 1, 1, "08:00:00")
			p.Add([]byte(key), []byte(row[:len(row)-1]))
			if err := spool.AddBatch(p.Bytes()); err != nil {
				t.Fatal(err)
			}
			o := outlets{list: []output{{flag: "output", kind: mart.Rows}}, how: how, spools: map[string]*sink.Spool{"output": spool}}
			if err := m.release(&o, tally.Start(), interrupted); err != nil {
				t.Fatal(err)
			}
		}
		run(whole, false, "old")
		run(c.how, c.interrupted, "new")
		rows, status := ask(t, path, "SELECT key FROM gmv ORDER BY key"), ask(t, path, "SELECT status FROM runs WHERE run = 2")
		if !slices.Equal(rows, c.rows) || status[0] != c.status {
			t.Errorf("release %d, interrupted %v: rows %q and status %s, want %q and %s", c.how, c.interrupted, rows, status, c.rows, c.status)
		}
	}
}
