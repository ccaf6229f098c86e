package mart

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// of hands out lines.
func of(lines ...string) Lines {
	return func(emit func([]byte) error) error {
		for _, l := range lines {
			if err := emit([]byte(l)); err != nil {
				return err
			}
		}
		return nil
	}
}

// tester is a test, or one draw of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// opened opens the mart at path, which the test closes.
func opened(t tester, path string) *Mart {
	t.Helper()
	m, err := open(path, "rwc", 0)
	if err != nil {
		t.Fatal(err)
	}
	m.now = func() time.Time { return time.UnixMilli(1_700_000_000_000) }
	return m
}

// newMart makes a mart that is closed at the end of the test.
func newMart(t *testing.T) *Mart {
	t.Helper()
	m := opened(t, filepath.Join(t.TempDir(), "mart.db"))
	t.Cleanup(func() { ok(t, m.Close()) })
	return m
}

func begin(t tester, m *Mart, job string) *Run {
	t.Helper()
	r, err := m.Begin(RunInfo{Job: job, Command: "gmv"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// query returns the rows of a query, columns separated by |.
func query(t tester, m *Mart, statement string, args ...any) (out []string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, err := m.conn.QueryContext(context.Background(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		parts := make([]string, len(names))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
				parts[i] = "null"
			case []byte:
				parts[i] = fmt.Sprintf("x'%x'", v)
			default:
				parts[i] = fmt.Sprint(v)
			}
		}
		out = append(out, strings.Join(parts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// dump is everything in the mart but the runs, types included.
func dump(t tester, m *Mart) (out []string) {
	t.Helper()
	for _, tab := range tables {
		all := slices.Concat([]column{{name: "job"}}, tab.key, []column{{name: "run"}}, tab.content)
		exprs := make([]string, len(all))
		for i, c := range all {
			exprs[i] = "quote(" + c.name + ")"
		}
		for _, row := range query(t, m, "SELECT "+strings.Join(exprs, ", ")+" FROM "+tab.name) {
			out = append(out, tab.name+": "+row)
		}
	}
	return out
}

// dumpRuns is the table of runs, without times.
func dumpRuns(t tester, m *Mart) []string {
	t.Helper()
	return query(t, m, "SELECT run, job, command, status, read, bad, assigned, added, corrected, late, overflowed FROM runs ORDER BY run")
}

// same compares rows.
func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: mismatch (-want +got):\n%s", what, diff)
	}
}

// says checks that an error says what was wrong.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
}

// row is a line of GMV for an hour of 1 June 2024.
func row(key string, hour, revision, sum int) string {
	previous := "null"
	if revision > 0 {
		previous = "1"
	}
	return fmt.Sprintf(`{"key":%q,"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","pane":"ON_TIME","revision":%d,`+
		`"sum":%d,"previous_sum":%[6]s,"count":%[7]d,"previous_count":%[6]s,"max_event_time":"2024-06-01T%02[2]d:59:59.999Z"}`,
		key, hour, hour+1, revision, sum, previous, revision+1)
}

// lateLine is a late record that missed an hour of 1 June 2024.
func lateLine(source string, position, hour int) string {
	return fmt.Sprintf(`{"event":{"key":"a"},"time":"2024-06-01T%02d:30:00Z","missed":[{"window_start":"2024-06-01T%02[1]d:00:00Z",`+
		`"window_end":"2024-06-01T%02[2]d:00:00Z"}],"missed_all":true,"source":%[3]q,"position":%[4]d}`, hour, hour+1, source, position)
}

func badLine(source string, position int) string {
	return fmt.Sprintf(`{"source":%q,"position":%d,"raw":"{","reason":"cut off"}`, source, position)
}

// counted are the counts of an hour of 1 June 2024; the money is 10 each, and
// assigned and its money are what the others add up to.
func countsLine(currency string, hour, added, corrected, late int) string {
	return fmt.Sprintf(`{"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","currency":%q,`+
		`"assigned":%d,"added":%d,"corrected":%d,"late":%d,"assigned_sum":"%d","added_sum":"%d","corrected_sum":"%d","late_sum":"%d"}`,
		hour, hour+1, currency, added+late, added, corrected, late, 10*(added+late), 10*added, 10*corrected, 10*late)
}
