package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/internal/lateness"
	"tidemark/pipelines"
	"tidemark/windowfns"
)

// reportLateness prints how late the records of an input are, without running
// a pipeline.
func (g *aggregateFlags) reportLateness(ctx context.Context, src pipelines.Source, windows windowfns.Fn, in input, stdout, stderr io.Writer) error {
	report := lateness.New(windows, g.outOfOrder.Milliseconds())
	var read, bad int64
	future := time.Now().Add(g.futureLimit).UnixMilli()
	scan := func() error {
		return files.Scan(files.Config{Fields: src.Fields, MaxRecordBytes: src.MaxRecordBytes}, in.open("input", os.Stdin), func(v *records.Values, reason string) error {
			read++
			if reason == "" && g.futureLimit > 0 && v.TimeMs > future {
				reason = "ahead of the clock"
			}
			if reason != "" {
				bad++
				return nil
			}
			report.Add(v.TimeMs)
			return ctx.Err()
		})
	}
	if err := interruptible(ctx, scan); err != nil {
		if errors.Is(err, context.Canceled) {
			return errInterrupted
		}
		return err
	}
	text := g.latenessText(windows, report)
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stderr, "read=%d bad=%d assigned=%d\n", read, bad, report.Pairs()); err != nil {
		return err
	}
	if bad > 0 {
		return errBadRecords
	}
	return nil
}

func (g *aggregateFlags) latenessText(fn windowfns.Fn, report *lateness.Report) string {
	var b strings.Builder
	steps, pairs := report.Steps(), report.Pairs()
	if g.format == "json" {
		for _, s := range steps {
			fmt.Fprintf(&b, `{"allowed_lateness":%q,"late":%d,"assigned":%d}`+"\n", time.Duration(s.LatenessMs)*time.Millisecond, s.Late, pairs)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%d (record, window) pairs, windows: %v, max_out_of_orderness: %v\n", pairs, fn, g.outOfOrder)
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "--allowed_lateness\tlate\t%% of all\t\n") // into memory, as below
	for _, s := range steps {
		_, _ = fmt.Fprintf(w, "%v\t%d\t%.4g\t\n", time.Duration(s.LatenessMs)*time.Millisecond, s.Late, 100*float64(s.Late)/float64(max(pairs, 1)))
	}
	_ = w.Flush()
	return b.String() + table.String()
}
