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
	Pane          string // EARLY, ON_TIME, LATE or FINAL
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
// that in which they fall due; rows of several windows that one step brings come
// in no certain order.
type Result struct {
	Rows      []Row
	Overflows []Overflow
	Outcome
}

// Play plays steps for money and, after them, a watermark at infinity.
func (cfg Config) Play(steps []Step) Result {
	var out Result
	p := player{
		cfg:      cfg,
		amountOf: func(e Element) *big.Rat { return new(big.Rat).SetInt64(e.Minor) },
		emit: func(k cellKey, f firing) bool {
			sum := f.now.sum.Num()
			if !sum.IsInt64() {
				out.Overflows = append(out.Overflows, Overflow{
					Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
					Pane: f.pane, Total: sum.String(), Count: f.now.count,
				})
				return false
			}
			row := Row{
				Key: k.key, Currency: k.currency, StartMs: k.w.StartMs, EndMs: k.w.EndMs,
				Pane: f.pane, Revision: f.revision,
				Minor: sum.Int64(), Count: f.now.count, MaxTimeMs: f.now.latest(),
			}
			if f.was != nil {
				row.PreviousMinor, row.PreviousCount = new(f.was.sum.Num().Int64()), new(f.was.count)
			}
			out.Rows = append(out.Rows, row)
			return true
		},
	}
	out.Outcome = p.play(steps)
	return out
}

// Play is [Config.Play] where nothing but windows and the allowed lateness, in
// ms, is set.
func Play(windows windowfns.Fn, latenessMs int64, steps []Step) Result {
	return lenient(windows, latenessMs).Play(steps)
}
