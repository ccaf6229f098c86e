package mart

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
)

// accountable is SQL: a run that has ended well, and whose rows come to what its
// window counts say was added. Where bad records go elsewhere, so do overflows.
const accountable = "(status = 'done' AND wrote_rows AND wrote_counts AND (wrote_bad OR overflowed = 0))"

// history is what the runs of a job say about its rows.
type history struct {
	newest int64 // the newest run
	status string

	// The newest run that has written, if it has put all of its counts in place
	// of those of older runs; else nil.
	total *RunTotal

	// The rows can be checked: the newest run that has written is accountable.
	rows bool

	// The newest accountable run that has put its rows in place of all older
	// ones, or 0. Rows up to it are all of one state, whatever run they bear.
	whole int64

	overflows bool // whole has put its overflows there too

	// Of the runs whose rows can be there some have sessions, whose rows are
	// checked against the counts of the whole job.
	sessions bool
}

func historyOf(tx *sql.Tx, job string) (h history, err error) {
	if h.newest, h.status, err = newestOf(tx, job); err != nil {
		return h, err
	}
	var replaced bool
	var last RunTotal
	err = tx.QueryRow(`SELECT run, status = 'done' AND replaced AND wrote_counts, coalesce(`+accountable+`, 0),
  coalesce(assigned, 0), coalesce(added, 0), coalesce(late, 0)
FROM runs WHERE job = ? AND (wrote_rows OR wrote_late OR wrote_bad OR wrote_counts) ORDER BY run DESC LIMIT 1`, job).
		Scan(&last.Run, &replaced, &h.rows, &last.Assigned, &last.Added, &last.Late)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if replaced {
		h.total = &last
	}
	err = tx.QueryRow("SELECT run, wrote_bad FROM runs WHERE job = ? AND replaced AND "+accountable+" ORDER BY run DESC LIMIT 1", job).
		Scan(&h.whole, &h.overflows)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return h, err
	}
	return h, h.setSessions(tx, job)
}

// newestOf is the newest run of a job.
func newestOf(tx *sql.Tx, job string) (run int64, status string, err error) {
	err = tx.QueryRow("SELECT run, status FROM runs WHERE job = ? ORDER BY run DESC LIMIT 1", job).Scan(&run, &status)
	return run, status, err
}

// setSessions finds out about sessions. Whose window a row of a run that did not
// end well is in the counts is not known then, so that rows are not checked where
// there may be any.
func (h *history) setSessions(tx *sql.Tx, job string) error {
	version, err := versionOf(tx)
	if err != nil || version == 1 {
		return err // of before there were sessions
	}
	var unsound bool
	err = tx.QueryRow(`SELECT coalesce(max(sessions), 0),
  coalesce(max(run > ?2 AND (wrote_rows OR wrote_late OR wrote_bad OR wrote_counts) AND NOT coalesce(`+accountable+`, 0)), 0)
FROM runs WHERE job = ?1 AND run >= ?2`, job, h.whole).Scan(&h.sessions, &unsound)
	h.rows = h.rows && !(h.sessions && unsound)
	return err
}

// sound is SQL: the row's run is accountable, or has left nothing that a run of
// the job ?1 has not replaced since, the newest of which is ?2.
const sound = "(run <= ?2 OR run IN (SELECT run FROM runs WHERE job = ?1 AND " + accountable + "))"

// rowSum is what the rows and overflows of a window and currency come to.
type rowSum struct {
	count          int64
	sum            big.Int
	sound, unsound bool // one of them is
}

func (s *rowSum) add(o *rowSum) {
	s.count += o.count
	s.sum.Add(&s.sum, &o.sum)
}

// keyState is the sum of a key and window, as it is in a row or an overflow.
type keyState struct {
	endMs, startMs int64
	key, currency  string
	run, count     int64
	sum            big.Int
	overflow       bool
	sound          bool
}

func (s *keyState) of(o *keyState) bool {
	return s.endMs == o.endMs && s.startMs == o.startMs && s.key == o.key && s.currency == o.currency
}

// rowSums adds up the rows of a job window by window. It holds one window at a
// time.
type rowSums struct {
	rows    *sql.Rows
	history history

	ahead          *keyState // the first one that is not in sums
	endMs, startMs int64
	sums           map[string]*rowSum // by currency; nil after the last window
}

