package mart

import (
	"fmt"
	"os"
	"slices"
)

// displacement is for rows whose key depends on the order in which elements come: which
// time a row of a left semi join has, and which sessions have had a row before they were
// merged. A runner that goes back to a checkpoint, or another run, can find other ones.
// So a row takes the place of rows of other keys too, in whatever order they come.
type displacement struct {
	of      *table
	index   string // its name, behind that of the table
	columns string // of the index, behind the job
	where   string // which rows are in the index; "" is all

	// What is true of other rows, in SQL, where $name is what a row has in a column.
	outdated string // the row takes their place
	around   string // the first of them in the order of the last column of the index takes the place of the row,
	takes    string // if this is true of it; "" is none

	args int // how many arguments of insert they need
}

// displacement is what a run needs; nil if nothing.
func (info RunInfo) displacement() *displacement {
	switch {
	case joinTypes[info.JoinType].matches:
		return matchesAgain
	case info.Sessions && info.Work == Average:
		return averageSessions
	case info.Sessions:
		return gmvSessions
	default:
		return nil
	}
}

// matchesAgain is for left semi joins: the last row of a left record stays.
var matchesAgain = &displacement{
	of: joinedTable, index: "left_alone", columns: "left_source, left_position", where: " WHERE right_position = -1",
	outdated: joinedTable.with("left_source = $left_source AND left_position = $left_position AND right_position = -1 AND left_event = $left_event AND time_ms <> $time_ms"),
	args:     joinedTable.argument("left_event"),
}

// gmvSessions and averageSessions are for sessions: a row with elements takes the place
// of those of its key that lie in it, because sessions only grow. None that has ended
// lies in a later one: the element that the later one begins with would be late, by its
// own window.
var gmvSessions, averageSessions = sessionsOf(gmvTable), sessionsOf(averagesTable)

func sessionsOf(t *table) *displacement {
	rest := t.key[len(windowKey):]
	same := "$count > 0 AND count > 0 AND (window_end_ms, window_start_ms) <> ($window_end_ms, $window_start_ms)"
	for _, c := range rest {
		same += fmt.Sprintf(" AND %s = $%[1]s", c.name)
	}
	return &displacement{
		of: t, index: "sessions", columns: names("", rest) + ", window_end_ms",
		outdated: t.with(same + " AND window_end_ms > $window_start_ms AND window_end_ms <= $window_end_ms AND window_start_ms >= $window_start_ms"),
		around:   t.with(same + " AND window_end_ms >= $window_end_ms"),
		takes:    t.with("window_start_ms <= $window_start_ms"),
		args:     t.argument("count"),
	}
}

// argument is the number of a column among the arguments of insert.
func (t *table) argument(name string) int {
	i := slices.IndexFunc(columns(t.key, t.content...), func(c column) bool { return c.name == name })
	if i < 0 {
		panic(fmt.Sprintf("table %s has no column %s", t.name, name))
	}
	return 3 + i // behind the job and the run
}

// with puts the arguments of insert into a condition.
func (t *table) with(condition string) string {
	return os.Expand(condition, func(column string) string { return fmt.Sprint("?", t.argument(column)) })
}

// create makes the index for a table, which is d.of or a copy of it. Marts without such
// rows do without it.
func (d *displacement) create(schema, table string) string {
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s%s_%s ON %s (job, %s)%s", schema, table, d.index, table, d.columns, d.where)
}

// from names a table and its index, which SQLite would not always choose.
func (d *displacement) from(table string) string {
	return fmt.Sprintf("%s INDEXED BY %[1]s_%s", table, d.index)
}

// prepare returns what makes room for a row in a table, and reports whether the row is
// to be inserted there.
func (d *displacement) prepare(m *Mart, table string) (func(row []any) (bool, error), error) {
	forget, err := m.prepare(fmt.Sprintf("DELETE FROM %s WHERE job = ?1 AND run <= ?2 AND %s", d.from(table), d.outdated))
	if err != nil {
		return nil, err
	}
	surrounded := func([]any) (bool, error) { return false, nil }
	if d.takes != "" {
		st, err := m.prepare(fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM (SELECT * FROM %s WHERE job = ?1 AND run >= ?2 AND %s ORDER BY window_end_ms LIMIT 1) WHERE %s)",
			d.from(table), d.around, d.takes))
		if err != nil {
			return nil, err
		}
		surrounded = func(row []any) (is bool, err error) {
			err = st.QueryRow(row...).Scan(&is)
			return is, err
		}
	}
	return func(row []any) (bool, error) {
		row = row[:d.args]
		if taken, err := surrounded(row); taken || err != nil {
			return false, err
		}
		_, err := forget.Exec(row...)
		return true, err
	}, nil
}
