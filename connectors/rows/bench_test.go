package rows

import (
	"context"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"tidemark/connectors/files"
	"tidemark/transforms/average"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// benchRows are the rows of the benchmark and of the allocation test.
func benchRows() map[string]func(dst []byte) []byte {
	minor, count := int64(128_900), int64(16)
	row := gmv.Row{
		Key: "c-4711", Currency: "EUR", StartMs: 1_559_347_200_000, EndMs: 1_559_350_800_000, Pane: "LATE",
		Revision: 1, Minor: 129_900, PreviousMinor: &minor, Count: 17, PreviousCount: &count, MaxTimeMs: new(int64(1_559_350_799_123)),
	}
	mean, previous, sum, at := 21.375, 20.123456789, 363.375, int64(1_559_350_799_123)
	reading := average.Row{
		Key: "s-4711", StartMs: 1_559_347_200_000, EndMs: 1_559_350_800_000, Pane: "LATE",
		Revision: 1, Average: &mean, PreviousAverage: &previous, Sum: &sum, Count: 17, PreviousCount: &count, MaxTimeMs: &at,
	}
	overflow := gmv.Overflow{
		Key: "c-4711", Currency: "EUR", StartMs: 1_559_347_200_000, EndMs: 1_559_350_800_000, Pane: "LATE",
		Total: "9223372036854775808", Count: 17, Reason: "overflow: the sum 9223372036854775808 is outside int64",
	}
	event := []byte(`{"order_id":"o-1029384756","company_id":"c-4711","amount_cents":129900,"currency":"EUR","created_at":1559347200123}`)
	late := Late{
		Event: event, TimeMs: 1_559_347_200_123, Missed: []windowfns.Window{{StartMs: 1_559_347_200_000, EndMs: 1_559_350_800_000}},
		All: true, Source: "orders.ndjson", Position: 4711,
	}
	bad := Bad{Source: "orders.ndjson", Position: 4711, Raw: event, Reason: `field "amount_cents": missing, want a number or a string`}
	torn := bad
	torn.Raw = []byte("{\"name\":\"S\xe3o Paulo\"")
	pair := Joined{Key: "c-4711", Left: &files.Row{Source: "orders.ndjson", Position: 4711, Raw: event}, Right: &files.Row{Source: "payments.ndjson", Position: 4712, Raw: event}}
	lateJoin := JoinLate{Side: Left, Event: event, TimeMs: 1_559_347_200_123, Source: "orders.ndjson", Position: 4711}
	return map[string]func(dst []byte) []byte{
		"record":       func(dst []byte) []byte { return appendRecord(dst, 0, event) },
		"event":        func(dst []byte) []byte { return appendJSON(dst, 0, event) },
		"joined":       func(dst []byte) []byte { return AppendJoined(dst, 1_559_347_200_123, &pair) },
		"joined_mart":  func(dst []byte) []byte { return appendJoined(dst, Mart, 1_559_347_200_123, &pair) },
		"joined_csv":   func(dst []byte) []byte { return appendJoined(dst, CSV, 1_559_347_200_123, &pair) },
		"joined_order": func(dst []byte) []byte { return OrderJoined(dst, 1_559_347_200_123, &pair) },
		"late_join":    func(dst []byte) []byte { return AppendJoinLate(dst, &lateJoin) },

		"gmv":      func(dst []byte) []byte { return AppendGMV(dst, &row, true) },
		"average":  func(dst []byte) []byte { return AppendAverage(dst, &reading) },
		"overflow": func(dst []byte) []byte { return AppendOverflow(dst, &overflow, true) },
		"late":     func(dst []byte) []byte { return AppendLate(dst, &late) },
		"bad":      func(dst []byte) []byte { return AppendBad(dst, &bad) },
		"torn":     func(dst []byte) []byte { return AppendBad(dst, &torn) },
		"order":    func(dst []byte) []byte { return OrderGMV(dst, &row) },
		"position": func(dst []byte) []byte { return OrderRecord(dst, late.Source, late.Position) },
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, add := range benchRows() {
		b.Run("row="+name, func(b *testing.B) {
			b.ReportAllocs()
			buf := add(nil)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				buf = add(buf[:0])
			}
		})
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for name, add := range benchRows() {
		buf := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(100, func() { buf = add(buf[:0]) }); n != 0 {
			t.Errorf("%s: %v allocations a row, want 0", name, n)
		}
	}
}

// BenchmarkJoinLines packs pairs of records of 114 bytes.
func BenchmarkJoinLines(b *testing.B) {
	event := []byte(`{"order_id":"o-1029384756","company_id":"c-4711","amount_cents":129900,"currency":"EUR","created_at":1559347200123}`)
	left, right := files.Row{Source: "orders.ndjson", Position: 4711, Raw: event}, files.Row{Source: "payments.ndjson", Position: 4712, Raw: event}
	for _, format := range []Format{JSON, Mart, CSV} {
		for name, j := range map[string]Joined{"pair": {"c-4711", &left, &right}, "left": {Key: "c-4711", Left: &left}} {
			b.Run("format="+string(format)+"/row="+name, func(b *testing.B) {
				b.ReportAllocs()
				fn := &joinLinesFn{Format: format, LeftDueMs: 1000}
				emit := func(beam.EventTime, []byte) {}
				fn.Setup()
				fn.StartBundle(emit)
				ctx := context.Background()
				for b.Loop() {
					fn.ProcessElement(ctx, mtime.Time(1_559_347_200_123), j, emit)
				}
			})
		}
	}
}
