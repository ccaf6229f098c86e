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
	Pane            string // EARLY, ON_TIME, LATE or FINAL
	Revision        int64
	Average         *float64 // nil where Count is 0
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

// PlayAverage is [Config.Play] for averages of Value. Elements have no currency.
func (cfg Config) PlayAverage(steps []Step) AverageResult {
	var out AverageResult
	p := player{
		cfg:      cfg,
		amountOf: func(e Element) *big.Rat { return new(big.Rat).SetFloat64(e.Value) },
		emit: func(k cellKey, f firing) bool {
			row := AverageRow{
				Key: k.key, StartMs: k.w.StartMs, EndMs: k.w.EndMs, Pane: f.pane, Revision: f.revision,
				Average: f.now.mean(), Sum: nearest(f.now.sum), Count: f.now.count, MaxTimeMs: f.now.latest(),
			}
			if f.was != nil {
				row.PreviousAverage, row.PreviousCount = f.was.mean(), new(f.was.count)
			}
			out.Rows = append(out.Rows, row)
			return true
		},
	}
	out.Outcome = p.play(steps)
	return out
}

// PlayAverage is [Config.PlayAverage] where nothing but windows and the allowed
// lateness, in ms, is set.
func PlayAverage(windows windowfns.Fn, latenessMs int64, steps []Step) AverageResult {
	return lenient(windows, latenessMs).PlayAverage(steps)
}

// mean is the mean of v, nil of nothing.
func (v values) mean() *float64 {
	if v.count == 0 {
		return nil
	}
	return nearest(new(big.Rat).Quo(v.sum, new(big.Rat).SetInt64(v.count)))
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
