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
	schemaVersion = 3

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
		key:  columns(recordKey, column{name: "side", kind: "TEXT NOT NULL", member: "side", read: readText, optional: true, absent: ""}),
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

	// joinedTable has no NULL in its key, which a primary key cannot have: a side
	// that is not there is '', noPosition.
	joinedTable = &table{
		name: "joined",
		key: []column{
			{name: "time_ms", kind: "INTEGER NOT NULL", member: "time", read: readTime},
			keyColumn,
			{name: "left_source", kind: "TEXT NOT NULL", member: "left_source", read: readText, optional: true, absent: ""},
			{name: "left_position", kind: "INTEGER NOT NULL", member: "left_position", read: readInt, optional: true, absent: noPosition},
			{name: "right_source", kind: "TEXT NOT NULL", member: "right_source", read: readText, optional: true, absent: ""},
			{name: "right_position", kind: "INTEGER NOT NULL", member: "right_position", read: readInt, optional: true, absent: noPosition},
		},
		content: []column{
			{name: "left_event", kind: "TEXT", member: "left", read: readRawOrNull},
			{name: "right_event", kind: "TEXT", member: "right", read: readRawOrNull},
		},
	}

	joinLateTable = &table{
		name: "join_late",
		key:  columns(recordKey, column{name: "side", kind: "TEXT NOT NULL", member: "side", read: readText}),
		content: []column{
			{name: "time_ms", kind: "INTEGER NOT NULL", member: "time", read: readTime},
			keyColumn,
			{name: "event", kind: "TEXT NOT NULL", member: "event", read: readRaw},
		},
	}

	tables = []*table{gmvTable, averagesTable, countsTable, joinedTable, lateTable, joinLateTable, badTable, overflowTable}
)

// noPosition is the position of a record that is not there; others are not below 0.
const noPosition int64 = -1

// newerRevision is when a row of any aggregate wins. In a run each row of a key and
// window has counted as many elements as those before it, or more, but for the one
// that withdraws it, which has none and is the last. A runner that goes back to
// a checkpoint numbers revisions anew: rows with fewer of them can say more.
const newerRevision = "(excluded.count = 0, excluded.count, excluded.revision) > (%[1]s.count = 0, %[1]s.count, %[1]s.revision)"

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
  work TEXT NOT NULL DEFAULT 'gmv',
  sessions INTEGER NOT NULL DEFAULT 0,
  join_type TEXT,
  over_limit INTEGER,
  left_assigned INTEGER,
  left_joined INTEGER,
  left_unmatched INTEGER,
  left_late INTEGER,
  left_over_limit INTEGER,
  left_open INTEGER,
  right_assigned INTEGER,
  right_joined INTEGER,
  right_unmatched INTEGER,
  right_late INTEGER,
  right_over_limit INTEGER,
  right_open INTEGER
) STRICT`

// createAll makes everything in an empty file.
func createAll() []string {
	all := []string{createRuns}
	for _, t := range tables {
		all = append(all, t.create(t.name))
	}
	return append(append(all, createViews()...),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}
