package mart

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Aggregate is what the rows of a job are. Each has a table of its own, and a job
// keeps to one.
type Aggregate string

// The aggregates.
const (
	GMV     Aggregate = "gmv"     // sums of money per currency; counts are of elements and money
	Average Aggregate = "average" // averages of values; counts are of elements
)

// hasMoney reports whether counts are of money too.
func (a Aggregate) hasMoney() bool { return a == GMV }

// RunInfo says what runs.
type RunInfo struct {
	Job     string // the name under which rows are kept and replaced; required
	Command string // for people

	// Aggregate is what the rows are; GMV where it is empty.
	Aggregate Aggregate

	// Sessions says that the windows of rows are sessions. They are known at the
	// end only, so that counts are by another window, such as the day, and agree
	// with the rows over the whole job.
	Sessions bool
}

// checkJob reports whether the job has had another aggregate.
func (m *Mart) checkJob(info RunInfo) error {
	switch was, err := aggregateOf(m.conn, info.Job); {
	case err != nil:
		return err
	case was != "" && was != cmp.Or(info.Aggregate, GMV):
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

// aggregateOf is what the rows of a job are, "" if there is no such job. Marts of
// version 1 have GMV only.
func aggregateOf(q rowQuerier, job string) (of Aggregate, err error) {
	version, err := versionOf(q)
	if err != nil {
		return "", err
	}
	column := "aggregate"
	if version == 1 {
		column = "'gmv'"
	}
	err = q.QueryRowContext(context.Background(), "SELECT "+column+" FROM runs WHERE job = ? LIMIT 1", job).Scan(&of)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return of, err
}
