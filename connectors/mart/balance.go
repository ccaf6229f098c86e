package mart

import (
	"context"
	"fmt"
	"math/big"

	"tidemark/connectors/records"
	"tidemark/windowfns"
)

// Balance is the account of a window, or of several. Counts are of (element,
// window) pairs, sums in minor units.
type Balance struct {
	Job      string
	Window   *windowfns.Window // nil in totals
	Currency *string           // nil where the job has no currencies, and in its last row

	Assigned, Added, Corrected, Late int64 // Corrected is a part of Added

	// Money says that the job has money. The sums are that of the same pairs; nil
	// in the last row of a job with currencies, which are never added together.
	Money                                        bool
	AssignedSum, AddedSum, CorrectedSum, LateSum *big.Int

	// What the rows and the overflows of a window come to, each key once; of a
	// job of sessions, what those of all windows come to, in totals. Nil elsewhere,
	// and where they need not be what was added: the rows are not in the mart, or
	// the run that has written last has not ended well.
	RowsCount *int64
	RowsSum   *big.Int

	OfJob bool   // this is the last row of the job
	Bad   *int64 // bad records, in the last row of the job; nil where not known

	// In the last row of the job: what the windows have to come to, or nil if the
	// run that has written last has not replaced those of older ones; and the
	// newest run, with its status.
	Total  *RunTotal
	Run    int64
	Status string

	// What a join has besides; nil in other jobs. A join has one row, of the job.
	// Its counts are of elements.
	Join *JoinBalance
}

// RunTotal is what a run has counted over all windows.
type RunTotal struct{ Run, Assigned, Added, Late int64 }

// Note says that the newest run of the job has not ended, or not well; else it is
// empty.
func (b *Balance) Note() string {
	switch b.Status {
	case running, crashed, Failed, Interrupted:
		return fmt.Sprintf("job %q: its newest run, %d, is %s", b.Job, b.Run, b.Status)
	}
	return ""
}

// Check returns an error that names the job and the window if the conservation
// law, assigned = added + late, does not hold in counts or in money, if the rows
// do not come to what was added, or the windows to what their run has counted; of a
// join, see [JoinBalance].
func (b *Balance) Check() error {
	if b.Join != nil {
		return b.checkJoin()
	}
	if b.Assigned != b.Added+b.Late {
		return fmt.Errorf("%s: assigned=%d is not added=%d + late=%d", b.subject(), b.Assigned, b.Added, b.Late)
	}
	if t := b.Total; t != nil {
		for _, c := range []struct {
			name         string
			windows, run int64
		}{{"assigned", b.Assigned, t.Assigned}, {"added", b.Added, t.Added}, {"late", b.Late, t.Late}} {
			if c.windows != c.run {
				return fmt.Errorf("%s: %s=%d is not the %[2]s=%[4]d of run %[5]d", b.subject(), c.name, c.windows, c.run, t.Run)
			}
		}
	}
	if b.AssignedSum != nil {
		if sum := new(big.Int).Add(b.AddedSum, b.LateSum); sum.Cmp(b.AssignedSum) != 0 {
			return fmt.Errorf("%s: assigned_sum=%v is not added_sum=%v + late_sum=%v", b.subject(), b.AssignedSum, b.AddedSum, b.LateSum)
		}
	}
	if b.RowsCount != nil && *b.RowsCount != b.Added {
		return fmt.Errorf("%s: added=%d, and the rows have count=%d", b.subject(), b.Added, *b.RowsCount)
	}
	if b.RowsSum != nil && b.RowsSum.Cmp(b.AddedSum) != 0 {
		return fmt.Errorf("%s: added_sum=%v, and the rows have sum=%v", b.subject(), b.AddedSum, b.RowsSum)
	}
	return nil
}

// subject says what b is about.
func (b *Balance) subject() string {
	s := fmt.Sprintf("job %q", b.Job)
	if b.Window != nil {
		s += fmt.Sprintf(", window %s to %s", records.FormatTime(b.Window.StartMs), records.FormatTime(b.Window.EndMs))
	} else {
		s += ", all windows"
	}
	if b.Currency != nil {
		s += fmt.Sprintf(", currency %q", *b.Currency)
	}
	return s
}

// setRows sets what the rows come to.
func (b *Balance) setRows(s *rowSum) {
	b.RowsCount = &s.count
	if b.Money {
		b.RowsSum = &s.sum
	}
}

// setSums takes the money of c.
func (b *Balance) setSums(c *counts) {
	b.AssignedSum, b.AddedSum, b.CorrectedSum, b.LateSum = &c.sum[assigned], &c.sum[added], &c.sum[corrected], &c.sum[late]
}

func (b *Balance) add(o *Balance) {
	b.Assigned += o.Assigned
	b.Added += o.Added
	b.Corrected += o.Corrected
	b.Late += o.Late
	if !b.Money {
		return
	}
	b.AssignedSum.Add(b.AssignedSum, o.AssignedSum)
	b.AddedSum.Add(b.AddedSum, o.AddedSum)
	b.CorrectedSum.Add(b.CorrectedSum, o.CorrectedSum)
	b.LateSum.Add(b.LateSum, o.LateSum)
}

// Balances calls emit with the balances of a job, or of all jobs by name where
// job is "". Of each job come its windows by end, start and currency; then, if it
// has currencies, the total of each; then that of the job. It is one view of the
// mart, whatever is written meanwhile. If there is no such job, errors.Is finds
// [ErrNoJob] in the error.
func (m *Mart) Balances(job string, emit func(*Balance) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx, err := m.conn.BeginTx(context.Background(), nil)
	if err != nil {
		return m.explain(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	jobs, err := jobsOf(tx, job)
	if err != nil {
		return m.explain(err)
	}
	if job != "" && len(jobs) == 0 {
		return fmt.Errorf("mart %q: job %q: %w", m.path, job, ErrNoJob)
	}
	for _, job := range jobs {
		if err := balancesOf(tx, job, emit); err != nil {
			return m.explain(err)
		}
	}
	return nil
}
