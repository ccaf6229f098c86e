// Command bench measures Tidemark on the embedded Prism runner.
//
//	go run ./bench               GMV against a plain Beam Go pipeline
//	go run ./bench -case file    GMV from a file to rows on disk, against a plain loop
//	go run ./bench -case gate    what the gate's memory of past windows costs
//	go run ./bench -case suspects
//	                             elements of ever new windows, nearly all too late
//
// Ratios are of medians from one run: absolute rates say as much about the
// machine as about the code.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"tidemark/internal/local"
)

func run(ctx context.Context, p *beam.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

func main() {
	which := flag.String("case", "gmv", "`gmv|file|gate|suspects`: throughput against plain Beam, from a file against a plain loop, what the gate's memory costs, or late elements of ever new windows")
	events := flag.Int64("events", 1_000_000, "gmv, file, suspects: elements to generate")
	keys := flag.Int64("keys", 10_000, "gmv, file: companies")
	size := flag.Duration("window", 0, "window size; 0 is 1m, 1h for file, 1s for suspects")
	rounds := flag.Int("rounds", 3, "gmv, file: runs of each pipeline, in turn; the medians are compared")
	only := flag.String("only", "", "gmv: run only the pipeline of this `name`")
	chunk := flag.Int64("chunk", 20_000, "gmv: orders between two checkpoints of the source")
	shards := flag.Int("shards", 0, "gmv: shards of the aggregate; 0 is its default")
	days := flag.Float64("days", 30, "gate: event time that passes")
	step := flag.Int64("step", 60, "gate: windows that a step of the watermark covers")
	retention := flag.Duration("retention", 0, "gate: its retention; 0 is for ever")
	spread := flag.Duration("spread", 30*24*time.Hour, "suspects: how far behind the watermark they lie")
	near := flag.Int64("near", 10, "suspects: how many of 100 have a window that ended within the last minute")
	perStep := flag.Int64("per_step", 5000, "suspects: elements between two steps of the watermark, of a minute each")
	cpu := flag.String("cpuprofile", "", "`FILE` to write a CPU profile to")
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	// The plain pipelines get the same help against Prism's faults as ours.
	local.Prepare()
	stop, err := profile(*cpu)
	if err == nil {
		if *size == 0 {
			*size = map[string]time.Duration{"file": time.Hour, "suspects": time.Second}[*which]
			*size = cmp.Or(*size, time.Minute)
		}
		switch *which {
		case "suspects":
			src := suspectsFn{Suspects: *events, Chunk: *perStep, Near: *near, SpreadMs: spread.Milliseconds(), SizeMs: size.Milliseconds()}
			err = suspects(context.Background(), src, *shards)
		case "file":
			err = fromFile(context.Background(), *events, *keys, *size, *shards, *rounds)
		case "gate":
			windows := int64(*days * float64(24*time.Hour) / float64(*size))
			err = gateState(context.Background(), windows, *step, *size, *retention)
		case "gmv":
			src := ordersFn{Orders: *events, Companies: *keys, StepMs: 10, DisorderMs: 500, Chunk: *chunk}
			err = compare(context.Background(), src, *size, *shards, *rounds, *only)
		default:
			err = fmt.Errorf("-case %q, want gmv, file, gate or suspects", *which)
		}
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// profile writes a CPU profile to path, if it is not empty, until stop is called.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}, nil
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
