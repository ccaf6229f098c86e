package mart

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	// applicationID marks a SQLite file as a mart: "Tide" in ASCII.
	applicationID = 0x54696465

	// schemaVersion is that of the tables below. Raise it with every change of
	// them, and let upgrade bring older marts there.
	schemaVersion = 2

	// oldestVersion is that of the oldest marts that are read, and upgraded.
	oldestVersion = 1
)

// table is a table whose rows belong to a job and a run.
type table struct {
	name    string
	key     []column // what identifies a row within its job, as lines are sorted
	content []column
	wins    string // SQL: when a row replaces one of the same run; "" is always
}

// column is a column, and the member of a line that goes there.
type column struct {
	name, kind string
	member     string
	read       func(gjson.Result) (any, error)
	optional   bool // the member need not be there
	absent     any  // what stands for it then
}

var (
	windowKey = []column{
		{name: "window_end_ms", kind: "INTEGER NOT NULL", member: "window_end", read: readTime},
		{name: "window_start_ms", kind: "INTEGER NOT NULL", member: "window_start", read: readTime},
	}
	keyColumn      = column{name: "key", kind: "TEXT NOT NULL", member: "key", read: readText}
	currencyColumn = column{name: "currency", kind: "TEXT NOT NULL", member: "currency", read: readText, optional: true, absent: ""}
	reasonColumn   = column{name: "reason", kind: "TEXT NOT NULL", member: "reason", read: readText}
	recordKey      = []column{
		{name: "source", kind: "TEXT NOT NULL", member: "source", read: readText},
		{name: "position", kind: "INTEGER NOT NULL", member: "position", read: readInt},
	}
)

var (
	gmvTable = &table{
		name: "gmv",
		key:  columns(windowKey, keyColumn, currencyColumn),
		content: []column{
			{name: "revision", kind: "INTEGER NOT NULL", member: "revision", read: readInt},
			{name: "pane", kind: "TEXT NOT NULL", member: "pane", read: readText},
			{name: "sum", kind: "INTEGER NOT NULL", member: "sum", read: readInt},
			{name: "previous_sum", kind: "INTEGER", member: "previous_sum", read: readIntOrNull},
			{name: "count", kind: "INTEGER NOT NULL", member: "count", read: readInt},
			{name: "previous_count", kind: "INTEGER", member: "previous_count", read: readIntOrNull},
			{name: "max_event_time_ms", kind: "INTEGER", member: "max_event_time", read: readTimeOrNull},
		},
		wins: newerRevision,
	}

	averagesTable = &table{
		name: "averages",
		key:  columns(windowKey, keyColumn),
		content: []column{
			{name: "revision", kind: "INTEGER NOT NULL", member: "revision", read: readInt},
			{name: "pane", kind: "TEXT NOT NULL", member: "pane", read: readText},
			{name: "average", kind: "REAL", member: "average", read: readFloatOrNull},
			{name: "previous_average", kind: "REAL", member: "previous_average", read: readFloatOrNull},
			{name: "sum", kind: "REAL", member: "sum", read: readFloatOrNull},
			{name: "count", kind: "INTEGER NOT NULL", member: "count", read: readInt},
			{name: "previous_count", kind: "INTEGER", member: "previous_count", read: readIntOrNull},
			{name: "max_event_time_ms", kind: "INTEGER", member: "max_event_time", read: readTimeOrNull},
		},
		wins: newerRevision,
	}

	overflowTable = &table{
		name: "overflows",
		key:  columns(windowKey, keyColumn, currencyColumn),
		content: []column{
			{name: "pane", kind: "TEXT NOT NULL", member: "raw", read: readUnshown("pane", readText)},
			{name: "total", kind: "TEXT NOT NULL", member: "total", read: readText},
			{name: "count", kind: "INTEGER NOT NULL", member: "raw", read: readUnshown("count", readInt)},
			reasonColumn,
		},
		// There is no revision, but none has counted fewer elements than one before
		// it, and of the same elements the panes come in this order.
		wins: "(excluded.count, instr('EARLY ON_TIME LATE FINAL', excluded.pane)) > (%[1]s.count, instr('EARLY ON_TIME LATE FINAL', %[1]s.pane))",
	}

	lateTable = &table{
		name: "late",
		key:  recordKey,
		content: []column{
			{name: "time_ms", kind: "INTEGER NOT NULL", member: "time", read: readTime},
			{name: "event", kind: "TEXT NOT NULL", member: "event", read: readRaw},
			{name: "missed", kind: "TEXT NOT NULL", member: "missed", read: readMissed},
			{name: "missed_all", kind: "INTEGER NOT NULL", member: "missed_all", read: readBool},
		},
	}

	badTable = &table{
		name: "bad",
		key:  recordKey,
		content: []column{
			{name: "raw", kind: "TEXT NOT NULL", member: "raw", read: readText},
			{name: "raw_bytes", kind: "BLOB", member: "raw_base64", read: readBase64, optional: true},
			reasonColumn,
		},
	}

	// countsTable is filled by [deltas]. Its sums are INTEGER, or TEXT where
	// they do not fit into 64 bits, and NULL in jobs without money.
	countsTable = &table{
		name: "window_counts",
		key:  columns(windowKey, currencyColumn),
		content: []column{
			{name: "assigned", kind: "INTEGER NOT NULL"},
			{name: "added", kind: "INTEGER NOT NULL"},
			{name: "corrected", kind: "INTEGER NOT NULL"},
			{name: "late", kind: "INTEGER NOT NULL"},
			{name: "assigned_sum", kind: "ANY"},
			{name: "added_sum", kind: "ANY"},
			{name: "corrected_sum", kind: "ANY"},
			{name: "late_sum", kind: "ANY"},
		},
	}

	tables = []*table{gmvTable, averagesTable, countsTable, lateTable, badTable, overflowTable}
)

