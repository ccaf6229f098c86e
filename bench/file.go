package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/tidwall/gjson"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/sink"
	"tidemark/internal/tally"
	"tidemark/pipelines"
	"tidemark/windowfns"
)

// fromFile compares a pipeline from a file of orders to rows on disk with a loop
// that reads the same file with the same JSON library, keeps sums in a map and
// writes them: no watermark, no late data, no bad records, no state that could
// move.
func fromFile(ctx context.Context, orders, companies int64, size time.Duration, shards, rounds int) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in, out := filepath.Join(dir, "orders.ndjson"), filepath.Join(dir, "rows.ndjson")
	if err := writeOrders(in, orders, companies); err != nil {
		return err
	}
	g := pipelines.GMV{Source: pipelines.Source{
		Fields:         records.Fields{Key: []string{"company_id"}, Time: "created_at", TimeUnit: "ms", Amount: "amount_cents"},
		MaxRecordBytes: files.DefaultMaxRecordBytes,
		Files:          []files.File{{Path: in, Name: in}},
	}}
	g.Rows = pipelines.Outlet{ID: "rows"}
	g.Config.Windows, g.Config.Shards = windowfns.Tumbling{Size: size}, shards
	stream := g
	stream.Stream = &files.StreamConfig{MaxOutOfOrderness: 2 * time.Second}

	cases := []struct {
		name string
		run  func() (rows int64, err error)
	}{
		{"loop", func() (int64, error) { return loop(in, out, size.Milliseconds()) }},
		{"tidemark", func() (int64, error) { return toFile(ctx, g, dir, out, orders) }},
		{"tidemark-stream", func() (int64, error) { return toFile(ctx, stream, dir, out, orders) }},
	}
	rates := map[string][]float64{}
	for range rounds {
		for _, c := range cases {
			begin := time.Now()
			rows, err := c.run()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			rate := float64(orders) / time.Since(begin).Seconds()
			rates[c.name] = append(rates[c.name], rate)
			fmt.Printf("%-18s %9.0f orders/s  %d rows\n", c.name, rate, rows)
		}
	}
	for _, c := range cases {
		r := median(rates[c.name])
		fmt.Printf("%-18s %9.0f orders/s, the median of %d: %.2f x loop\n", c.name, r, rounds, r/median(rates["loop"]))
	}
	return nil
}

// writeOrders writes orders 10 ms apart and up to 2 s out of order.
func writeOrders(path string, orders, companies int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range orders {
		t := startMs + i*10 - i*7919%2000
		company := uint64(i) * 0x9E3779B97F4A7C15 % uint64(companies)
		if _, err := fmt.Fprintf(w, `{"order_id":"o%08d","company_id":"c%05d","created_at":%d,"amount_cents":%d,"currency":"EUR"}`+"\n",
			i, company, t, i*7%100_000); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// loop is the least that does the sums.
func loop(in, out string, sizeMs int64) (int64, error) {
	f, err := os.Open(in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	type total struct {
		key   string
		start int64
		sum   int64
		count int64
	}
	index := map[string]int{}
	var totals []total
	var cell []byte
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		v := gjson.GetManyBytes(lines.Bytes(), "company_id", "created_at", "amount_cents")
		start := v[1].Int() - v[1].Int()%sizeMs
		cell = binary.LittleEndian.AppendUint64(append(cell[:0], v[0].Str...), uint64(start))
		i, ok := index[string(cell)]
		if !ok {
			i = len(totals)
			index[string(cell)] = i
			totals = append(totals, total{key: v[0].Str, start: start})
		}
		totals[i].sum += v[2].Int()
		totals[i].count++
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	w, err := os.Create(out)
	if err != nil {
		return 0, err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	for _, t := range totals {
		if _, err := io.WriteString(b, `{"key":`+strconv.Quote(t.key)+`,"window_start":`+strconv.FormatInt(t.start, 10)+
			`,"sum":`+strconv.FormatInt(t.sum, 10)+`,"count":`+strconv.FormatInt(t.count, 10)+"}\n"); err != nil {
			return 0, err
		}
	}
	if err := b.Flush(); err != nil {
		return 0, err
	}
	return int64(len(totals)), w.Close()
}

// toFile runs a pipeline as the command does.
func toFile(ctx context.Context, g pipelines.GMV, dir, out string, orders int64) (int64, error) {
	spool := sink.NewSpool(dir, true)
	defer func() { _ = spool.Close() }()
	sink.Open("rows", spool)
	defer sink.Forget("rows")
	counts := tally.Start()
	p, s := beam.NewPipelineWithRoot()
	if err := g.Build(s); err != nil {
		return 0, err
	}
	if err := run(ctx, p); err != nil {
		return 0, err
	}
	if n := counts.Get(tally.Added); n != orders {
		return 0, fmt.Errorf("%d orders were added, want %d", n, orders)
	}
	target, err := sink.ParseTarget(out)
	if err != nil {
		return 0, err
	}
	return spool.Lines(), sink.Commit(target, sink.Layout{}, spool, nil)
}
