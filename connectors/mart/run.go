package mart

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Kind is what lines are about.
type Kind int

// The kinds of lines, as package rows writes them.
const (
	Rows   Kind = iota // rows of what the job does
	Late               // late records
	Bad                // bad records, and sums outside int64
	Counts             // deltas of window counts; see [Run.Insert]. Joins have none
	Totals             // window counts so far; see [Run.Insert]. A run has these or deltas
	kinds
)

// String names the kind.
func (k Kind) String() string {
	if k < 0 || k >= kinds {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return [kinds]string{"rows", "late records", "bad records", "window counts", "window counts so far"}[k]
}

// check reports a kind that is none, or not for the run.
func (r *Run) check(k Kind) error {
	switch {
	case k < 0 || k >= kinds:
		return fmt.Errorf("mart %q: unknown kind of lines: %v", r.mart.path, k)
	case (k == Counts || k == Totals) && r.of == Join:
		return fmt.Errorf("mart %q: %v for job %q, want none: a join has no windows", r.mart.path, k, r.job)
	}
	return nil
}

// Lines calls emit with one line after the other, without newlines, and returns
// the first error of emit or one of its own. A line is valid until emit returns.
// It may be called again and then hands out the same lines. It is called in a
// transaction, and must not use the mart.
type Lines func(emit func(line []byte) error) error

// Summary is the account of a run: records, (element, window) pairs or, of a join,
// elements, and sums outside int64. Only a join has the rest.
type Summary struct {
	// Unknown says that nobody knows the rest: the columns are NULL.
	Unknown bool

	Read, Bad, Assigned, Added, Corrected, Late, Overflowed int64

	OverLimit   int64
	Left, Right SideCounts
}

// The statuses of a run in the table of runs.
const (
	Done        = "done"
	Interrupted = "interrupted" // a stream that was told to stop
	Failed      = "failed"

	running    = "running"
	crashed    = "crashed"    // found "running" by the next run of the job
	superseded = "superseded" // came to Replace after a newer run of the job
)

// Run is a run of a job. It is safe for concurrent use.
type Run struct {
	mart  *Mart
	job   string
	of    Work
	other *displacement // of rows of other keys; nil if there is none
	id    int64
	ended atomic.Bool
	wrote [kinds]atomic.Bool // the table of runs says so
}

// newRun checks what is to run, settles what was left open, and makes a run without
// a number.
func (m *Mart) newRun(info *RunInfo) (*Run, error) {
	info.Work = cmp.Or(info.Work, GMV)
	if err := info.check(); err != nil {
		return nil, fmt.Errorf("mart %q: %w", m.path, err)
	}
	return &Run{mart: m, job: info.Job, of: info.Work, other: info.displacement()}, nil
}

// Begin begins a run: it takes the next number of the mart, and calls runs of the
// same job that have not ended crashed. If one of them is alive after all, it can
// go on and end, but what the new run writes is not overwritten by it. If the job
// has done other work, errors.Is finds [ErrOtherJob] in the error.
func (m *Mart) Begin(info RunInfo) (*Run, error) {
	r, err := m.newRun(&info)
	if err != nil {
		return nil, err
	}
	err = m.transact(func() error {
		if err := m.admit(info); err != nil {
			return err
		}
		if err := m.exec("UPDATE runs SET status = ? WHERE job = ? AND status = ?", crashed, info.Job, running); err != nil {
			return err
		}
		st, err := m.prepare("INSERT INTO runs (job, command, status, started_ms, work, sessions, join_type) VALUES (?, ?, ?, ?, ?, ?, nullif(?, '')) RETURNING run")
		if err != nil {
			return err
		}
		return st.QueryRow(info.Job, info.Command, running, m.now().UnixMilli(), info.Work, info.Sessions, info.JoinType).Scan(&r.id)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Continue goes on with the newest run of the job, as a job does that is started from
// a savepoint: what that run has written stands, and what comes now is its own. It has
// to be of the same kind. If there is none, Continue begins one.
func (m *Mart) Continue(info RunInfo) (*Run, error) {
	r, err := m.newRun(&info)
	if err != nil {
		return nil, err
	}
	err = m.transact(func() error {
		if err := m.admit(info); err != nil {
			return err
		}
		st, err := m.prepare("SELECT run, sessions, coalesce(join_type, '') FROM runs WHERE job = ? ORDER BY run DESC LIMIT 1")
		if err != nil {
			return err
		}
		var was RunInfo
		switch err := st.QueryRow(info.Job).Scan(&r.id, &was.Sessions, &was.JoinType); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case was.JoinType != info.JoinType || was.Sessions != info.Sessions:
			return fmt.Errorf("run %d of job %q cannot go on as another one: type of join %q and sessions %v, want %q and %v",
				r.id, info.Job, info.JoinType, info.Sessions, was.JoinType, was.Sessions)
		}
		return m.exec("UPDATE runs SET status = ?, ended_ms = NULL, replaced = 0 WHERE run = ?", running, r.id)
	})
	switch {
	case err != nil:
		return nil, err
	case r.id == 0:
		return m.Begin(info)
	}
	return r, nil
}

// admit readies the mart for a run, unless the job has done other work.
func (m *Mart) admit(info RunInfo) error {
	d := info.displacement()
	if err := m.checkJob(info); err != nil || d == nil {
		return err
	}
	return m.exec(d.create("", d.of.name))
}

// Resume is the run of a number in another process than the one that has begun it:
// both can write, and one of them ends it.
func (m *Mart) Resume(number int64) (*Run, error) {
	r := &Run{mart: m, id: number}
	err := m.transact(func() error {
		st, err := m.prepare("SELECT job, work, sessions, coalesce(join_type, '') FROM runs WHERE run = ?")
		if err != nil {
			return err
		}
		var info RunInfo
		if err := st.QueryRow(number).Scan(&info.Job, &info.Work, &info.Sessions, &info.JoinType); err != nil {
			return fmt.Errorf("run %d: %w", number, err)
		}
		r.job, r.of, r.other = info.Job, info.Work, info.displacement()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Number is the number of the run: 1, 2, ... in the order in which runs of the
// mart began.
func (r *Run) Number() int64 { return r.id }

// Finish ends the run, with the status [Done], [Interrupted] or [Failed]. Rows
// stay as they are.
func (r *Run) Finish(status string, sum Summary) error {
	switch status {
	case Done, Interrupted, Failed:
	default:
		return fmt.Errorf("mart %q: status = %q, want %s, %s or %s", r.mart.path, status, Done, Interrupted, Failed)
	}
	if err := r.transact(func() error { return r.end(status, sum) }); err != nil {
		return err
	}
	r.ended.Store(true)
	return nil
}

// transact runs f in a transaction, unless the run has ended.
func (r *Run) transact(f func() error) error {
	return r.mart.transact(func() error {
		if r.ended.Load() {
			return fmt.Errorf("run %d of job %q %w", r.id, r.job, errEnded)
		}
		return f()
	})
}

// isSuperseded reports whether a newer run of the job has replaced all rows. A
// row that such a run has left alone may bear the number of a run older than r,
// but is not for r to overwrite.
func (r *Run) isSuperseded() (bool, error) {
	return r.mart.exist("SELECT 1 FROM runs WHERE job = ? AND run > ? AND replaced", r.job, r.id)
}

func (r *Run) superseded() error {
	return fmt.Errorf("run %d of job %q: %w", r.id, r.job, ErrSuperseded)
}

// summaryNames are the columns of runs that hold a Summary.
var summaryNames = append([]string{"read", "bad", "assigned", "added", "corrected", "late", "overflowed"}, joinCountNames...)

// end writes how the run has ended.
func (r *Run) end(status string, s Summary) error {
	if s.Unknown {
		return r.mart.exec("UPDATE runs SET status = ?, ended_ms = ?, "+strings.Join(summaryNames, " = NULL, ")+" = NULL WHERE run = ?", status, r.mart.now().UnixMilli(), r.id)
	}
	err := r.mart.exec(`UPDATE runs SET status = ?, ended_ms = ?,
  read = ?, bad = ?, assigned = ?, added = ?, corrected = ?, late = ?, overflowed = ? WHERE run = ?`,
		status, r.mart.now().UnixMilli(), s.Read, s.Bad, s.Assigned, s.Added, s.Corrected, s.Late, s.Overflowed, r.id)
	if err != nil || r.of != Join {
		return err
	}
	return r.endJoin(s)
}
