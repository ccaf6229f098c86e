package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/sink"
	"tidemark/pipelines"
)

// joinFromFiles compares a join of orders with payments, from files to rows on disk,
// with a loop that reads the same files with the same JSON library, keeps all
// payments in a map, and writes the pairs: no watermark, no late data, no state that
// is ever let go.
func joinFromFiles(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	orders, payments, out := filepath.Join(dir, "orders.ndjson"), filepath.Join(dir, "payments.ndjson"), filepath.Join(dir, "rows.ndjson")
	if err := writeOrders(orders, o); err != nil {
		return err
	}
	if err := writePayments(payments, o); err != nil {
		return err
	}
	batch := pipelines.Join{PairSource: pipelines.PairSource{
		Left:           pipelines.Side{Fields: records.Fields{Key: []string{"company_id"}, Time: "created_at", TimeUnit: "ms"}, Files: []files.File{{Path: orders, Name: orders}}},
		Right:          pipelines.Side{Fields: records.Fields{Key: []string{"company_id"}, Time: "paid_at", TimeUnit: "ms"}, Files: []files.File{{Path: payments, Name: payments}}},
		MaxRecordBytes: files.DefaultMaxRecordBytes,
	}}
	batch.Config.Upper, batch.Config.Shards = o.window, o.shards
	batch.Rows = pipelines.Outlet{To: sink.To{ID: "rows"}}
	stream := batch
	stream.Stream = &files.PairConfig{MaxOutOfOrderness: fileDisorderMs * time.Millisecond}
	ours := func(j pipelines.Join) func() (outcome, error) {
		return func() (outcome, error) { return toFile(ctx, j, j.Stream == nil, dir, out) }
	}
	all := 2 * o.events
	_, err = contest(o,
		entrant{name: "loop", events: all, want: all, run: func() (outcome, error) { return joinLoop(orders, payments, out, o.window) }},
		entrant{name: "tidemark", events: all, want: all, run: ours(batch)},
		entrant{name: "tidemark-stream", events: all, want: all, run: ours(stream)},
	)
	return err
}

// writePayments writes a payment for each order, up to o.window after it, nearly in
// their order.
func writePayments(path string, o options) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	step := int64(o.span) / o.events
	window := o.window.Milliseconds()
	type payment struct{ paid, order int64 }
	var waiting []payment // of orders that were written so far, by time
	flush := func(until int64) error {
		n := 0
		for ; n < len(waiting) && waiting[n].paid <= until; n++ {
			p := waiting[n]
			if _, err := fmt.Fprintf(w, `{"company_id":"c%05d","paid_at":%d,"payment_id":"p%08d"}`+"\n", companyOf(p.order, o.keys), p.paid, p.order); err != nil {
				return err
			}
		}
		waiting = slices.Delete(waiting, 0, n)
		return nil
	}
	for i := range o.events {
		t := startMs + i*step/int64(time.Millisecond) - i*7919%fileDisorderMs
		waiting = append(waiting, payment{t + i*7907%(window+1), i})
		if i%1000 == 0 || i == o.events-1 {
			slices.SortFunc(waiting, func(a, b payment) int { return int(a.paid - b.paid) })
			until := t - fileDisorderMs
			if i == o.events-1 {
				until += 2 * (window + fileDisorderMs)
			}
			if err := flush(until); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// joinLoop is the least that finds the pairs.
func joinLoop(orders, payments, out string, upper time.Duration) (outcome, error) {
	type payment struct {
		at  int64
		raw string
	}
	byCompany := map[string][]payment{}
	var r outcome
	err := eachLine(payments, func(b []byte) error {
		v := gjson.GetManyBytes(b, "company_id", "paid_at")
		byCompany[v[0].Str] = append(byCompany[v[0].Str], payment{v[1].Int(), string(b)})
		r.minor++
		return nil
	})
	if err != nil {
		return r, err
	}
	for _, of := range byCompany {
		slices.SortFunc(of, func(a, b payment) int { return int(a.at - b.at) })
	}
	w, err := os.Create(out)
	if err != nil {
		return r, err
	}
	to := bufio.NewWriterSize(w, 1<<16)
	var row []byte
	err = eachLine(orders, func(b []byte) error {
		v := gjson.GetManyBytes(b, "company_id", "created_at")
		of, at := byCompany[v[0].Str], v[1].Int()
		i, _ := slices.BinarySearchFunc(of, at, func(p payment, at int64) int { return int(p.at - at) })
		for ; i < len(of) && of[i].at <= at+upper.Milliseconds(); i++ {
			row = append(row[:0], `{"key":"`...)
			row = append(append(append(append(row, v[0].Str...), `","left":`...), b...), `,"right":`...)
			row = append(append(row, of[i].raw...), `,"time":`...)
			row = append(strconv.AppendInt(row, of[i].at, 10), "}\n"...)
			if _, err := to.Write(row); err != nil {
				return err
			}
			r.rows++
		}
		r.minor++
		return nil
	})
	if err != nil {
		return r, err
	}
	if err := to.Flush(); err != nil {
		return r, err
	}
	return r, w.Close()
}

func eachLine(path string, f func([]byte) error) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
