// Command bench measures Tidemark on the embedded Prism runner.
//
//	go run ./bench               GMV against a plain Beam Go pipeline
//	go run ./bench -case gate    what the gate's memory of past windows costs
//
// Ratios are of medians from one run: absolute rates say as much about the
// machine as about the code.
package main

import (
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
	which := flag.String("case", "gmv", "`gmv|gate`: throughput against plain Beam, or what the gate's memory costs")
	events := flag.Int64("events", 1_000_000, "gmv: orders to generate, 10 ms apart")
	keys := flag.Int64("keys", 10_000, "gmv: companies")
	size := flag.Duration("window", time.Minute, "window size")
	rounds := flag.Int("rounds", 3, "gmv: runs of each pipeline, in turn; the medians are compared")
	only := flag.String("only", "", "gmv: run only the pipeline of this `name`")
	chunk := flag.Int64("chunk", 20_000, "gmv: orders between two checkpoints of the source")
	shards := flag.Int("shards", 0, "gmv: shards of the aggregate; 0 is its default")
	days := flag.Float64("days", 30, "gate: event time that passes")
	step := flag.Int64("step", 60, "gate: windows that a step of the watermark covers")
	retention := flag.Duration("retention", 0, "gate: its retention; 0 is for ever")
	cpu := flag.String("cpuprofile", "", "`FILE` to write a CPU profile to")
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	// The plain pipelines get the same help against Prism's faults as ours.
	local.Prepare()
	stop, err := profile(*cpu)
	if err == nil {
		switch *which {
		case "gate":
			windows := int64(*days * float64(24*time.Hour) / float64(*size))
			err = gateState(context.Background(), windows, *step, *size, *retention)
		case "gmv":
			src := ordersFn{Orders: *events, Companies: *keys, StepMs: 10, DisorderMs: 500, Chunk: *chunk}
			err = compare(context.Background(), src, *size, *shards, *rounds, *only)
		default:
			err = fmt.Errorf("-case %q, want gmv or gate", *which)
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
