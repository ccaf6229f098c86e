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
