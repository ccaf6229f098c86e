package mart

import (
	"fmt"
	"strings"
)

// insert is the statement that adds a row of the columns job, run, key and
// content to the table name, which is t or a copy of it. A row that is there
// gives way to one of a newer run, or of the same run if it wins.
func (t *table) insert(name string) string {
	wins := "true"
	if t.wins != "" {
		wins = fmt.Sprintf(t.wins, name)
	}
	marks := strings.Repeat(", ?", 1+len(t.key)+len(t.content))
	return fmt.Sprintf(`INSERT INTO %[1]s (job, run, %[2]s, %[3]s) VALUES (?%[4]s)
ON CONFLICT DO UPDATE SET %[5]s WHERE excluded.run > %[1]s.run OR excluded.run = %[1]s.run AND %[6]s`,
		name, names("", t.key), names("", t.content), marks, t.overwrite(), wins)
}

// overwrite sets all columns that do not identify a row.
func (t *table) overwrite() string {
	var b strings.Builder
	b.WriteString("run = excluded.run")
	for _, c := range t.content {
		fmt.Fprintf(&b, ", %[1]s = excluded.%[1]s", c.name)
	}
	return b.String()
}

// staged names a temporary copy of t.
func (t *table) staged() string { return "staged_" + t.name }

// remove is the statement that deletes what the run ?2 of the job ?1 has not
// staged, except for rows of newer runs.
func (t *table) remove() string {
	same := make([]string, len(t.key))
	for i, c := range t.key {
		same[i] = fmt.Sprintf("s.%[1]s = %[2]s.%[1]s", c.name, t.name)
	}
	return fmt.Sprintf("DELETE FROM %s WHERE job = ?1 AND run <= ?2 AND NOT EXISTS (SELECT 1 FROM %s AS s WHERE s.job = ?1 AND %s)",
		t.name, t.staged(), strings.Join(same, " AND "))
}

// merge is the statement that takes over the staged rows. A row that is the same
// but for its run is left alone.
func (t *table) merge() string {
	all := "job, run, " + names("", t.key) + ", " + names("", t.content)
	return fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM %[3]s WHERE true
ON CONFLICT DO UPDATE SET %[4]s WHERE excluded.run > %[1]s.run AND (%[5]s) IS NOT (%[6]s)`,
		t.name, all, t.staged(), t.overwrite(), names("excluded.", t.content), names(t.name+".", t.content))
}

// pick is the statement that returns a row's run and content by job and key.
func (t *table) pick(name string) string {
	var b strings.Builder
	for _, c := range t.key {
		fmt.Fprintf(&b, " AND %s = ?", c.name)
	}
	return fmt.Sprintf("SELECT run, %s FROM %s WHERE job = ?%s", names("", t.content), name, b.String())
}
