package mart

import (
	"cmp"
	"database/sql"
	"fmt"

	"github.com/tidwall/gjson"
)

// Insert adds lines in one transaction, during which no one else can write: lines
// should be at hand. A row that is there gives way to one of a newer run, and one
// of an aggregate to a newer revision of the same run; else it stays. Besides, a row of
// a left semi join gives way to one of the same left record at another time, and one of
// sessions to one that has elements and all of its window in its own.
//
// Lines of window counts are added to what the run has put there, if they are
// deltas. If they are totals the larger number of a kind stays, with its sum, in
// whatever order they come: so they can come from a runner that goes back to
// a checkpoint and repeats what it did. The first line for a window replaces what an
// older run has left.
//
// If a newer run of the job has replaced all rows of older ones (see
// [Run.Replace]), the error is [ErrSuperseded].
func (r *Run) Insert(kind Kind, lines Lines) error {
	if err := r.check(kind); err != nil {
		return err
	}
	err := r.transact(func() error {
		if late, err := r.isSuperseded(); err != nil || late {
			return cmp.Or(err, r.superseded())
		}
		if !r.wrote[kind].Load() {
			if err := r.writes(kind); err != nil {
				return err
			}
		}
		return r.add(kind, lines, func(t *table) string { return t.name })
	})
	if err == nil {
		r.wrote[kind].Store(true)
	}
	return err
}

// writes notes that lines of a kind are for the mart, if there are any.
func (r *Run) writes(kind Kind) error {
	column := [kinds]string{"wrote_rows", "wrote_late", "wrote_bad", "wrote_counts", "wrote_counts"}[kind]
	return r.mart.exec("UPDATE runs SET "+column+" = 1 WHERE run = ?", r.id)
}

// tablesOf lists the tables that lines of a kind go to.
func (r *Run) tablesOf(kind Kind) []*table {
	switch kind {
	case Rows:
		switch r.of {
		case Average:
			return []*table{averagesTable}
		case Join:
			return []*table{joinedTable}
		default:
			return []*table{gmvTable}
		}
	case Late:
		if r.of == Join {
			return []*table{joinLateTable}
		}
		return []*table{lateTable}
	case Bad:
		return []*table{badTable, overflowTable}
	default:
		return []*table{countsTable}
	}
}

// add adds lines to the tables of their kind, under the names that into gives
// them.
func (r *Run) add(kind Kind, lines Lines, into func(*table) string) error {
	flush := func() error { return nil }
	var write func(line []byte) error
	var err error
	if kind == Counts || kind == Totals {
		write, flush = r.writeCounts(into(countsTable), kind == Totals)
	} else if write, err = r.writeRows(kind, into); err != nil {
		return err
	}
	number := 0
	err = lines(func(line []byte) error {
		number++
		err := write(line)
		if err != nil && codeOf(err) == 0 {
			err = fmt.Errorf("line %d of the %v %w: %.200s", number, kind, err, line)
		}
		return err
	})
	if err != nil {
		return err
	}
	return flush()
}

// writeRows returns what takes a line that is a row.
func (r *Run) writeRows(kind Kind, into func(*table) string) (write func(line []byte) error, err error) {
	statements := map[*table]*sql.Stmt{}
	for _, t := range r.tablesOf(kind) {
		if statements[t], err = r.mart.prepare(t.insert(into(t))); err != nil {
			return nil, err
		}
	}
	first := r.tablesOf(kind)[0]
	room := func([]any) (bool, error) { return true, nil }
	if r.other != nil && r.other.of == first {
		if room, err = r.other.prepare(r.mart, into(first)); err != nil {
			return nil, err
		}
	}
	args := []any{r.job, r.id}
	return func(line []byte) (err error) {
		t := first
		if t == badTable && isOverflow(line) {
			t = overflowTable
		}
		if args, err = t.values(args[:2], line); err != nil {
			return err
		}
		if is, err := room(args); !is || err != nil {
			return err
		}
		_, err = statements[t].Exec(args...)
		return err
	}, nil
}

// isOverflow reports whether a line of bad records stands for a sum outside
// int64.
func isOverflow(line []byte) bool { return gjson.GetBytes(line, "total").Exists() }

// writeCounts returns what takes a line of counts for the table name, and what
// to call after the last one.
func (r *Run) writeCounts(name string, totals bool) (write func(line []byte) error, flush func() error) {
	sums := deltas{money: r.of.hasMoney(), join: (*counts).add, of: map[countsKey]*counts{}}
	if totals {
		sums.join = (*counts).raise
	}
	flush = func() error { return sums.write(r.mart, name, r.job, r.id) }
	return func(line []byte) error {
		if err := sums.addLine(line); err != nil || len(sums.of) < maxDeltas {
			return err
		}
		return flush()
	}, flush
}
