package aggregate_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/testing/streamtest"
	"tidemark/transforms/aggregate"
	"tidemark/windowfns"
)

// Reading is the element of our pipeline; its timestamp is the event time.
type Reading struct {
	Station      string
	MilliCelsius int64
}

// MaxTemperature is an aggregator of our own: the highest temperature. Its
// accumulator is the temperature in eight bytes.
type MaxTemperature struct {
	// LimitMilliCelsius is what a thermometer can measure. A maximum above it
	// is reported instead of shown.
	LimitMilliCelsius int64
}

func init() {
	beam.RegisterType(reflect.TypeFor[Reading]())
	beam.RegisterType(reflect.TypeFor[MaxTemperature]())
}

// Lift implements aggregate.Aggregator.
func (m MaxTemperature) Lift(elem any, _ int64, key, acc []byte) ([]byte, []byte, error) {
	r := elem.(Reading)
	return append(key, r.Station...), binary.BigEndian.AppendUint64(acc, uint64(r.MilliCelsius)), nil
}

// Merge implements aggregate.Aggregator.
func (m MaxTemperature) Merge(dst, src []byte) ([]byte, error) {
	if temperature(src) > temperature(dst) {
		copy(dst, src)
	}
	return dst, nil
}

// Check implements aggregate.Aggregator.
func (m MaxTemperature) Check(total []byte) error {
	if temperature(total) > m.LimitMilliCelsius {
		return errors.New("broken thermometer")
	}
	return nil
}

func temperature(acc []byte) int64 { return int64(binary.BigEndian.Uint64(acc)) }

// The highest temperature of each station and day, in the days of a time zone.
func ExamplePerKey() {
	at := func(s string) int64 {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		return t.UnixMilli()
	}
	var readings streamtest.Timeline
	readings.At(at("2026-07-01T12:00:00+02:00"), Reading{"Jena", 24_300}).
		At(at("2026-07-01T15:00:00+02:00"), Reading{"Jena", 27_100}).
		At(at("2026-07-01T16:00:00+02:00"), Reading{"Gera", 990_000}).
		Watermark(at("2026-07-02T00:00:00+02:00")).
		At(at("2026-07-01T14:00:00+02:00"), Reading{"Jena", 28_000}) // comes late

	var rows, unshown *streamtest.Captured
	_, err := streamtest.TryRun(func(s beam.Scope) {
		cfg := aggregate.Config{
			Windows:         windowfns.Calendar{Unit: windowfns.Day, Zone: "Europe/Berlin"},
			AllowedLateness: time.Hour,
		}
		maxima, broken, _ := aggregate.PerKey(s, cfg, MaxTemperature{LimitMilliCelsius: 60_000}, readings.Create(s))
		rows, unshown = streamtest.Capture(s, maxima), streamtest.Capture(s, broken)
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	var lines []string
	for _, r := range streamtest.Values[aggregate.Row](rows) {
		hours := (r.EndMs - r.StartMs) / time.Hour.Milliseconds()
		lines = append(lines, fmt.Sprintf("%s, %d hours, %s: %.1f °C", r.Key, hours, r.Pane, float64(temperature(r.Total))/1000))
	}
	for _, u := range streamtest.Values[aggregate.Unshown](unshown) {
		lines = append(lines, fmt.Sprintf("%s, %s: %s", u.Key, u.Pane, u.Reason))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// Gera, ON_TIME: broken thermometer
	// Jena, 24 hours, LATE: 28.0 °C
	// Jena, 24 hours, ON_TIME: 27.1 °C
}