// selectGMV and selectAverages read tables in the order of their primary keys, so
// that nothing needs to be sorted.
const (
	selectGMV = `SELECT window_end_ms, window_start_ms, key, currency, run, count, sum, false, ` + sound + ` FROM gmv WHERE job = ?1
UNION ALL SELECT window_end_ms, window_start_ms, key, currency, run, count, total, true, ` + sound + ` FROM overflows WHERE job = ?1
ORDER BY 1, 2, 3, 4`

	selectAverages = `SELECT window_end_ms, window_start_ms, key, '', run, count, 0, false, ` + sound + ` FROM averages WHERE job = ?1
ORDER BY 1, 2, 3`
)

func rowSumsOf(tx *sql.Tx, job string, of Work, h history) (*rowSums, error) {
	statement := selectGMV
	if of == Average {
		statement = selectAverages
	}
	rows, err := tx.Query(statement, job, h.whole)
	if err != nil {
		return nil, err
	}
	r := &rowSums{rows: rows, history: h}
	if r.ahead, err = r.read(); err == nil {
		err = r.next()
	}
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return r, nil
}

// read reads a row or an overflow, nil after the last.
func (r *rowSums) read() (*keyState, error) {
	for r.rows.Next() {
		var s keyState
		var sum any
		if err := r.rows.Scan(&s.endMs, &s.startMs, &s.key, &s.currency, &s.run, &s.count, &sum, &s.overflow, &s.sound); err != nil {
			return nil, err
		}
		switch v := sum.(type) {
		case int64:
			s.sum.SetInt64(v)
		case string:
			if !setDigits(&s.sum, v) {
				return nil, fmt.Errorf("total holds %.50q, want digits", v)
			}
		}
		if s.overflow && s.run <= r.history.whole && !r.history.overflows {
			continue // left from before a run that had none
		}
		return &s, nil
	}
	return nil, r.rows.Err()
}

// newer picks the newer state of a key: each has counted more elements than those
// before it in its run, but for a row that withdraws a window, which is the last.
func (r *rowSums) newer(a, b *keyState) *keyState {
	if cmp.Or(cmp.Compare(max(a.run, r.history.whole), max(b.run, r.history.whole)), cmp.Compare(a.rank(), b.rank())) < 0 {
		return b
	}
	return a
}

func (s *keyState) rank() int64 {
	if s.count == 0 {
		return math.MaxInt64
	}
	return s.count
}

// next goes to the next window.
func (r *rowSums) next() error {
	r.sums = nil
	if r.ahead == nil {
		return nil
	}
	r.endMs, r.startMs, r.sums = r.ahead.endMs, r.ahead.startMs, map[string]*rowSum{}
	for r.ahead != nil && r.ahead.endMs == r.endMs && r.ahead.startMs == r.startMs {
		s := r.ahead
		following, err := r.read()
		if err == nil && following != nil && following.of(s) {
			s = r.newer(s, following)
			following, err = r.read()
		}
		if err != nil {
			return err
		}
		r.ahead = following
		of := r.sums[s.currency]
		if of == nil {
			of = new(rowSum)
			r.sums[s.currency] = of
		}
		of.count += s.count
		of.sum.Add(&of.sum, &s.sum)
		of.sound, of.unsound = of.sound || s.sound, of.unsound || !s.sound
	}
	return nil
}

// before calls emit with the sums of windows and currencies that come before
// one, and drops them: they have no counts.
func (r *rowSums) before(k countsKey, emit func(countsKey, *rowSum) error) error {
	for r.sums != nil {
		for _, currency := range slices.Sorted(maps.Keys(r.sums)) {
			at := countsKey{r.endMs, r.startMs, currency}
			if at.compare(k) >= 0 {
				return nil
			}
			s := r.sums[currency]
			delete(r.sums, currency)
			if s.sound {
				if err := emit(at, s); err != nil {
					return err
				}
			}
		}
		if (countsKey{endMs: r.endMs, startMs: r.startMs}).sameWindow(k) {
			return nil
		}
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// rest adds up all windows by currency.
func (r *rowSums) rest() (map[string]*rowSum, error) {
	all := map[string]*rowSum{}
	for r.sums != nil {
		for currency, s := range r.sums {
			if all[currency] == nil {
				all[currency] = new(rowSum)
			}
			all[currency].add(s)
		}
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// take returns the sum of a window and currency, and drops it. It is the first
// one that is left, or there is none.
func (r *rowSums) take(k countsKey) *rowSum {
	if s := r.sums[k.currency]; s != nil && k.sameWindow(countsKey{endMs: r.endMs, startMs: r.startMs}) {
		delete(r.sums, k.currency)
		return s
	}
	return new(rowSum)
}

func (k countsKey) sameWindow(o countsKey) bool { return k.endMs == o.endMs && k.startMs == o.startMs }
