package main

import (
	"context"
	"os"
	"regexp"
	"strings"

	"tidemark/connectors/files"
	"tidemark/connectors/mart"
	"tidemark/connectors/records"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/pipelines"
	"tidemark/transforms/aggregate"
	"tidemark/windowfns"
)

// aggregateFlags are the flags of commands that aggregate records per key and
// window.
type aggregateFlags struct {
	inputFlags
	windowFlags
	outputFlags
	runFlags

	fields   records.Fields
	key      string
	maxBytes int
	report   bool
}

// kind is what is particular about a command that aggregates.
type kind struct {
	name  string
	usage string

	// define adds the flags that are the command's own, and check checks them.
	define func(g *aggregateFlags, fs *flagSet)
	check  func(g *aggregateFlags, fs *flagSet) error

	// layout is what stands around its rows, pipe says whether --format has it.
	pipe   bool
	layout func(f rows.Format, g *aggregateFlags) sink.Layout

	// build adds the pipeline.
	build func(s scope, src pipelines.Source, out pipelines.Outputs, cfg aggregate.Config) error

	// work is what it is to a mart.
	work mart.Work
}

func (g *aggregateFlags) define(fs *flagSet, k *kind) {
	w := aggregateWords
	w.pipe = k.pipe
	g.inputFlags.define(fs, w)
	fs.section("Records", func() {
		fs.StringVar(&g.key, "key_field", "key", "the key's `field`; several, separated by commas, are joined with |; a dot reaches into nested JSON")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.Time, "time_field", "time", "the event time's `field`: an RFC 3339 string or an integer")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.TimeUnit, "time_unit", "ms", "the `unit` of times that are integers: ms, s, us or ns since the Unix epoch")
	})
	k.define(g, fs)
	fs.section("", func() {
		fs.IntVar(&g.maxBytes, "max_record_bytes", files.DefaultMaxRecordBytes, "longer records are bad, in `bytes`")
	})
	g.windowFlags.define(fs)
	g.outputFlags.define(fs, w)
	g.runFlags.define(fs, w)
	fs.section("", func() {
		fs.BoolVar(&g.report, "lateness_report", false, "instead of rows, print how late the records of --input are as a stream, in the order in which they stand there, with this --max_out_of_orderness:\nfor each --allowed_lateness worth a look, how many (record, window) pairs are late; --format table is for people")
	})
}

// fieldName is the name of a field of records.Fields at the start of an error.
var fieldName = regexp.MustCompile(`^([A-Za-z]+)(\[\d+\])?`)

// fieldFlags are the flags that set the fields.
var fieldFlags = map[string]string{
	"Key": "--key_field", "Time": "--time_field", "TimeUnit": "--time_unit",
	"Amount": "--amount_field", "AmountScale": "--amount_scale", "Currency": "--currency_field", "Value": "--value_field",
}

// run runs the command.
func (k *kind) run(ctx context.Context, args []string) error {
	fs := newFlagSet(k.name, k.usage)
	var g aggregateFlags
	g.define(fs, k)
	if err := fs.parse(args); err != nil {
		return err
	}

	// Everything is checked before anything is read or written.
	g.fields.Key = strings.Split(g.key, ",")
	src := pipelines.Source{MaxRecordBytes: g.maxBytes, Fields: g.fields}
	if err := src.Fields.Validate(); err != nil {
		at := fieldName.FindStringSubmatch(err.Error())
		return usagef("%s%s", fieldFlags[at[1]], err.Error()[len(at[0]):])
	}
	if err := k.check(&g, fs); err != nil {
		return err
	}
	if g.maxBytes < 1 {
		return usagef("--max_record_bytes = %d, want at least 1", g.maxBytes)
	}
	cfg, err := g.windowFlags.config(fs)
	if err != nil {
		return err
	}
	if err := g.inputFlags.check(fs, g.report); err != nil {
		return err
	}
	if err := g.checkReport(fs); err != nil {
		return err
	}
	if err := g.checkRows(fs); err != nil {
		return err
	}
	if err := g.runFlags.check(g.timeline != ""); err != nil {
		return err
	}
	if cfg.Shards, err = g.shardsFor(g.timeline != ""); err != nil {
		return err
	}
	in, err := g.inputFlags.resolve()
	if err != nil {
		return err
	}
	if err := g.checkInputs(g.stream, in); err != nil {
		return err
	}
	if g.report {
		return g.reportLateness(ctx, src, cfg.Windows, in, os.Stdout, os.Stderr)
	}
	src.Timeline, src.Script = in.steps, in.name
	outs, err := g.outputs(fs, k, cfg.Windows, in, args)
	if err != nil {
		return err
	}

	job := job{runFlags: g.runFlags, outlets: outs, stderr: os.Stderr, command: k.name}
	return job.run(ctx, func(dir string) (build, error) {
		if g.stream {
			src.Stream = &files.StreamConfig{MaxOutOfOrderness: g.outOfOrder, FutureLimit: g.futureLimit}
			src.Stream.BundleBytes, src.Stream.Pause = g.bundles()
			src.Files = in.open("input", os.Stdin)
		} else if src.Files, err = in.spool(dir, "input", os.Stdin); err != nil {
			return nil, err // the input must be there for a second attempt
		}
		return func(s scope, to *outlets) error {
			return k.build(s, src, to.outputs(), cfg)
		}, nil
	})
}

// outputs checks where everything goes.
func (g *aggregateFlags) outputs(fs *flagSet, k *kind, windows windowfns.Fn, in input, args []string) (outlets, error) {
	_, sessions := windows.(windowfns.Session)
	return g.outputFlags.outlets(fs, outputPlan{
		how:     g.release(in),
		goOn:    g.savepoint != "",
		inputs:  append(files.Paths(in.files), in.name),
		around:  layouts{rows: func(f rows.Format) sink.Layout { return k.layout(f, g) }, late: rows.LateLayout},
		sources: sourcesOf(g.timeline, g.input),
		command: k.name,
		info:    mart.RunInfo{Command: strings.Join(append([]string{k.name}, args...), " "), Work: k.work, Sessions: sessions},
	})
}

// checkReport checks what goes with --lateness_report.
func (g *aggregateFlags) checkReport(fs *flagSet) error {
	if !g.report {
		return nil
	}
	for _, name := range []string{"timeline", "output", "late_output", "bad_output", "allowed_lateness", "early_count", "early_delay", "final_rows", "drain", "job", "dry_run"} {
		if fs.given(name) {
			return usagef("--%s with --lateness_report, want one of them: the report runs no pipeline", name)
		}
	}
	if g.format != "json" && g.format != "table" {
		return usagef("--format %s with --lateness_report, want json or table", g.format)
	}
	return nil
}

// checkRows checks what goes with flags that ask for further rows.
func (g *aggregateFlags) checkRows(fs *flagSet) error {
	if fs.given("early_delay") && !g.stream && g.timeline == "" {
		return usagef("--early_delay without --stream, want both, or a timeline: the rows of a batch come when it has ended")
	}
	if g.format != string(rows.Pipe) {
		return nil
	}
	// A line of it is taken for the total of the window that begins there.
	for _, name := range []string{"early_count", "early_delay", "final_rows"} {
		if fs.given(name) {
			return usagef("--format pipe with --%s, want json or table: it has no place for the pane", name)
		}
	}
	if fs.given("session_gap") {
		return usagef("--format pipe with --session_gap, want json or table: it has no place for the end of a session")
	}
	return nil
}
