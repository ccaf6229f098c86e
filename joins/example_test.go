package joins_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
	"tidemark/testing/streamtest"
)

// Order and Payment are the values of our two streams, keyed by customer.
type (
	Order   struct{ Item string }
	Payment struct{ Cents int64 }
)

// Update is an element of either stream, for the script below.
type Update struct {
	Customer string
	Order    *Order
	Payment  *Payment
}

func init() {
	beam.RegisterType(reflect.TypeFor[Order]())
	beam.RegisterType(reflect.TypeFor[Payment]())
	beam.RegisterType(reflect.TypeFor[Update]())
	register.Function3x1(settle)
	register.Function3x0(split)
	register.Emitter2[string, Order]()
	register.Emitter2[string, Payment]()
}

// settle is called for each order with a payment, and once for one without any.
func settle(customer string, o *Order, p *Payment) string {
	if p == nil {
		return fmt.Sprintf("%s has not paid for %s", customer, o.Item)
	}
	return fmt.Sprintf("%s has paid %d cents for %s", customer, p.Cents, o.Item)
}

// split makes two streams of one. In production they come from two sources.
func split(u Update, orders func(string, Order), payments func(string, Payment)) {
	if u.Order != nil {
		orders(u.Customer, *u.Order)
	} else {
		payments(u.Customer, *u.Payment)
	}
}

// Orders and the payments of the same customer in the hour after them. An order is
// said to be unpaid as soon as no payment can come any more.
func ExampleInterval() {
	at := func(hhmm string) int64 {
		t, err := time.Parse("2006-01-02 15:04", "2026-09-01 "+hhmm)
		if err != nil {
			panic(err)
		}
		return t.UnixMilli()
	}
	var updates streamtest.Timeline
	updates.At(at("09:00"), Update{Customer: "ada", Order: &Order{"a book"}}).
		At(at("09:10"), Update{Customer: "bob", Order: &Order{"a lamp"}}).
		At(at("10:00"), Update{Customer: "ada", Payment: &Payment{2500}}).
		Watermark(at("10:11")). // bob's hour is over
		At(at("10:10"), Update{Customer: "bob", Payment: &Payment{999}})

	var rows, late *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		orders, payments := beam.ParDo2(s, split, updates.Create(s))
		joined := joins.Interval(s, joins.Config{Upper: time.Hour, Type: joins.Left}, settle, orders, payments)
		rows, late = streamtest.Capture(s, joined.Rows), streamtest.Capture(s, joined.LateRight)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	lines := streamtest.Values[string](rows)
	for _, l := range streamtest.Values[streamtest.KV[string, Payment]](late) {
		lines = append(lines, fmt.Sprintf("too late: %d cents of %s", l.Value.Cents, l.Key))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// ada has paid 2500 cents for a book
	// bob has not paid for a lamp
	// too late: 999 cents of bob
}