// newerRevision is when a row of any aggregate wins.
const newerRevision = "excluded.revision > %[1]s.revision"

func columns(first []column, more ...column) []column {
	return append(append([]column(nil), first...), more...)
}

// names joins the names of columns, with a prefix before each.
func names(prefix string, cols []column) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = prefix + c.name
	}
	return strings.Join(parts, ", ")
}

// create is the statement that makes t under the given name.
func (t *table) create(name string) string {
	var b strings.Builder
	define := func(cols []column) {
		for _, c := range cols {
			fmt.Fprintf(&b, "\n  %s %s,", c.name, c.kind)
		}
	}
	fmt.Fprintf(&b, "CREATE TABLE %s (\n  job TEXT NOT NULL,", name)
	define(t.key)
	b.WriteString("\n  run INTEGER NOT NULL,")
	define(t.content)
	fmt.Fprintf(&b, "\n  PRIMARY KEY (job, %s)\n) STRICT, WITHOUT ROWID", names("", t.key))
	return b.String()
}

// createRuns makes the table of runs. Numbers are not used twice, because rows
// are compared by them.
const createRuns = `CREATE TABLE runs (
  run INTEGER PRIMARY KEY AUTOINCREMENT,
  job TEXT NOT NULL,
  command TEXT NOT NULL,
  status TEXT NOT NULL,
  replaced INTEGER NOT NULL DEFAULT 0,
  wrote_rows INTEGER NOT NULL DEFAULT 0,
  wrote_late INTEGER NOT NULL DEFAULT 0,
  wrote_bad INTEGER NOT NULL DEFAULT 0,
  wrote_counts INTEGER NOT NULL DEFAULT 0,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  read INTEGER,
  bad INTEGER,
  assigned INTEGER,
  added INTEGER,
  corrected INTEGER,
  late INTEGER,
  overflowed INTEGER,
  aggregate TEXT NOT NULL DEFAULT 'gmv',
  sessions INTEGER NOT NULL DEFAULT 0
) STRICT`

// readable is the view of a table of rows with times as text; values are the
// columns between the revision and the count.
func readable(t *table, identity, values string) string {
	return `CREATE VIEW ` + t.name + `_readable AS
SELECT job, ` + identity + `, ` + rfc3339("window_start") + `, ` + rfc3339("window_end") + `,
  pane, revision, ` + values + `, count, previous_count, ` + rfc3339("max_event_time") + `, run
FROM ` + t.name
}

