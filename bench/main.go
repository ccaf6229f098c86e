// Command bench measures Tidemark on the embedded Prism runner, or on a cluster.
//
//	go run ./bench                     GMV against a plain Beam Go pipeline
//	go run ./bench -endpoint localhost:8099 -parallelism 2
//	                                   the same on Flink, after deploy/flink/flink up
//	go run ./bench -case average       averages over the last 3 minutes, every minute, against
//	                                   a plain Beam Go pipeline
//	go run ./bench -case file          GMV from a file to rows on disk, against a plain loop
//	go run ./bench -case slide_file    the averages, from a file to rows on disk, against a plain
//	                                   loop
//	go run ./bench -case slices        averages over 24 hours, every minute, against those over 3
//	                                   minutes: what an element costs, and the memory
//	go run ./bench -case slices -growth 4
//	                                   also with 4 times the elements of the same keys and event
//	                                   time: what each further element costs, and what it does to
//	                                   the memory
//	go run ./bench -case join          an interval join against a plain Beam Go pipeline
//	go run ./bench -case join_file     the same from files to rows on disk, against a plain loop
//	go run ./bench -case join_hot -events 100000
//	                                   one key, and with twice the rows and as many matches
//	go run ./bench -case join_live -events 600000
//	                                   the memory of a join at the pace of the clock
//	go run ./bench -case gate          what the gate's memory of past windows costs
//	go run ./bench -case suspects      elements of ever new windows, nearly all too late
//
// Ratios are of medians from one run: absolute rates say as much about the
// machine as about the code. Of memory there is what collections of garbage
// found in use at most, and how much the process had from the system at most,
// both of the whole process: runner, source and sink too.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"tidemark/internal/cluster"
	"tidemark/internal/local"
)

// benchCase is something to measure. The fields behind about are the defaults
// of the flags where cases differ, zero where the case has no such flag.
type benchCase struct {
	name   string
	about  string
	run    func(context.Context, options) error
	window time.Duration
	keys   int64
	span   time.Duration // 10 ms an element, if zero
}

var cases = []benchCase{
	{name: "gmv", about: "GMV against plain Beam", run: gmvInMemory, window: time.Minute, keys: 10_000},
	{name: "average", about: "sliding averages against plain Beam", run: averageInMemory, window: 3 * time.Minute, keys: 10_000},
	{name: "file", about: "GMV from a file against a plain loop", run: gmvFromFile, window: time.Hour, keys: 10_000},
	{name: "slide_file", about: "sliding averages from a file against a plain loop", run: averageFromFile, window: 3 * time.Minute, keys: 10_000},
	{name: "slices", about: "long windows against short ones", run: longAgainstShort, window: 24 * time.Hour, keys: 1000, span: 10 * time.Minute},
	{name: "join", about: "an interval join against plain Beam", run: joinInMemory, window: time.Minute, keys: 10_000},
	{name: "join_file", about: "an interval join from files against a plain loop", run: joinFromFiles, window: time.Minute, keys: 10_000},
	{name: "join_hot", about: "an interval join on one key, and with twice the rows", run: hotKey, window: 2 * time.Hour, keys: 1},
	{name: "join_live", about: "the memory of an interval join at the pace of the clock", run: joinLive, window: 20 * time.Second, keys: 10_000, span: 10 * time.Minute},
	{name: "gate", about: "what the gate's memory costs", run: gateState, window: time.Minute},
	{name: "suspects", about: "late elements of ever new windows", run: suspects, window: time.Second},
}

// options are the flags of all cases.
type options struct {
	events, keys, chunk  int64
	span                 time.Duration
	window, period       time.Duration
	short                time.Duration
	lateness             time.Duration
	growth               int64
	plainRows            int64
	joinType             string
	rounds, shards       int
	only                 string
	days                 float64
	stepWindows          int64
	retention            time.Duration
	spread               time.Duration
	near, suspectsAtOnce int64
}

