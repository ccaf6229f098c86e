package mart

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// JoinBalance is what became of the elements of a join: the counts of the newest
// run of the job that has ended well or has written anything.
//
// [Balance.Check] finds that the law does not hold for a side, assigned = joined +
// unmatched + late + over the limit; that totals are not the sums of the sides; and,
// if the run is done or interrupted, that late records in the mart are not as many
// as were counted, or rows not those that the type of the join asks for: of each
// side as many records in pairs as were joined, as many rows of a record alone as
// were unmatched and not open, and none in both. Of a left semi join there are as
// many rows as left records were joined. Rows and late records that do not go to the
// mart are not checked.
type JoinBalance struct {
	// Ended says that the run has ended with counts. Before, and after a crash, no count is
	// known, and neither where the workers of a cluster have kept them to themselves.
	Ended bool

	Type        string
	OverLimit   int64
	Left, Right SideCounts

	rows bool // are checked
	side [2]sideRows
}

// sideRows is what is in the mart of a side.
type sideRows struct {
	paired  int64 // records in rows of two
	alone   int64 // rows of a record of this side
	records int64 // records in any row

	late *int64 // late records, nil where they are not checked
}

// joinBalanceOf emits the balance of a job of joins.
func joinBalanceOf(tx *sql.Tx, job string, emit func(*Balance) error) (err error) {
	b := &Balance{Job: job, OfJob: true, Join: new(JoinBalance)}
	if b.Run, b.Status, err = newestOf(tx, job); err != nil {
		return err
	}
	var sum Summary
	var run int64
	var typ, status string
	var replaced, wroteRows, wroteLate bool
	row := tx.QueryRow(`SELECT run, join_type, status, replaced, wrote_rows, wrote_late FROM runs
WHERE job = ? AND (status IN ('done', 'interrupted') OR wrote_rows OR wrote_late OR wrote_bad) ORDER BY run DESC LIMIT 1`, job)
	switch err := row.Scan(&run, &typ, &status, &replaced, &wroteRows, &wroteLate); {
	case errors.Is(err, sql.ErrNoRows):
		return emit(b)
	case err != nil:
		return err
	}
	counts := append([]any{&b.Bad, &sum.Assigned, &sum.Added, &sum.Late}, sum.joinCounts()...)
	err = tx.QueryRow("SELECT bad, assigned, added, late, "+strings.Join(joinCountNames, ", ")+" FROM runs WHERE run = ? AND ended_ms IS NOT NULL AND assigned IS NOT NULL", run).
		Scan(counts...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return emit(b)
	case err != nil:
		return err
	}
	b.Assigned, b.Added, b.Late = sum.Assigned, sum.Added, sum.Late
	*b.Join = JoinBalance{Ended: true, Type: typ, OverLimit: sum.OverLimit, Left: sum.Left, Right: sum.Right}
	if status == Done || status == Interrupted {
		// A run that has replaced the job has left alone what was the same. Of
		// others, rows of older runs can still be there, and do not count.
		of := "job = ?1 AND run = ?2"
		if replaced {
			of = "job = ?1 AND run <= ?2"
		}
		b.Join.rows = wroteRows
		if err := b.Join.look(tx, job, run, of, wroteLate); err != nil {
			return err
		}
	}
	return emit(b)
}

