package oracle

import (
	"math/big"

	"tidemark/windowfns"
)

// Row is a row as the transform emits it. The fields are those of gmv.Row, so
// that one converts to the other.
type Row struct {
	Key           string
	Currency      string
	StartMs       int64
	EndMs         int64
	Pane          string // ON_TIME or LATE
	Revision      int64
	Minor         int64
	PreviousMinor *int64
	Count         int64
	PreviousCount *int64
	MaxTimeMs     *int64
}

// Overflow is a sum that could not be shown.
type Overflow struct {
	Key      string
	Currency string
	StartMs  int64
	EndMs    int64
	Pane     string
	Total    string // the exact sum, in decimal
	Count    int64
}

// Result is the outcome of a script of money. The order of rows and overflows is
// that in which they fall due; rows that fall due together come in no certain
// order.
type Result struct {
	Rows      []Row
	Overflows []Overflow
	Outcome
}

// Play plays steps and, after them, a watermark at infinity. Windows are those
// of windows, and latenessMs is the allowed lateness L.
func Play(windows windowfns.Fn, latenessMs int64, steps []Step) Result {
	var out Result
	last := map[cellKey]Row{}
	p := player{
		windows:    windows,
		latenessMs: latenessMs,
		amountOf:   func(e Element) *big.Rat { return new(big.Rat).SetInt64(e.Minor) },
		emit: func(k cellKey, c *cell, pane string) {
			sum := c.sum.Num()
			if !sum.IsInt64() {
				out.Overflows = append(out.Overflows, Overflow{
					Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
					Pane: pane, Total: sum.String(), Count: c.count,
				})
				return
			}
			row := Row{
				Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
				Pane: pane, Revision: c.rows,
				Minor: sum.Int64(), Count: c.count, MaxTimeMs: new(c.maxMs),
			}
			if was, ok := last[k]; ok {
				row.PreviousMinor, row.PreviousCount = &was.Minor, &was.Count
			}
			c.rows++
			last[k] = row
			out.Rows = append(out.Rows, row)
		},
	}
	out.Outcome = p.play(steps)
	return out
}
