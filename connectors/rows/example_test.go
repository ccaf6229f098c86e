package rows_test

import (
	"fmt"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func ExampleAppendGMV() {
	row := gmv.Row{
		Key: "acme", StartMs: 1_563_955_440_000, EndMs: 1_563_955_500_000, Pane: "ON_TIME",
		Minor: 129_900, Count: 3, MaxTimeMs: new(int64(1_563_955_499_250)),
	}
	fmt.Printf("%s\n", rows.AppendGMV(nil, &row, false))
	// Output:
	// {"key":"acme","window_start":"2019-07-24T08:04:00Z","window_end":"2019-07-24T08:05:00Z","pane":"ON_TIME","revision":0,"sum":129900,"previous_sum":null,"count":3,"previous_count":null,"max_event_time":"2019-07-24T08:04:59.250Z"}
}

func ExampleAppendLate() {
	late := rows.Late{
		Event:  []byte(`{"key":"acme", "time":1563955441000, "amount_cents":250}` + "\r"),
		TimeMs: 1_563_955_441_000,
		Missed: []windowfns.Window{{StartMs: 1_563_955_440_000, EndMs: 1_563_955_500_000}},
		All:    true,
		Source: "orders.ndjson", Position: 17,
	}
	fmt.Printf("%s\n", rows.AppendLate(nil, &late))
	// Output:
	// {"event":{"key":"acme", "time":1563955441000, "amount_cents":250},"time":"2019-07-24T08:04:01Z","missed":[{"window_start":"2019-07-24T08:04:00Z","window_end":"2019-07-24T08:05:00Z"}],"missed_all":true,"source":"orders.ndjson","position":17}
}
