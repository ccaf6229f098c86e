//go:build flink

package flink

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidemark/internal/tally"
	"tidemark/testing/streamtest"
)

// fakeFlink answers as Flink's REST interface does, for a job whose rows come from
// a fold in two parts.
type fakeFlink struct {
	watermarks [2]string // empty where the part has none yet
}

func (f *fakeFlink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/jobs/overview":
		_, _ = fmt.Fprint(w, `{"jobs": [{"jid": "other", "name": "another"}, {"jid": "j", "name": "mine"}]}`)
	case path == "/jobs/j":
		_, _ = fmt.Fprint(w, `{"vertices": [
			{"id": "in", "name": "Source: Impulse", "parallelism": 1},
			{"id": "no", "name": "[3]rows/sink.Write/{sink.noLines, Flatten, sink.writeFn}", "parallelism": 2},
			{"id": "fold", "name": "[9]{gmv.PerKey, rows, bad}", "parallelism": 2},
			{"id": "end", "name": "rows/sink.Write/CoGBK -> [1]rows/sink.Write/sink.doneFn", "parallelism": 2}],
			"plan": {"nodes": [{"id": "end", "inputs": [{"id": "fold"}, {"id": "no"}]}, {"id": "no", "inputs": [{"id": "in"}]}]}}`)
	case strings.HasPrefix(path, "/jobs/j/vertices/fold/metrics"):
		var all []string
		for i, v := range f.watermarks {
			id := fmt.Sprintf("%d.[9]{gmv_PerKey__rows__bad}.%s", i, ofFold)
			if get := r.URL.Query().Get("get"); v != "" && (get == "" || strings.Contains(get, id)) {
				all = append(all, fmt.Sprintf(`{"id": %q, "value": %q}`, id, v))
			}
		}
		_, _ = fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
	default:
		http.NotFound(w, r)
	}
}

// TestThrough tells what has gone through from what has not.
func TestThrough(t *testing.T) {
	var flink fakeFlink
	server := httptest.NewServer(&flink)
	defer server.Close()
	d := &conductor{
		metrics:  &metrics{base: server.URL, name: "mine", metric: ofFold},
		assigned: []int64{1, 4}, counts: tally.Start(), rows: &lines{},
	}
	start := streamtest.Progress{WatermarkMs: math.MinInt64}
	one, two := streamtest.Progress{Elements: 1, WatermarkMs: 60_500}, streamtest.Progress{Elements: 2, WatermarkMs: 60_500}
	count := func(k tally.Kind, n int64) func() { return func() { d.counts.Inc(t.Context(), k, n) } }
	parts := func(a, b string) func() { return func() { flink.watermarks = [2]string{a, b} } }
	for _, c := range []struct {
		what string
		do   func()
		p    streamtest.Progress
		want bool
	}{
		{"nothing was played", func() {}, start, true},
		{"an element is under way", func() {}, one, false},
		{"it is assigned", count(tally.Assigned, 1), one, false},
		{"it is added, and nobody knows the watermark", count(tally.Added, 1), one, false},
		{"one part knows it", parts("60000", ""), one, false},
		{"one part is 1 ms behind", parts("60000", "59999"), one, false},
		{"both are at the whole second", parts("60000", "60000"), one, true},
		{"the next element is under way", func() {}, two, false},
		{"its pairs are assigned", count(tally.Assigned, 3), two, false},
		{"some are added", count(tally.Added, 2), two, false},
		{"the last one is late", count(tally.Late, 1), two, true},
		{"a row is missing", func() { d.besides = func(_, rows int) bool { return rows > 0 } }, two, false},
		{"it is there", func() { d.rows.all = []string{"row"} }, two, true},
		{"a part has begun anew", parts("", "60000"), two, false},
	} {
		c.do()
		if got := d.ask(c.p); got != c.want {
			t.Errorf("%s: %v, want %v: %v", c.what, got, c.want, d)
		}
	}
}
