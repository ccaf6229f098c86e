package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"

	"tidemark/connectors/mart"
	"tidemark/connectors/records"
)

const reconcileUsage = `Checks in a mart that nothing was lost: that assigned = added + late holds for
every window, in counts and, for GMV, in money; that its rows and overflows come
to what was added, if the run that has written last is done and rows go to the
mart (of sessions, over all windows); and that all windows come to what that run
has counted, if it has replaced the job.
Prints a row for each window of each job, one for each currency of a job that has
any, and one for the job.
A join has a row for the job only. For each side, assigned = joined + unmatched +
late + over_limit has to hold, and late records, pairs and rows of one side in the
mart have to be as many as was counted, if its run is done or interrupted.
Exit status 1 if it does not hold anywhere, after all rows are printed. A newest
run that is running, crashed, failed or interrupted is noted on standard error.
A stream from a pipe does not remove rows of earlier runs of its job: where it
has counted a window anew, rows of both are there, and do not come to its counts.

usage: tidemark reconcile --mart sqlite:PATH [--job NAME]`

// reconcileFlags are the flags of tidemark reconcile.
type reconcileFlags struct {
	mart, job string
}

func (r *reconcileFlags) define(fs *flagSet) {
	fs.section("Mart", func() {
		fs.StringVar(&r.mart, "mart", "", "the mart to check, `sqlite:PATH`; it is read only")
	})
	fs.section("", func() {
		fs.StringVar(&r.job, "job", "", "the `name` of one job; without it all jobs are checked")
	})
}

func runReconcile(ctx context.Context, args []string) error {
	// No pipeline is run, so that Beam's flags have no place here.
	fs := onFlagSet(new(flag.FlagSet), "reconcile", reconcileUsage)
	var r reconcileFlags
	r.define(fs)
	if err := fs.parse(args); err != nil {
		return err
	}
	path, ok := mart.ParsePath(r.mart)
	switch {
	case r.mart == "":
		return usagef("no mart, want --mart sqlite:PATH")
	case !ok:
		return usagef("--mart %q, want sqlite:PATH", r.mart)
	case fs.given("job") && r.job == "":
		return usagef("--job is empty, want the name of a job, or no --job for all of them")
	}
	m, err := mart.OpenReadOnly(path)
	if err != nil {
		if err = fmt.Errorf("--mart: %w", err); errors.Is(err, mart.ErrLocked) {
			return err
		}
		return usageError{err}
	}
	out := bufio.NewWriter(os.Stdout)
	faults, notes, err := reconcile(ctx, m, r.job, out)
	if errors.Is(err, mart.ErrNoJob) {
		err = usagef("--job: %w", err)
	}
	if err := errors.Join(err, out.Flush(), m.Close()); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(os.Stderr, "tidemark: %s\n", n)
	}
	switch n := len(faults); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the conservation law does not hold: %w", faults[0])
	default:
		return fmt.Errorf("the conservation law does not hold in %d rows: %w", n, faults[0])
	}
}

// balanceRow is a row of the command's output. A null stands for a window in
// totals.
type balanceRow struct {
	Job       string  `json:"job"`
	Start     *string `json:"window_start"`
	End       *string `json:"window_end"`
	Currency  *string `json:"currency,omitempty"`
	Assigned  int64   `json:"assigned"`
	Added     int64   `json:"added"`
	Corrected int64   `json:"corrected"`
	Late      int64   `json:"late"`
	*moneyRow         // nil, and not there, in jobs without money
	Bad       any     `json:"bad,omitempty"` // in the row of a job an *int64, which may be nil: then it is null
}

// moneyRow is the money of a row. A null stands for a sum over several currencies.
type moneyRow struct {
	AssignedSum  *big.Int `json:"assigned_sum"`
	AddedSum     *big.Int `json:"added_sum"`
	CorrectedSum *big.Int `json:"corrected_sum"`
	LateSum      *big.Int `json:"late_sum"`
}

// reconcile prints the rows of a job, or of all where job is "", and returns what
// is wrong with them, and which newest runs have not ended well.
func reconcile(ctx context.Context, m *mart.Mart, job string, out *bufio.Writer) (faults []error, notes []string, err error) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	ofJob := 0 // the first fault of the job
	err = m.Balances(job, func(b *mart.Balance) error {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		row := balanceRow{
			Job: b.Job, Currency: b.Currency,
			Assigned: b.Assigned, Added: b.Added, Corrected: b.Corrected, Late: b.Late,
		}
		if b.Money {
			row.moneyRow = &moneyRow{b.AssignedSum, b.AddedSum, b.CorrectedSum, b.LateSum}
		}
		if w := b.Window; w != nil {
			start, end := records.FormatTime(w.StartMs), records.FormatTime(w.EndMs)
			row.Start, row.End = &start, &end
		}
		if b.OfJob {
			row.Bad = b.Bad
		}
		var line any = row
		if b.Join != nil {
			line = joinBalanceOf(b)
		}
		if err := b.Check(); err != nil {
			faults = append(faults, err)
		}
		if b.OfJob && b.Bad == nil {
			for i := ofJob; i < len(faults); i++ {
				faults[i] = fmt.Errorf("%w; its run has not ended, so that some counts may be on their way, or lost in a crash", faults[i])
			}
		}
		if b.OfJob {
			ofJob = len(faults)
			if n := b.Note(); n != "" {
				notes = append(notes, n)
			}
		}
		return enc.Encode(line)
	})
	return faults, notes, err
}
