package main

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"strings"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/pipelines"
)

const gmvUsage = `Sums money per key, currency and window, exactly: in minor units, in 128 bits.
Prints a row when a window is complete, and a corrected one when a late record
comes within the allowed lateness. What comes later goes to --late_output.

usage: tidemark gmv --input FILE --window 1h [flags]
       tidemark gmv --timeline FILE --window 1h [flags]`

// gmvFlags are the flags of tidemark gmv.
type gmvFlags struct {
	inputFlags
	windowFlags
	outputFlags
	runFlags

	fields   records.Fields
	key      string
	maxBytes int
	report   bool
}

func (g *gmvFlags) define(fs *flagSet) {
	g.inputFlags.define(fs)
	fs.section("Records", func() {
		fs.StringVar(&g.key, "key_field", "key", "the key's `field`; several, separated by commas, are joined with |; a dot reaches into nested JSON")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.Time, "time_field", "time", "the event time's `field`: an RFC 3339 string or an integer")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.TimeUnit, "time_unit", "ms", "the `unit` of times that are integers: ms, s, us or ns since the Unix epoch")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.Amount, "amount_field", "amount_cents", "the amount's `field`: a number or a string")
	})
	fs.section("", func() {
		fs.IntVar(&g.fields.AmountScale, "amount_scale", 0, "amounts have at most `N` decimals, and sums are in units of 10^-N (default 0: amounts are whole minor units)")
	})
	fs.section("", func() {
		fs.StringVar(&g.fields.Currency, "currency_field", "", "the currency's `field`; with it there is a sum for each currency")
	})
	fs.section("", func() {
		fs.IntVar(&g.maxBytes, "max_record_bytes", files.DefaultMaxRecordBytes, "longer records are bad, in `bytes`")
	})
	g.windowFlags.define(fs)
	g.outputFlags.define(fs)
	g.runFlags.define(fs)
	fs.section("", func() {
		fs.BoolVar(&g.report, "lateness_report", false, "instead of rows, print how late the records of --input are as a stream, in the order in which they stand there, with this --max_out_of_orderness:\nfor each --allowed_lateness worth a look, how many (record, window) pairs are late; --format table is for people")
	})
}

// fieldName is the name of a field of records.Fields at the start of an error.
var fieldName = regexp.MustCompile(`^([A-Za-z]+)(\[\d+\])?`)

// fieldFlags are the flags that set the fields.
var fieldFlags = map[string]string{
	"Key": "--key_field", "Time": "--time_field", "TimeUnit": "--time_unit",
	"Amount": "--amount_field", "AmountScale": "--amount_scale", "Currency": "--currency_field",
}

func runGMV(ctx context.Context, args []string) error {
	fs := newFlagSet("gmv", gmvUsage)
	var g gmvFlags
	g.define(fs)
	if err := fs.parse(args); err != nil {
		return err
	}

	// Everything is checked before anything is read or written.
	p := pipelines.GMV{MaxRecordBytes: g.maxBytes, Fields: g.fields}
	p.Fields.Key = strings.Split(g.key, ",")
	if err := p.Fields.Validate(); err != nil {
		at := fieldName.FindStringSubmatch(err.Error())
		return usagef("%s%s", fieldFlags[at[1]], err.Error()[len(at[0]):])
	}
	if fs.given("currency_field") && p.Fields.Currency == "" {
		return usagef("--currency_field is empty, want the name of a field: without one, amounts of all currencies are added")
	}
	if p.Fields.Amount == "" {
		return usagef("--amount_field is empty, want the name of a field")
	}
	if g.maxBytes < 1 {
		return usagef("--max_record_bytes = %d, want at least 1", g.maxBytes)
	}
	fn, err := g.windowFlags.fn(fs)
	if err != nil {
		return err
	}
	p.Config.Windows, p.Config.AllowedLateness = fn, g.lateness
	if err := g.inputFlags.check(fs, g.report); err != nil {
		return err
	}
	if err := g.checkReport(fs); err != nil {
		return err
	}
	if err := g.runFlags.check(g.timeline != ""); err != nil {
		return err
	}
	if p.Config.Shards, err = g.shardsFor(g.timeline != ""); err != nil {
		return err
	}
	in, err := g.inputFlags.resolve()
	if err != nil {
		return err
	}
	if g.report {
		return g.reportLateness(ctx, p, in, os.Stdout, os.Stderr)
	}
	p.Timeline, p.Script = in.steps, in.name
	outs, err := g.outputFlags.resolve(append(files.Paths(in.files), in.name), p.Fields.Currency != "")
	if err != nil {
		return err
	}

	how := g.release(in)
	if how.streamed() {
		if err := checkAppend(outs); err != nil {
			return err
		}
	}
	taken := append(files.Paths(in.files), in.name, g.output, g.late, g.bad)
	toMart, mart, err := g.martOutputs(taken)
	if err != nil {
		return err
	}
	name, err := g.jobName(fs, mart, "gmv", cmp.Or(g.timeline, g.input))
	if err != nil {
		return err
	}
	if mart != nil {
		mart.info.Job, mart.info.Command = name, strings.Join(append([]string{"gmv"}, args...), " ")
	}

	job := job{runFlags: g.runFlags, outlets: outlets{list: append(outs, toMart...), how: how, stdout: os.Stdout, mart: mart}, stderr: os.Stderr}
	return job.run(ctx, func(dir string) (build, error) {
		if g.stream {
			p.Stream = &files.StreamConfig{MaxOutOfOrderness: g.outOfOrder, FutureLimit: g.futureLimit}
			p.Files = in.open(os.Stdin)
		} else if p.Files, err = in.spool(dir, os.Stdin); err != nil {
			return nil, err // the input must be there for a second attempt
		}
		return func(s scope, to *outlets) error {
			p.Rows, p.Late, p.Bad, p.Counts = to.outlet("output"), to.outlet("late_output"), to.outlet("bad_output"), to.outlet(countsOutput)
			return p.Build(s)
		}, nil
	})
}

// checkReport checks what goes with --lateness_report.
func (g *gmvFlags) checkReport(fs *flagSet) error {
	if !g.report {
		return nil
	}
	for _, name := range []string{"timeline", "output", "late_output", "bad_output", "allowed_lateness", "drain", "job"} {
		if fs.given(name) {
			return usagef("--%s with --lateness_report, want one of them: the report runs no pipeline", name)
		}
	}
	if g.format != "json" && g.format != "table" {
		return usagef("--format %s with --lateness_report, want json or table", g.format)
	}
	return nil
}
