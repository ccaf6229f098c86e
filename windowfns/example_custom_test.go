package windowfns_test

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/windowfns"
)

// FiscalYear is a window function of our own: years, UTC, that start on the
// first day of a month.
type FiscalYear struct {
	// FirstMonth is the month in which the year starts, 1 to 12.
	FirstMonth time.Month
}

func init() {
	beam.RegisterType(reflect.TypeFor[FiscalYear]())
}

// AppendWindows implements windowfns.Fn.
func (f FiscalYear) AppendWindows(dst []windowfns.Window, tMs int64) []windowfns.Window {
	year, month, _ := time.UnixMilli(tMs).UTC().Date()
	if month < f.FirstMonth {
		year--
	}
	start := time.Date(year, f.FirstMonth, 1, 0, 0, 0, 0, time.UTC)
	return append(dst, windowfns.Window{
		StartMs: start.UnixMilli(),
		EndMs:   start.AddDate(1, 0, 0).UnixMilli(),
	})
}

// Validate implements windowfns.Fn.
func (f FiscalYear) Validate() error {
	if f.FirstMonth < time.January || f.FirstMonth > time.December {
		return fmt.Errorf("FiscalYear: FirstMonth = %d, want 1 to 12", int(f.FirstMonth))
	}
	return nil
}

// String implements windowfns.Fn.
func (f FiscalYear) String() string { return fmt.Sprintf("fiscal year(from %v)", f.FirstMonth) }

// A window function of one's own is a struct with exported fields and three
// methods, registered with Beam so that workers can receive it.
func ExampleFn() {
	var fn windowfns.Fn = FiscalYear{FirstMonth: time.April}
	fmt.Println(fn, fn.Validate())
	for _, w := range fn.AppendWindows(nil, at("2024-03-31T23:59:59Z")) {
		fmt.Println(show(w))
	}
	// Output:
	// fiscal year(from April) <nil>
	// [2023-04-01T00:00:00Z, 2024-04-01T00:00:00Z) 8784h0m0s
}
