package mart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

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

	// The money of the same pairs. Nil in the last row of a job with currencies:
	// they are never added together.
	AssignedSum, AddedSum, CorrectedSum, LateSum *big.Int

	// What the rows of GMV and the overflows of a window come to, each key once.
	// Nil in totals, and where they need not be what was added: the rows are not
	// in the mart, or the run that has written last has not ended well.
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
// do not come to what was added, or the windows to what their run has counted.
func (b *Balance) Check() error {
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
	if b.AssignedSum == nil {
		return nil
	}
	if sum := new(big.Int).Add(b.AddedSum, b.LateSum); sum.Cmp(b.AssignedSum) != 0 {
		return fmt.Errorf("%s: assigned_sum=%v is not added_sum=%v + late_sum=%v", b.subject(), b.AssignedSum, b.AddedSum, b.LateSum)
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

// total is a Balance that others are added to.
func total(job string, currency *string) *Balance {
	return &Balance{
		Job: job, Currency: currency,
		AssignedSum: new(big.Int), AddedSum: new(big.Int), CorrectedSum: new(big.Int), LateSum: new(big.Int),
	}
}

func (b *Balance) add(o *Balance) {
	b.Assigned += o.Assigned
	b.Added += o.Added
	b.Corrected += o.Corrected
	b.Late += o.Late
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

// jobsOf lists the jobs by name, or the one that is asked for.
func jobsOf(tx *sql.Tx, job string) (jobs []string, err error) {
	rows, err := tx.Query("SELECT DISTINCT job FROM runs WHERE ?1 = '' OR job = ?1 ORDER BY job", job)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for rows.Next() {
		var job string
		if err := rows.Scan(&job); err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, rows.Err()
}

func balancesOf(tx *sql.Tx, job string, emit func(*Balance) error) (err error) {
	a := &accountant{job: job, emit: emit, all: total(job, nil), byCurrency: map[string]*Balance{}}
	if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM window_counts WHERE job = ? AND currency <> '')", job).Scan(&a.hasCurrencies); err != nil {
		return err
	}
	h, err := historyOf(tx, job)
	if err != nil {
		return err
	}
	if h.rows {
		if a.rows, err = rowSumsOf(tx, job, h); err != nil {
			return err
		}
		defer a.rows.rows.Close() //nolint:errcheck // nothing was written
	}
	if err := a.windows(tx, h); err != nil {
		return err
	}
	for _, currency := range slices.Sorted(maps.Keys(a.byCurrency)) {
		if err := emit(a.byCurrency[currency]); err != nil {
			return err
		}
	}
	all := a.all
	if a.hasCurrencies {
		all.AssignedSum, all.AddedSum, all.CorrectedSum, all.LateSum = nil, nil, nil, nil
	}
	all.OfJob, all.Total, all.Run, all.Status = true, h.total, h.newest, h.status
	if all.Bad, err = badOf(tx, job); err != nil {
		return err
	}
	return emit(all)
}

// accountant makes the balances of a job.
type accountant struct {
	job           string
	emit          func(*Balance) error
	hasCurrencies bool
	rows          *rowSums // nil where the rows are not checked
	all           *Balance
	byCurrency    map[string]*Balance
}

// windows emits the balances of all windows, and adds them up.
func (a *accountant) windows(tx *sql.Tx, h history) error {
	rows, err := tx.Query("SELECT window_start_ms, window_end_ms, currency, "+sound+", "+names("", countsTable.content)+
		" FROM window_counts WHERE job = ?1 ORDER BY window_end_ms, window_start_ms, currency", a.job, h.whole)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for rows.Next() {
		b, currency, isSound, err := scanBalance(rows)
		if err != nil {
			return err
		}
		b.Job = a.job
		if a.rows != nil {
			k := countsKey{b.Window.EndMs, b.Window.StartMs, currency}
			if err := a.rows.before(k, a.uncounted); err != nil {
				return err
			}
			if s := a.rows.take(k); isSound {
				b.RowsCount, b.RowsSum = &s.count, &s.sum
			}
		}
		if a.hasCurrencies {
			b.Currency = &currency
			if a.byCurrency[currency] == nil {
				a.byCurrency[currency] = total(a.job, &currency)
			}
			a.byCurrency[currency].add(b)
		}
		a.all.add(b)
		if err := a.emit(b); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || a.rows == nil {
		return err
	}
	return a.rows.before(countsKey{endMs: math.MaxInt64, startMs: math.MaxInt64}, a.uncounted)
}

// uncounted emits the balance of a window that has rows, and no counts.
func (a *accountant) uncounted(k countsKey, s *rowSum) error {
	var currency *string
	if a.hasCurrencies || k.currency != "" {
		currency = &k.currency
	}
	b := total(a.job, currency)
	b.Window = &windowfns.Window{StartMs: k.startMs, EndMs: k.endMs}
	b.RowsCount, b.RowsSum = &s.count, &s.sum
	return a.emit(b)
}

// scanBalance reads a row of window_counts.
func scanBalance(rows *sql.Rows) (b *Balance, currency string, isSound bool, err error) {
	var w windowfns.Window
	var c counts
	var sums [counted]any
	if err := rows.Scan(c.targets(&sums, &w.StartMs, &w.EndMs, &currency, &isSound)...); err != nil {
		return nil, "", false, err
	}
	if err := c.setSums(&sums); err != nil {
		return nil, "", false, err
	}
	return &Balance{
		Window:   &w,
		Assigned: c.n[assigned], Added: c.n[added], Corrected: c.n[corrected], Late: c.n[late],
		AssignedSum: &c.sum[assigned], AddedSum: &c.sum[added], CorrectedSum: &c.sum[corrected], LateSum: &c.sum[late],
	}, currency, isSound, nil
}

// badOf returns how many records were bad in the newest run of a job, or nil if
// that run has written window counts and not ended yet.
func badOf(tx *sql.Tx, job string) (bad *int64, err error) {
	err = tx.QueryRow(`WITH newest AS (SELECT coalesce(max(run), 0) AS run FROM window_counts WHERE job = ?1)
SELECT runs.bad FROM runs, newest
WHERE job = ?1 AND bad IS NOT NULL AND (runs.run = newest.run OR runs.run > newest.run AND status IN ('done', 'interrupted'))
ORDER BY runs.run DESC LIMIT 1`, job).Scan(&bad)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return bad, err
}
