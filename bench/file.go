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
	"tidemark/internal/flow"
	"tidemark/internal/tally"
	"tidemark/pipelines"
	"tidemark/windowfns"
)

// pipeline is one of package pipelines.
type pipeline interface {
	Build(s beam.Scope) error
}

// ordersSource is where the values of orders are in a file.
var ordersSource = pipelines.Source{
	Fields: records.Fields{
		Key: []string{"company_id"}, Time: "created_at", TimeUnit: "ms", Amount: "amount_cents", Value: "amount_cents",
	},
	MaxRecordBytes: files.DefaultMaxRecordBytes,
}

// gmvFromFile measures GMV from a file of orders to rows on disk.
func gmvFromFile(ctx context.Context, o options) error {
	windows := windowfns.Tumbling{Size: o.window}
	return fromFile(ctx, o, windows, 1, func(src pipelines.Source) pipeline {
		src.Fields.Value = ""
		g := pipelines.GMV{Source: src}
		g.Rows = pipelines.Outlet{To: sink.To{ID: "rows"}}
		g.Config.Windows, g.Config.Shards = windows, o.shards
		return g
	})
}

// averageFromFile measures averages over sliding windows from a file of orders
// to rows on disk.
func averageFromFile(ctx context.Context, o options) error {
	each, err := windowsEach(o.window, o.period)
	if err != nil {
		return err
	}
	windows := windowfns.Sliding{Size: o.window, Period: o.period}
	return fromFile(ctx, o, windows, each, func(src pipelines.Source) pipeline {
		src.Fields.Amount = ""
		a := pipelines.Average{Source: src}
		a.Rows = pipelines.Outlet{To: sink.To{ID: "rows"}}
		a.Config.Windows, a.Config.AllowedLateness, a.Config.Shards = windows, o.lateness, o.shards
		return a
	})
}

// fromFile compares a pipeline from a file of orders to rows on disk with a loop
// that reads the same file with the same JSON library, keeps sums in a map and
// writes them: no watermark, no late data, no bad records, no state that could
// move. An order has each windows.
func fromFile(ctx context.Context, o options, windows windowfns.Fn, each int64, of func(pipelines.Source) pipeline) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in, out := filepath.Join(dir, "orders.ndjson"), filepath.Join(dir, "rows.ndjson")
	if err := writeOrders(in, o); err != nil {
		return err
	}
	batch := ordersSource
	batch.Files = []files.File{{Path: in, Name: in}}
	stream := batch
	stream.Stream = &files.StreamConfig{MaxOutOfOrderness: fileDisorderMs * time.Millisecond}
	ours := func(src pipelines.Source) func() (outcome, error) {
		return func() (outcome, error) { return toFile(ctx, of(src), src.Stream == nil, dir, out) }
	}
	pairs := o.events * each
	_, err = contest(o,
		entrant{name: "loop", events: o.events, want: pairs, run: func() (outcome, error) { return loop(in, out, windows) }},
		entrant{name: "tidemark", events: o.events, want: pairs, run: ours(batch)},
		entrant{name: "tidemark-stream", events: o.events, want: pairs, run: ours(stream)},
	)
	return err
}

// fileDisorderMs is how far the orders of a file are out of order, at most.
const fileDisorderMs = 2000

// writeOrders writes orders that cover o.span of event time.
func writeOrders(path string, o options) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	step := int64(o.span) / o.events
	for i := range o.events {
		t := startMs + i*step/int64(time.Millisecond) - i*7919%fileDisorderMs
		if _, err := fmt.Fprintf(w, `{"order_id":"o%08d","company_id":"c%05d","created_at":%d,"amount_cents":%d,"currency":"EUR"}`+"\n",
			i, companyOf(i, o.keys), t, i*7%100_000); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// loop is the least that does the sums.
func loop(in, out string, windows windowfns.Fn) (outcome, error) {
	f, err := os.Open(in)
	if err != nil {
		return outcome{}, err
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
	var of []windowfns.Window
	var added int64
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		v := gjson.GetManyBytes(lines.Bytes(), "company_id", "created_at", "amount_cents")
		of = windows.AppendWindows(of[:0], v[1].Int())
		for _, w := range of {
			cell = binary.LittleEndian.AppendUint64(append(cell[:0], v[0].Str...), uint64(w.StartMs))
			i, ok := index[string(cell)]
			if !ok {
				i = len(totals)
				index[string(cell)] = i
				totals = append(totals, total{key: v[0].Str, start: w.StartMs})
			}
			totals[i].sum += v[2].Int()
			totals[i].count++
			added++
		}
	}
	if err := lines.Err(); err != nil {
		return outcome{}, err
	}
	w, err := os.Create(out)
	if err != nil {
		return outcome{}, err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	for _, t := range totals {
		if _, err := io.WriteString(b, `{"key":`+strconv.Quote(t.key)+`,"window_start":`+strconv.FormatInt(t.start, 10)+
			`,"sum":`+strconv.FormatInt(t.sum, 10)+`,"count":`+strconv.FormatInt(t.count, 10)+"}\n"); err != nil {
			return outcome{}, err
		}
	}
	if err := b.Flush(); err != nil {
		return outcome{}, err
	}
	return outcome{rows: int64(len(totals)), minor: added}, w.Close()
}

// onTheWay is as the command has it.
const onTheWay = 16 << 20

// toFile runs a pipeline as the command does, and returns what it has added: rows
// are sorted in batch, and in the order of arrival of a stream.
func toFile(ctx context.Context, pl pipeline, sorted bool, dir, out string) (outcome, error) {
	spool := sink.NewSpool(dir, sorted)
	defer func() { _ = spool.Close() }()
	sink.Open("rows", spool)
	defer sink.Forget("rows")
	counts := tally.Start()
	flow.Start(onTheWay)
	p, s := beam.NewPipelineWithRoot()
	if err := pl.Build(s); err != nil {
		return outcome{}, err
	}
	if err := runPipeline(ctx, p); err != nil {
		return outcome{}, err
	}
	target, err := sink.ParseTarget(out)
	if err != nil {
		return outcome{}, err
	}
	r := outcome{rows: spool.Lines(), minor: counts.Get(tally.Added), late: counts.Get(tally.Late)}
	return r, sink.Commit(target, sink.Layout{}, spool, nil)
}
