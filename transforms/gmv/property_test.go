package gmv_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"tidemark/transforms/gmv"
)

// TestRandomTimelines plays random scripts over random window functions, with
// and without allowed lateness and retention: every row, overflow and late
// element is the oracle's.
func TestRandomTimelines(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			c := newRandomCase(seed)
			c.script(32)
			t.Log(c)
			out := verify(t, c.cfg, timeline(c.steps).Create, c.want())
			checkMoney(t, c, out)
		})
	}
}

// checkMoney checks the conservation law in money: what the elements bring to
// all of their windows is what the last rows show, what the last overflows hold,
// and what the late records miss.
func checkMoney(t *testing.T, c *randomCase, out outcome) {
	t.Helper()
	var assigned, found big.Int
	for _, st := range c.steps {
		if e := st.Element; e != nil {
			n := int64(len(c.windowsAt(e.TimeMs)))
			assigned.Add(&assigned, new(big.Int).Mul(big.NewInt(e.Minor), big.NewInt(n)))
		}
	}
	for _, v := range out.totals() {
		sum, ok := new(big.Int).SetString(v.Sum, 10)
		if !ok {
			t.Fatalf("sum %q", v.Sum)
		}
		found.Add(&found, sum)
	}
	for _, l := range out.late {
		n := int64(len(l.Key.Windows))
		found.Add(&found, new(big.Int).Mul(big.NewInt(l.Value.Minor), big.NewInt(n)))
	}
	if assigned.Cmp(&found) != 0 {
		t.Errorf("%v in elements and windows, %v in totals and late records", &assigned, &found)
	}
}

// total is what the last row or overflow of a key, currency and window shows:
// the one with the most elements.
type total struct {
	Key   totalKey
	Sum   string // in decimal
	Count int64
}

type totalKey struct {
	Key, Currency  string
	StartMs, EndMs int64
}

func keyOf(r gmv.Row) totalKey { return totalKey{r.Key, r.Currency, r.StartMs, r.EndMs} }

func (o outcome) totals() []total {
	last := map[totalKey]total{}
	keep := func(v total) {
		if was, ok := last[v.Key]; !ok || v.Count > was.Count {
			last[v.Key] = v
		}
	}
	for _, r := range o.rows {
		keep(total{keyOf(r), strconv.FormatInt(r.Minor, 10), r.Count})
	}
	for _, v := range o.overflows {
		keep(total{totalKey{v.Key, v.Currency, v.StartMs, v.EndMs}, v.Total, v.Count})
	}
	return slices.Collect(maps.Values(last))
}