// look counts what is in the mart; of is SQL for the rows that count.
func (j *JoinBalance) look(tx *sql.Tx, job string, run int64, of string, late bool) error {
	for i, names := range [2][2]string{{"left", "right"}, {"right", "left"}} {
		in := strings.NewReplacer("$side", names[0], "$other", names[1], "$of", of)
		count := func(to *int64, what string) error {
			return tx.QueryRow("SELECT count(*) FROM ("+in.Replace(what)+")", job, run).Scan(to)
		}
		s := &j.side[i]
		if j.rows {
			err := errors.Join(
				count(&s.paired, "SELECT DISTINCT $side_source, $side_position FROM joined WHERE $of AND $side_event IS NOT NULL AND $other_event IS NOT NULL"),
				count(&s.alone, "SELECT 1 FROM joined WHERE $of AND $side_event IS NOT NULL AND $other_event IS NULL"),
				count(&s.records, "SELECT DISTINCT $side_source, $side_position FROM joined WHERE $of AND $side_event IS NOT NULL"),
			)
			if err != nil {
				return err
			}
		}
		if late {
			s.late = new(int64)
			if err := count(s.late, "SELECT 1 FROM join_late WHERE $of AND side = '$side'"); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkJoin is Check for a join.
func (b *Balance) checkJoin() error {
	j := b.Join
	if !j.Ended {
		return nil
	}
	l, r := &j.Left, &j.Right
	for _, side := range []struct {
		name string
		*SideCounts
	}{{"left", l}, {"right", r}} {
		if side.Assigned != side.Joined+side.Unmatched+side.Late+side.OverLimit {
			return fmt.Errorf("job %[1]q: %[2]s_assigned=%[3]d is not %[2]s_joined=%[4]d + %[2]s_unmatched=%[5]d + %[2]s_late=%[6]d + %[2]s_over_limit=%[7]d",
				b.Job, side.name, side.Assigned, side.Joined, side.Unmatched, side.Late, side.OverLimit)
		}
		if side.Open < 0 || side.Open > side.Unmatched {
			return fmt.Errorf("job %[1]q: %[2]s_open=%[3]d of %[2]s_unmatched=%[4]d", b.Job, side.name, side.Open, side.Unmatched)
		}
	}
	for _, c := range []struct {
		name             string
		all, left, right int64
	}{
		{"assigned", b.Assigned, l.Assigned, r.Assigned},
		{"added", b.Added, l.Joined + l.Unmatched, r.Joined + r.Unmatched},
		{"late", b.Late, l.Late, r.Late},
		{"over_limit", j.OverLimit, l.OverLimit, r.OverLimit},
	} {
		if c.all != c.left+c.right {
			return fmt.Errorf("job %q: %s=%d, and the sides have %d + %d", b.Job, c.name, c.all, c.left, c.right)
		}
	}
	return b.checkJoined()
}

// checkJoined checks what is in the mart against the counts.
func (b *Balance) checkJoined() error {
	j := b.Join
	has := joinTypes[j.Type]
	for i, side := range []struct {
		name  string
		shown bool // unmatched records have rows
		*SideCounts
	}{{"left", has.left, &j.Left}, {"right", has.right, &j.Right}} {
		s := &j.side[i]
		if s.late != nil && *s.late != side.Late {
			return fmt.Errorf("job %q: %s_late=%d, and join_late has %d", b.Job, side.name, side.Late, *s.late)
		}
		if !j.rows {
			continue
		}
		var paired, alone int64
		if has.pairs {
			paired = side.Joined
		}
		switch {
		case side.shown:
			alone = side.Unmatched - side.Open
		case has.matches && i == 0:
			alone = side.Joined
		}
		n := side.name
		switch {
		case s.paired != paired:
			return fmt.Errorf("job %q, type %s: %s_joined=%d, and %d %s records are in pairs, want %d", b.Job, j.Type, n, side.Joined, s.paired, n, paired)
		case s.alone != alone:
			return fmt.Errorf("job %q, type %s: %s_joined=%d, %s_unmatched=%d, %s_open=%d, and %d rows are of a %s record alone, want %d",
				b.Job, j.Type, n, side.Joined, n, side.Unmatched, n, side.Open, s.alone, n, alone)
		case s.records != s.paired+s.alone:
			return fmt.Errorf("job %q, type %s: %d %s records have two rows alone, or one besides pairs", b.Job, j.Type, s.paired+s.alone-s.records, n)
		}
	}
	return nil
}
