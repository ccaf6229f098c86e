package main

import (
	"fmt"
	"testing"
)

// averageRow is the ON_TIME row of an hour of 1 June 2024.
func averageRow(key string, hour int, average, sum string, count int64, latest string) string {
	return fmt.Sprintf(`{"key":%q,"window_start":"2024-06-01T%02d:00:00Z","window_end":"2024-06-01T%02d:00:00Z","pane":"ON_TIME","revision":0,`+
		`"average":%s,"previous_average":null,"sum":%s,"count":%d,"previous_count":null,"max_event_time":"2024-06-01T%sZ"}`+"\n",
		key, hour, hour+1, average, sum, count, latest)
}

// TestAverage averages lines and rows of a table, bad ones among them, in batch
// and as a stream.
func TestAverage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.ndjson", `{"k":{"id":1},"time":"2024-06-01T08:00:00Z","v":1e300}
{"k":{"id":"1"},"time":"2024-06-01T08:00:02Z","v":"-1e300"}
{"k":{"id":1},"time":"2024-06-01T08:00:03Z","v":1}
{"k":{"id":1},"time":"2024-06-01T08:00:03Z","v":"NaN"}
{"k":{"id":1},"time":"2024-06-01T08:00:03Z","v":1e999}
`)
	write(t, dir, "b.csv", "k.id,time,v\n2,2024-06-01T08:59:00Z,0.1\n2,2024-06-01T08:59:01Z,0.2\n2,2024-06-01T09:00:00Z,Infinity\n")
	want := averageRow("1", 8, "0.3333333333333333", "1", 3, "08:00:03") + averageRow("2", 8, "0.15000000000000002", "0.30000000000000004", 2, "08:59:01")
	for _, mode := range [][]string{nil, {"--stream"}} {
		args := append([]string{"average", "--input", "[ab].*", "--window", "1h", "--key_field", "k.id", "--value_field", "v", "--bad_output", "bad.ndjson"}, mode...)
		r := succeed(t, dir, "", args...)
		same(t, "rows", want, sorted(t, lines(t, r.stdout)))
		if last := r.lastLine(); last != "read=8 bad=3 assigned=5 added=5 late=0" {
			t.Errorf("%v: %s", mode, last)
		}
	}
	table := succeed(t, dir, "", "average", "--input", "b.csv", "--window", "1h", "--key_field", "k.id", "--value_field", "v", "--format", "table", "--bad_output", "bad.csv")
	same(t, "table", "key  window_start          window_end            pane     revision              average  previous_average                  sum  count  previous_count  max_event_time\n"+
		"2    2024-06-01T08:00:00Z  2024-06-01T09:00:00Z  ON_TIME         0  0.15000000000000002                    0.30000000000000004      2                  2024-06-01T08:59:01Z\n", table.stdout)
}