func (o *options) define(fs *flag.FlagSet) {
	fs.Int64Var(&o.events, "events", 1_000_000, "all but gate: elements to generate")
	fs.Int64Var(&o.keys, "keys", 0, "all but gate and suspects: companies; 0 is "+perCase(func(c benchCase) int64 { return c.keys }))
	fs.DurationVar(&o.span, "span", 0, "all but gate and suspects: event time that the elements cover; 0 is 10ms for each, but "+
		perCase(func(c benchCase) time.Duration { return c.span }))
	fs.Int64Var(&o.chunk, "chunk", 20_000, "gmv, average, slices: elements between two checkpoints of the source")
	fs.DurationVar(&o.window, "window", 0, "window size; 0 is "+perCase(func(c benchCase) time.Duration { return c.window }))
	fs.DurationVar(&o.period, "period", time.Minute, "average, slide_file, slices: event time between the starts of two windows; sizes are multiples of it")
	fs.DurationVar(&o.short, "short", 3*time.Minute, "slices: size of the windows that the others are compared with")
	fs.DurationVar(&o.lateness, "lateness", 2*time.Minute, "slide_file: allowed lateness")
	fs.Int64Var(&o.growth, "growth", 1, "slices: measure with this many times the elements, too")
	fs.IntVar(&o.rounds, "rounds", 3, "all but gate and suspects: runs of each pipeline, in turn; the medians are compared")
	fs.StringVar(&o.only, "only", "", "all but gate and suspects: run only the pipeline of this `name`")
	fs.IntVar(&o.shards, "shards", 0, "all but gate: shards of the aggregate; 0 is its default")
	fs.Int64Var(&o.plainRows, "plain_rows", 100_000, "join: rows of each side that the plain pipeline gets, at most")
	fs.StringVar(&o.joinType, "type", "inner", "join: its type")
	fs.Float64Var(&o.days, "days", 30, "gate: event time that passes")
	fs.Int64Var(&o.stepWindows, "step", 60, "gate: windows that a step of the watermark covers")
	fs.DurationVar(&o.retention, "retention", 0, "gate: its retention; 0 is for ever")
	fs.DurationVar(&o.spread, "spread", 30*24*time.Hour, "suspects: how far behind the watermark they lie")
	fs.Int64Var(&o.near, "near", 10, "suspects: how many of 100 have a window that ended within the last minute")
	fs.Int64Var(&o.suspectsAtOnce, "per_step", 5000, "suspects: elements between two steps of the watermark, of a minute each")
}

// perCase lists what the cases have, as in "1m0s for gmv, 1h0m0s for file".
func perCase[T comparable](of func(benchCase) T) string {
	var all []string
	for _, c := range cases {
		if v := of(c); v != *new(T) {
			all = append(all, fmt.Sprint(v, " for ", c.name))
		}
	}
	return strings.Join(all, ", ")
}

// within fills in the defaults of c and says what it cannot do.
func (o options) within(c benchCase) (options, error) {
	o.window, o.keys = cmp.Or(o.window, c.window), cmp.Or(o.keys, c.keys)
	o.span = cmp.Or(o.span, c.span, time.Duration(o.events)*10*time.Millisecond)
	switch {
	case o.events < 1 || o.keys < 1 && c.keys > 0 || o.rounds < 1 || o.growth < 1 || o.chunk < 1:
		return o, fmt.Errorf("-events %d, -keys %d, -rounds %d, -growth %d, -chunk %d, want at least 1 of each", o.events, o.keys, o.rounds, o.growth, o.chunk)
	case o.span < 0 || o.window < time.Millisecond || o.period < time.Millisecond:
		return o, fmt.Errorf("-span %v, -window %v, -period %v, want at least a millisecond of each", o.span, o.window, o.period)
	}
	return o, nil
}

func main() {
	var o options
	o.define(flag.CommandLine)
	var abouts []string
	for _, c := range cases {
		abouts = append(abouts, c.name+", "+c.about)
	}
	which := flag.String("case", "gmv", "what to measure: "+strings.Join(abouts, "; "))
	cpu := flag.String("cpuprofile", "", "`FILE` to write a CPU profile to")
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	// The plain pipelines get the same help against Prism's faults as ours.
	local.Prepare()
	stop, err := profile(*cpu)
	if err == nil {
		err = runCase(context.Background(), *which, o)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runCase(ctx context.Context, name string, o options) error {
	var names []string
	for _, c := range cases {
		names = append(names, c.name)
		if c.name != name {
			continue
		}
		o, err := o.within(c)
		if err == nil {
			err = c.run(ctx, o)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("-case %q, want one of %s", name, strings.Join(names, ", "))
}

// runPipeline runs p on Prism, or on the cluster whose job server Beam's flag -endpoint
// names, with the workers in this process.
func runPipeline(ctx context.Context, p *beam.Pipeline) (err error) {
	if *jobopts.Endpoint == "" {
		_, err := prism.Execute(ctx, p)
		return err
	}
	*jobopts.EnvironmentType = "LOOPBACK"
	// Flink keeps a job whose sources have ended, unless it is told not to.
	beam.PipelineOptions.Set("shutdown_sources_after_idle_ms", "0")
	beam.PipelineOptions.Set("checkpointing_interval", "-1")
	job, err := cluster.Submit(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	return job.Wait(ctx)
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
