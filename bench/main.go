// Command bench measures Tidemark against plain Beam Go pipelines on the
// embedded Prism runner. It prints one line a case, with ratios from one run:
// absolute rates say as much about the machine as about the code.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
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
	events := flag.Int64("events", 1_000_000, "orders to generate")
	keys := flag.Int64("keys", 10_000, "companies")
	size := flag.Duration("window", time.Minute, "window size")
	rounds := flag.Int("rounds", 3, "runs of each case; the median counts")
	only := flag.String("only", "", "run only the case of this name")
	chunk := flag.Int64("chunk", 10_000, "orders between two checkpoints of the source")
	shards := flag.Int("shards", 0, "shards of the aggregate; 0 is its default")
	procs := flag.Int("procs", 4, "GOMAXPROCS")
	cpu := flag.String("cpuprofile", "", "file to write a CPU profile to")
	flag.Parse()
	beam.Init()
	if *cpu != "" {
		f, err := os.Create(*cpu)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		defer pprof.StopCPUProfile()
	}
	runtime.GOMAXPROCS(max(*procs, runtime.GOMAXPROCS(0)))
	local.Prepare()

	src := func() *ordersFn {
		return &ordersFn{Orders: *events, Companies: *keys, StepMs: 10, DisorderMs: 500, Chunk: *chunk}
	}
	cases := []struct {
		name  string
		build func(beam.Scope)
	}{
		{"plain", func(s beam.Scope) { plain(s, src(), *size) }},
		{"tidemark", func(s beam.Scope) { ours(s, src(), *size, *shards, true) }},
		{"tidemark-unmarked", func(s beam.Scope) { ours(s, src(), *size, *shards, false) }},
	}
	rates := map[string][]float64{}
	for range *rounds {
		for _, c := range cases {
			if *only != "" && *only != c.name {
				continue
			}
			rate, rows, minor, late, err := measure(context.Background(), *events, c.build)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			rates[c.name] = append(rates[c.name], rate)
			fmt.Printf("%-18s %9.0f events/s  rows=%d minor=%d late=%d\n", c.name, rate, rows, minor, late)
		}
	}
	base := median(rates["plain"])
	for _, c := range cases {
		if r := rates[c.name]; len(r) > 0 {
			fmt.Printf("%-18s median %9.0f events/s  %5.1f x plain\n", c.name, median(r), median(r)/base)
		}
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
