package mart

import (
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"

	"tidemark/windowfns"
)

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
	a := &accountant{job: job, emit: emit, byCurrency: map[string]*Balance{}}
	if a.of, err = workOf(tx, job); err != nil {
		return err
	}
	if a.of == Join {
		return joinBalanceOf(tx, job, emit)
	}
	a.all = a.total(nil)
	if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM window_counts WHERE job = ? AND currency <> '')", job).Scan(&a.hasCurrencies); err != nil {
		return err
	}
	h, err := historyOf(tx, job)
	if err != nil {
		return err
	}
	if h.rows {
		if a.rows, err = rowSumsOf(tx, job, a.of, h); err != nil {
			return err
		}
		defer a.rows.rows.Close() //nolint:errcheck // nothing was written
	}
	if err := a.windows(tx, h); err != nil {
		return err
	}
	if a.rows != nil && h.sessions {
		if err := a.sessions(); err != nil {
			return err
		}
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
	of            Work
	emit          func(*Balance) error
	hasCurrencies bool
	rows          *rowSums // nil where the rows are not checked
	all           *Balance
	byCurrency    map[string]*Balance
}

// total is a balance that others are added to.
func (a *accountant) total(currency *string) *Balance {
	b := &Balance{Job: a.job, Currency: currency, Money: a.of.hasMoney()}
	if b.Money {
		b.setSums(new(counts))
	}
	return b
}

// totalOf is that of a currency.
func (a *accountant) totalOf(currency string) *Balance {
	b := a.byCurrency[currency]
	if b == nil {
		b = a.total(&currency)
		a.byCurrency[currency] = b
	}
	return b
}

// windows emits the balances of all windows, and adds them up.
func (a *accountant) windows(tx *sql.Tx, h history) error {
	byWindow := a.rows != nil && !h.sessions
	rows, err := tx.Query("SELECT window_start_ms, window_end_ms, currency, "+sound+", "+names("", countsTable.content)+
		" FROM window_counts WHERE job = ?1 ORDER BY window_end_ms, window_start_ms, currency", a.job, h.whole)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for rows.Next() {
		b, currency, isSound, err := a.scan(rows)
		if err != nil {
			return err
		}
		if byWindow {
			k := countsKey{b.Window.EndMs, b.Window.StartMs, currency}
			if err := a.rows.before(k, a.uncounted); err != nil {
				return err
			}
			if s := a.rows.take(k); isSound && !s.unsound {
				b.setRows(s)
			}
		}
		if a.hasCurrencies {
			b.Currency = &currency
			a.totalOf(currency).add(b)
		}
		a.all.add(b)
		if err := a.emit(b); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || !byWindow {
		return err
	}
	return a.rows.before(countsKey{endMs: math.MaxInt64, startMs: math.MaxInt64}, a.uncounted)
}

// sessions sets what the rows of a job come to, whose windows are not those of the
// counts.
func (a *accountant) sessions() error {
	sums, err := a.rows.rest()
	if err != nil {
		return err
	}
	all := new(rowSum)
	for currency, s := range sums {
		all.add(s)
		if a.hasCurrencies {
			a.totalOf(currency)
		}
	}
	if !a.hasCurrencies {
		a.all.setRows(all)
		return nil
	}
	for currency, b := range a.byCurrency {
		s := sums[currency]
		if s == nil {
			s = new(rowSum)
		}
		b.setRows(s)
	}
	return nil
}

// uncounted emits the balance of a window that has rows, and no counts.
func (a *accountant) uncounted(k countsKey, s *rowSum) error {
	var currency *string
	if a.hasCurrencies || k.currency != "" {
		currency = &k.currency
	}
	b := a.total(currency)
	b.Window = &windowfns.Window{StartMs: k.startMs, EndMs: k.endMs}
	b.setRows(s)
	return a.emit(b)
}

// scan reads a row of window_counts.
func (a *accountant) scan(rows *sql.Rows) (b *Balance, currency string, isSound bool, err error) {
	var w windowfns.Window
	var c counts
	var sums [counted]any
	if err := rows.Scan(c.targets(&sums, &w.StartMs, &w.EndMs, &currency, &isSound)...); err != nil {
		return nil, "", false, err
	}
	b = &Balance{
		Job: a.job, Window: &w, Money: a.of.hasMoney(),
		Assigned: c.n[assigned], Added: c.n[added], Corrected: c.n[corrected], Late: c.n[late],
	}
	if b.Money {
		if err := c.setSums(&sums, true); err != nil {
			return nil, "", false, err
		}
		b.setSums(&c)
	}
	return b, currency, isSound, nil
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