// createViews makes the views. In gmv_all_jobs sums can need more than 64 bits:
// they are added up in thousand millions (hi) and the rest (lo), which in the end
// is less than one of them and has the sign of hi. In averages_all_jobs each job
// has the weight of its elements, so that nothing can be outside float64 on the
// way.
func createViews() []string {
	return []string{
		`CREATE VIEW gmv_all_jobs AS
WITH added AS (
  SELECT key, currency, window_start_ms, window_end_ms,
    sum(sum / 1000000000) AS hi, sum(sum % 1000000000) AS lo, sum(count) AS count, count(*) AS jobs
  FROM gmv WHERE count > 0 GROUP BY window_end_ms, window_start_ms, key, currency
), carried AS (
  SELECT key, currency, window_start_ms, window_end_ms, hi + lo / 1000000000 AS hi, lo % 1000000000 AS lo, count, jobs FROM added
), signed AS (
  SELECT *, CASE WHEN hi > 0 AND lo < 0 THEN -1 WHEN hi < 0 AND lo > 0 THEN 1 ELSE 0 END AS borrow FROM carried
), parts AS (
  SELECT key, currency, window_start_ms, window_end_ms, hi + borrow AS hi, lo - borrow * 1000000000 AS lo, count, jobs FROM signed
)
SELECT key, currency, window_start_ms, window_end_ms,
  CASE WHEN (hi, lo) BETWEEN (-9223372036, -854775808) AND (9223372036, 854775807) THEN hi * 1000000000 + lo
    ELSE printf('%d%09d', hi, abs(lo)) END AS sum,
  count, jobs
FROM parts`,

		readable(gmvTable, "key, currency", "sum, previous_sum"),

		`CREATE VIEW averages_all_jobs AS
WITH weighed AS (
  SELECT key, window_start_ms, window_end_ms, average, count,
    CAST(count AS REAL) / sum(count) OVER (PARTITION BY window_end_ms, window_start_ms, key) AS weight
  FROM averages WHERE count > 0
)
SELECT key, window_start_ms, window_end_ms, sum(average * weight) AS average, sum(count) AS count, count(*) AS jobs
FROM weighed GROUP BY window_end_ms, window_start_ms, key`,

		readable(averagesTable, "key", "average, previous_average, sum"),

		`CREATE VIEW window_counts_readable AS
SELECT job, ` + rfc3339("window_start") + `, ` + rfc3339("window_end") + `, currency,
  assigned, added, corrected, late, assigned_sum, added_sum, corrected_sum, late_sum, run
FROM window_counts`,

		`CREATE VIEW late_windows AS
SELECT job, source, position, time_ms,
  missed.value ->> 'window_start_ms' AS window_start_ms, missed.value ->> 'window_end_ms' AS window_end_ms,
  missed_all, event, run
FROM late, json_each(late.missed) AS missed`,
	}
}

// rfc3339 is the column name_ms as text, named name. It looks as in the lines:
// milliseconds only where they are not zero.
func rfc3339(name string) string {
	ms := name + "_ms"
	rest := "(" + ms + " % 1000 + 1000) % 1000" // % rounds towards zero
	return fmt.Sprintf(`strftime('%%Y-%%m-%%dT%%H:%%M:%%S', (%[1]s - %[2]s) / 1000, 'unixepoch') ||
    CASE %[2]s WHEN 0 THEN 'Z' ELSE printf('.%%03dZ', %[2]s) END AS %[3]s`, ms, rest, name)
}

// createAll makes everything in an empty file.
func createAll() []string {
	all := []string{createRuns}
	for _, t := range tables {
		all = append(all, t.create(t.name))
	}
	return append(append(all, createViews()...),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}

// upgrade makes a mart of version 1 one of this version. It has GMV only.
func upgrade() []string {
	all := []string{
		"DROP VIEW IF EXISTS gmv_all_jobs", "DROP VIEW IF EXISTS gmv_readable",
		"DROP VIEW IF EXISTS window_counts_readable", "DROP VIEW IF EXISTS late_windows",
		"ALTER TABLE runs ADD COLUMN aggregate TEXT NOT NULL DEFAULT 'gmv'",
		"ALTER TABLE runs ADD COLUMN sessions INTEGER NOT NULL DEFAULT 0",
		averagesTable.create(averagesTable.name),
		// Sums can be NULL now, and SQLite changes a column by copying its table.
		"ALTER TABLE window_counts RENAME TO old_window_counts",
		countsTable.create(countsTable.name),
		"INSERT INTO window_counts SELECT * FROM old_window_counts",
		"DROP TABLE old_window_counts",
	}
	return append(append(all, createViews()...), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}
