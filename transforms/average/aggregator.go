package average

import (
	"fmt"
	"math"
	"reflect"

	"tidemark/internal/exactsum"
	"tidemark/internal/intake"
	"tidemark/transforms/aggregate"
)

// aggregator computes averages for package aggregate.
type aggregator struct {
	ValueOf intake.EntryFunc[Entry]

	page []pointed
}

// pointed is what a row points to.
type pointed struct {
	now, previous            float64
	sum                      float64
	previousCount, maxTimeMs int64
}

// newPointed returns memory for a row. Rows share pages of it, because one is made
// after the other and few are kept.
func (a *aggregator) newPointed() *pointed {
	if len(a.page) == 0 {
		a.page = make([]pointed, 64)
	}
	v := &a.page[0]
	a.page = a.page[1:]
	return v
}

func (a *aggregator) Lift(elem any, timeMs int64, key, acc []byte) ([]byte, []byte, error) {
	e, err := a.ValueOf.Entry(elem)
	if err != nil {
		return key, acc, fmt.Errorf("average: %w", err)
	}
	if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
		return key, acc, fmt.Errorf("average: value %v, want a finite number: keep other elements out beforehand", e.Value)
	}
	return append(key, e.Key...), appendTotal(acc, e.Value, timeMs), nil
}

func (a *aggregator) Merge(dst, src []byte) ([]byte, error) { return mergeTotals(dst, src) }

// Check lets everything through: there is no total without an average, and what
// is malformed fails the job in Render.
func (a *aggregator) Check([]byte) error { return nil }

// RowType makes [Row] the type of the rows.
func (a *aggregator) RowType() reflect.Type { return reflect.TypeFor[Row]() }

// Render decodes the total and the one before it.
func (a *aggregator) Render(in *aggregate.Row) (any, error) {
	var t total // of nothing, if the row withdraws the window
	var err error
	if len(in.Total) > 0 {
		if t, err = readTotal(in.Total); err != nil {
			return nil, err
		}
	}
	v := a.newPointed()
	v.maxTimeMs = t.maxMs
	row := Row{
		Key: in.Key, StartMs: in.StartMs, EndMs: in.EndMs, Pane: string(in.Pane), Revision: in.Revision,
		Count: t.count,
	}
	if t.count > 0 {
		v.now = exactsum.Mean(t.sum, t.count)
		row.Average, row.MaxTimeMs = &v.now, &v.maxTimeMs
	}
	if v.sum = exactsum.Float64(t.sum); !math.IsInf(v.sum, 0) {
		row.Sum = &v.sum
	}
	if in.Revision > 0 {
		var was total
		if len(in.Previous) > 0 {
			if was, err = readTotal(in.Previous); err != nil {
				return nil, err
			}
		}
		if was.count > 0 {
			v.previous = exactsum.Mean(was.sum, was.count)
			row.PreviousAverage = &v.previous
		}
		v.previousCount = was.count
		row.PreviousCount = &v.previousCount
	}
	return row, nil
}
