package mart

import "strings"

// joinTypes are the types of joins, and which rows each has.
var joinTypes = map[string]struct {
	pairs       bool // of two records
	left, right bool // of a record that is unmatched
	matches     bool // of a left record that is matched, alone
}{
	"inner":     {pairs: true},
	"left":      {pairs: true, left: true},
	"right":     {pairs: true, right: true},
	"full":      {pairs: true, left: true, right: true},
	"left_semi": {matches: true},
	"left_anti": {left: true},
}

// joinCountNames are the columns of runs that only joins have.
var joinCountNames = []string{
	"over_limit",
	"left_assigned", "left_joined", "left_unmatched", "left_late", "left_over_limit", "left_open",
	"right_assigned", "right_joined", "right_unmatched", "right_late", "right_over_limit", "right_open",
}

// SideCounts are the elements of a side of a join. Assigned = Joined + Unmatched +
// Late + OverLimit at the end of a run. Open is the part of Unmatched whose rows a
// run that was interrupted has left out, because they were not due.
type SideCounts struct{ Assigned, Joined, Unmatched, Late, OverLimit, Open int64 }

// joinCounts are pointers to the counts of joinCountNames.
func (s *Summary) joinCounts() []any {
	all := []any{&s.OverLimit}
	for _, c := range [2]*SideCounts{&s.Left, &s.Right} {
		all = append(all, &c.Assigned, &c.Joined, &c.Unmatched, &c.Late, &c.OverLimit, &c.Open)
	}
	return all
}

// endJoin writes the counts that only joins have.
func (r *Run) endJoin(s Summary) error {
	return r.mart.exec("UPDATE runs SET "+strings.Join(joinCountNames, " = ?, ")+" = ? WHERE run = ?", append(s.joinCounts(), r.id)...)
}

// createMatchIndex makes the index by which rows of left semi joins are found in a
// table, which is joined or a copy of it. Marts without such joins do without it.
func createMatchIndex(schema, table string) string {
	return "CREATE INDEX IF NOT EXISTS " + schema + table + "_left_alone ON " + table + " (job, left_source, left_position) WHERE right_position = -1"
}

// isSemi reports whether the rows of a run are of left records that are matched, alone.
func (info RunInfo) isSemi() bool { return joinTypes[info.JoinType].matches }

// forgetMatch is the statement that makes room in a table for a row of a left semi
// join, of which it gets what is to be inserted: it deletes that of the same left record
// at another time. The time depends on the record's first partner, and so on the order
// in which they come: a runner that goes back to a checkpoint, or another run, can
// find another one.
func forgetMatch(table string) string {
	return "DELETE FROM " + table + " INDEXED BY " + table + `_left_alone WHERE job = ?1 AND run <= ?2 AND time_ms <> ?3 AND left_source = ?5 AND left_position = ?6
AND right_position = -1 AND left_event = ?9`
}

// forgetMatches returns what runs [forgetMatch] before a row is inserted.
func (r *Run) forgetMatches(table string) (func(row []any) error, error) {
	st, err := r.mart.prepare(forgetMatch(table))
	return func(row []any) error {
		_, err := st.Exec(row[:9]...)
		return err
	}, err
}
