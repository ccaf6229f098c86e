package mart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

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

	OfJob bool   // this is the last row of the job
	Bad   *int64 // bad records, in the last row of the job; nil where not known
}

// Check returns an error that names the job and the window if the conservation
// law, assigned = added + late, does not hold in counts or in money.
func (b *Balance) Check() error {
	if b.Assigned != b.Added+b.Late {
		return fmt.Errorf("%s: assigned=%d is not added=%d + late=%d", b.subject(), b.Assigned, b.Added, b.Late)
	}
	if b.AssignedSum == nil {
		return nil
	}
	if sum := new(big.Int).Add(b.AddedSum, b.LateSum); sum.Cmp(b.AssignedSum) != 0 {
		return fmt.Errorf("%s: assigned_sum=%v is not added_sum=%v + late_sum=%v", b.subject(), b.AssignedSum, b.AddedSum, b.LateSum)
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

func balancesOf(tx *sql.Tx, job string, emit func(*Balance) error) error {
	var hasCurrencies bool
	if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM window_counts WHERE job = ? AND currency <> '')", job).Scan(&hasCurrencies); err != nil {
		return err
	}
	all, totals := total(job, nil), []*Balance(nil)
	byCurrency := map[string]*Balance{}
	rows, err := tx.Query("SELECT window_start_ms, window_end_ms, currency, "+names("", countsTable.content)+
		" FROM window_counts WHERE job = ? ORDER BY window_end_ms, window_start_ms, currency", job)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for rows.Next() {
		b, currency, err := scanBalance(rows)
		if err != nil {
			return err
		}
		b.Job = job
		if hasCurrencies {
			b.Currency = &currency
			if byCurrency[currency] == nil {
				byCurrency[currency] = total(job, &currency)
				totals = append(totals, byCurrency[currency])
			}
			byCurrency[currency].add(b)
		}
		all.add(b)
		if err := emit(b); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	slices.SortFunc(totals, func(a, b *Balance) int { return strings.Compare(*a.Currency, *b.Currency) })
	for _, b := range totals {
		if err := emit(b); err != nil {
			return err
		}
	}
	if hasCurrencies {
		all.AssignedSum, all.AddedSum, all.CorrectedSum, all.LateSum = nil, nil, nil, nil
	}
	all.OfJob = true
	if all.Bad, err = badOf(tx, job); err != nil {
		return err
	}
	return emit(all)
}

// scanBalance reads a row of window_counts.
func scanBalance(rows *sql.Rows) (b *Balance, currency string, err error) {
	var w windowfns.Window
	var c counts
	var sums [counted]any
	if err := rows.Scan(c.targets(&sums, &w.StartMs, &w.EndMs, &currency)...); err != nil {
		return nil, "", err
	}
	if err := c.setSums(&sums); err != nil {
		return nil, "", err
	}
	return &Balance{
		Window:   &w,
		Assigned: c.n[assigned], Added: c.n[added], Corrected: c.n[corrected], Late: c.n[late],
		AssignedSum: &c.sum[assigned], AddedSum: &c.sum[added], CorrectedSum: &c.sum[corrected], LateSum: &c.sum[late],
	}, currency, nil
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
