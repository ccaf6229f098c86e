package oracle

import (
	"math"
	"math/big"

	"tidemark/windowfns"
)

// AverageRow is a row as the transform emits it. The fields are those of
// average.Row, so that one converts to the other.
type AverageRow struct {
	Key             string
	StartMs         int64
	EndMs           int64
	Pane            string // ON_TIME or LATE
	Revision        int64
	Average         *float64
	PreviousAverage *float64
	Sum             *float64 // nil outside float64
	Count           int64
	PreviousCount   *int64
	MaxTimeMs       *int64
}

// AverageResult is the outcome of a script of values. The order of rows is as in
// [Result].
type AverageResult struct {
	Rows []AverageRow
	Outcome
}

// PlayAverage is [Play] for averages of Value. Elements have no currency.
func PlayAverage(windows windowfns.Fn, latenessMs int64, steps []Step) AverageResult {
	var out AverageResult
	last := map[cellKey]AverageRow{}
	p := player{
		windows:    windows,
		latenessMs: latenessMs,
		amountOf:   func(e Element) *big.Rat { return new(big.Rat).SetFloat64(e.Value) },
		emit: func(k cellKey, c *cell, pane string) {
			mean := new(big.Rat).Quo(&c.sum, new(big.Rat).SetInt64(c.count))
			maxMs := c.maxMs
			row := AverageRow{
				Key: k.key, StartMs: k.w.StartMs, EndMs: k.w.EndMs, Pane: pane, Revision: c.rows,
				Average: nearest(mean), Sum: nearest(&c.sum), Count: c.count, MaxTimeMs: &maxMs,
			}
			if was, ok := last[k]; ok {
				row.PreviousAverage, row.PreviousCount = was.Average, &was.Count
			}
			c.rows++
			last[k] = row
			out.Rows = append(out.Rows, row)
		},
	}
	out.Outcome = p.play(steps)
	return out
}

// nearest is the float64 nearest to x, or nil if x is outside float64. There is
// no -0.
func nearest(x *big.Rat) *float64 {
	f, _ := x.Float64()
	if math.IsInf(f, 0) {
		return nil
	}
	f += 0
	return &f
}
