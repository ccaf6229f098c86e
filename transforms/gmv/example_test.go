package gmv_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
	"tidemark/transforms/gate"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// Order is the element of our pipeline; its timestamp is the event time.
type Order struct {
	Company string
	Cents   int64
}

func init() {
	beam.RegisterType(reflect.TypeFor[Order]())
	register.Function1x1(orderEntry)
}

func orderEntry(o Order) gmv.Entry { return gmv.Entry{Key: o.Company, Minor: o.Cents} }

// Sales per company and hour. Orders that come up to half an hour after the end
// of their hour correct it; what comes later than that is on an output of its
// own. The orders of this example are played step by step; in production they
// come from a source.
func ExamplePerKey() {
	var orders streamtest.Timeline
	orders.At(clockMs("09:10"), Order{"acme", 2500}).
		At(clockMs("09:50"), Order{"acme", 499}).
		Watermark(clockMs("10:00")).
		At(clockMs("09:59"), Order{"acme", 1000}). // late, but not too late
		Watermark(clockMs("10:30")).
		At(clockMs("09:55"), Order{"acme", 9999}) // too late

	var rows, late *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		cfg := gmv.Config{
			Windows:         windowfns.Tumbling{Size: time.Hour},
			AllowedLateness: 30 * time.Minute,
		}
		totals, _, tooLate := gmv.PerKey(s, cfg, orderEntry, orders.Create(s))
		rows, late = streamtest.Capture(s, totals), streamtest.Capture(s, tooLate)
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	var lines []string
	for _, r := range streamtest.Values[gmv.Row](rows) {
		lines = append(lines, fmt.Sprintf("%s from %s: revision %d, %s, %d cents of %d orders",
			r.Key, clockOf(r.StartMs), r.Revision, r.Pane, r.Minor, r.Count))
	}
	for _, l := range streamtest.Values[streamtest.KV[gate.Missed, Order]](late) {
		lines = append(lines, fmt.Sprintf("too late: %d cents of %s, %s", l.Value.Cents, l.Value.Company, clockOf(l.Key.TimeMs)))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// acme from 09:00: revision 0, ON_TIME, 2999 cents of 2 orders
	// acme from 09:00: revision 1, LATE, 3999 cents of 3 orders
	// too late: 9999 cents of acme, 09:55
}

// clockMs is a time of 2026-09-01.
func clockMs(hhmm string) int64 {
	t, err := time.Parse("2006-01-02 15:04", "2026-09-01 "+hhmm)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

func clockOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04") }
