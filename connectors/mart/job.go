package mart

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Work is what a job does, and so what its rows are. The rows of each have a table
// of their own, and a job keeps to one.
type Work string

// What jobs do.
const (
	GMV     Work = "gmv"     // sums of money per currency; counts are of elements and money
	Average Work = "average" // averages of values; counts are of elements
	Join    Work = "join"    // interval joins; counts are of elements, by side and not by window
)

// hasMoney reports whether counts are of money too.
func (w Work) hasMoney() bool { return w == GMV }

// RunInfo says what runs.
type RunInfo struct {
	Job     string // the name under which rows are kept and replaced; required
	Command string // for people

	// Work is what the job does; GMV where it is empty.
	Work Work

	// JoinType is inner, left, right, full, left_semi or left_anti, of a join;
	// else empty. Which rows there have to be depends on it.
	JoinType string

	// Sessions says that the windows of rows are sessions. They are known at the
	// end only, so that counts are by another window, such as the day, and agree
	// with the rows over the whole job.
	Sessions bool
}

// check reports what is wrong with info.
func (info RunInfo) check() error {
	_, isType := joinTypes[info.JoinType]
	switch {
	case info.Job == "":
		return errors.New("the job has no name")
	case info.Work != GMV && info.Work != Average && info.Work != Join:
		return fmt.Errorf("work = %q, want %s, %s or %s", info.Work, GMV, Average, Join)
	case info.Work == Join && !isType:
		return fmt.Errorf("type of join = %q, want inner, left, right, full, left_semi or left_anti", info.JoinType)
	case info.Work != Join && info.JoinType != "":
		return fmt.Errorf("type of join = %q in a job of %s, want none", info.JoinType, info.Work)
	}
	return nil
}

// checkJob reports whether the job has done other work.
func (m *Mart) checkJob(info RunInfo) error {
	switch was, err := workOf(m.conn, info.Job); {
	case err != nil:
		return err
	case was != "" && was != cmp.Or(info.Work, GMV):
		return fmt.Errorf("job %q: %w: it is of %s", info.Job, ErrOtherJob, was)
	}
	return nil
}

// rowQuerier is a connection, or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf is the schema version of a mart; it can change until a transaction
// has read it.
func versionOf(q rowQuerier) (version int, err error) {
	err = q.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&version)
	return version, err
}

// workOf is what a job does, "" if there is no such job. Marts of version 1 have GMV
// only.
func workOf(q rowQuerier, job string) (of Work, err error) {
	version, err := versionOf(q)
	if err != nil {
		return "", err
	}
	column := "work"
	switch version {
	case 1:
		column = "'gmv'"
	case 2:
		column = "aggregate"
	}
	err = q.QueryRowContext(context.Background(), "SELECT "+column+" FROM runs WHERE job = ? LIMIT 1", job).Scan(&of)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return of, err
}
