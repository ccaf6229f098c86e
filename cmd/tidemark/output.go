package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/internal/tally"
	"tidemark/pipelines"
)

// outputFlags are the flags that say where rows go.
type outputFlags struct {
	output, late, bad string
	job, format       string

	pipe bool // a format is pipe
}

func (o *outputFlags) define(fs *flagSet, w words) {
	o.pipe = w.pipe
	fs.section("Output: - for standard output; a .ndjson or .csv file, written whole or not at all; sqlite:PATH, a mart (docs/mart.md).\nWith --stream, files are appended to", func() {
		fs.StringVar(&o.output, "output", "-", "where rows go: `URI`")
	})
	fs.section("", func() {
		fs.StringVar(&o.late, "late_output", "", w.late)
	})
	fs.section("", func() {
		fs.StringVar(&o.bad, "bad_output", "", w.bad)
	})
	fs.section("", func() {
		fs.StringVar(&o.job, "job", "", "`NAME` of the job in a mart: a run replaces the rows of the job's earlier runs (default: "+w.job+"; required for standard input)")
	})
	fs.section("", func() {
		fs.StringVar(&o.format, "format", "json", w.formats())
	})
}

// output is a checked output.
type output struct {
	flag   string
	target sink.Target // zero where lines go to the mart
	kind   mart.Kind
	format rows.Format
	layout sink.Layout

	implied bool // no flag asks for it
}

// layouts are what stands around the lines of a command's outputs. Bad records look
// the same everywhere.
type layouts struct {
	rows, late func(rows.Format) sink.Layout
}

// outputPlan is what a run means to write.
type outputPlan struct {
	how     release
	goOn    bool     // from a savepoint
	inputs  []string // paths, which no output may be
	around  layouts
	sources []string // what names the job in a mart, with the command, if nothing else does
	command string
	info    mart.RunInfo // without the job
}

// outlets checks where everything goes.
func (o *outputFlags) outlets(fs *flagSet, p outputPlan) (outlets, error) {
	out := outlets{how: p.how, stdout: os.Stdout}
	var err error
	if out.list, err = o.resolve(p.inputs, p.around); err != nil {
		return outlets{}, err
	}
	if out.how.streamed() {
		if err := checkAppend(out.list); err != nil {
			return outlets{}, err
		}
	}
	if err := checkElsewhere(out); err != nil {
		return outlets{}, err
	}
	toMart, to, err := o.martOutputs(p.info.Work, append(p.inputs, o.output, o.late, o.bad))
	if err != nil {
		return outlets{}, err
	}
	name, err := o.jobName(fs, to, p.command, p.sources)
	if err != nil {
		return outlets{}, err
	}
	if to == nil {
		return out, nil
	}
	to.info, to.goOn = p.info, p.goOn
	to.info.Job = name
	if err := mart.CheckJob(to.path, to.info); err != nil {
		return outlets{}, usagef("--job: %w", err)
	}
	out.list, out.mart = append(out.list, toMart...), to
	return out, nil
}

// resolve checks that the outputs can be written, and that none of them is
// another one or an input.
func (o *outputFlags) resolve(inputs []string, around layouts) ([]output, error) {
	var outs []output
	var targets []sink.Target
	for _, f := range []struct{ name, uri string }{{"output", o.output}, {"late_output", o.late}, {"bad_output", o.bad}} {
		if _, ok := mart.ParsePath(f.uri); ok || f.uri == "" && f.name != "output" {
			continue // see martOutputs
		}
		if strings.HasPrefix(strings.ToLower(f.uri), "sqlite:") {
			return nil, usagef("--%s %s, want sqlite:PATH", f.name, f.uri)
		}
		t, err := sink.ParseTarget(f.uri)
		if err == nil {
			err = t.Check()
		}
		if err != nil {
			return nil, usagef("--%s: %w", f.name, err)
		}
		outs = append(outs, o.dressed(f.name, t, around))
		if !t.IsStdout() { // several can be there
			targets = append(targets, t)
		}
	}
	if err := sink.CheckDistinct(targets...); err != nil {
		return nil, usageError{err}
	}
	for _, out := range outs {
		for _, in := range inputs {
			if out.target.SameFile(in) {
				return nil, usagef("--%s is the input %s, want another file", out.flag, in)
			}
		}
	}
	return outs, o.checkFormat()
}

// checkAppend checks that a stream can write behind what files hold.
func checkAppend(outs []output) error {
	for _, out := range outs {
		if err := sink.CheckAppend(out.target, out.layout); err != nil {
			return usagef("--%s: %w", out.flag, err)
		}
	}
	return nil
}

// checkElsewhere checks that workers in other processes can write, and that what
// only this process can do is done.
func checkElsewhere(out outlets) error {
	if !workersElsewhere() {
		return nil
	}
	for _, o := range out.list {
		switch {
		case out.how.streamed() && o.target.IsStdout():
			return usagef("--%s - with --stream and --environment_type %s, want a file or a mart: workers in other processes write the rows of streams",
				o.flag, *jobopts.EnvironmentType)
		case !out.how.streamed() && *jobopts.Async:
			return usagef("--async without --stream, want both: the rows of a batch are put in place when the job has ended")
		}
	}
	return nil
}

func (o *outputFlags) checkFormat() error {
	switch rows.Format(o.format) {
	case rows.JSON:
		return nil
	case rows.Pipe, rows.Table:
	default:
		if !o.pipe {
			return usagef("--format = %q, want json or table", o.format)
		}
		return usagef("--format = %q, want json, pipe or table", o.format)
	}
	if o.output != "-" {
		return usagef("--format %s with --output %s, want it for standard output: the name of a file says how its rows look", o.format, o.output)
	}
	return nil
}

// dressed is the output of a flag, with what stands around its lines.
func (o *outputFlags) dressed(flag string, t sink.Target, around layouts) output {
	out := output{flag: flag, target: t, format: rows.JSON}
	switch {
	case t.IsCSV():
		out.format = rows.CSV
	case flag == "output" && t.IsStdout():
		out.format = rows.Format(o.format)
	}
	switch flag {
	case "output":
		out.layout = around.rows(out.format)
	case "late_output":
		out.layout = around.late(out.format)
	default:
		out.layout = rows.BadLayout(out.format)
	}
	return out
}

// release says when rows leave a run, and where they go in a file.
type release int

const (
	// whole is for batch: all rows when the run has ended well, sorted, in place
	// of what the file held.
	whole release = iota
	// played is for timelines: as whole, in the order of arrival.
	played
	// behind is for streams of files: all rows when the run has ended, in the
	// order of arrival, behind what the file holds. A run that the runner lets
	// down can be started again.
	behind
	// live is for pipes, and for streams on a cluster: as they come.
	live
)

// outlets are the outputs of a run during one attempt at it.
type outlets struct {
	list   []output
	how    release
	stdout io.Writer
	mart   *martSink // nil if there is none

	number    int
	spools    map[string]*sink.Spool    // by flag; none where rows are live
	appenders map[string]*sink.Appender // by flag; for the whole run
	places    map[string]sink.Place     // by flag; of workers elsewhere
	done      string                    // a folder for what says that an output is written; none where empty
}

// outputs are those of a pipeline.
func (o *outlets) outputs() pipelines.Outputs {
	return pipelines.Outputs{
		Rows: o.outlet("output"), Late: o.outlet("late_output"), Bad: o.outlet("bad_output"), Counts: o.outlet(countsOutput),
	}
}

// streamed reports whether the input is a stream.
func (r release) streamed() bool { return r == behind || r == live }

func (o *outlets) id(flag string) string { return fmt.Sprintf("%s-%d", flag, o.number) }

// open readies the outputs for an attempt.
func (o *outlets) open(dir string, number int) error {
	// Workers of an attempt that failed may still be running: what they write
	// goes to an id that nobody asks for any more.
	o.number, o.spools = number, map[string]*sink.Spool{}
	if o.how.streamed() {
		if err := o.appendTo(); err != nil {
			return err
		}
	}
	if workersElsewhere() {
		return o.openElsewhere(dir)
	}
	for _, out := range o.list {
		if o.how == live {
			if out.target.IsZero() {
				sink.Open(o.id(out.flag), martReceiver{o.mart.run, out.kind})
			} else {
				sink.Open(o.id(out.flag), o.appenders[out.flag])
			}
			continue
		}
		sink.Open(o.id(out.flag), o.newSpool(dir, out))
	}
	return nil
}

// newSpool makes the spool of an output.
func (o *outlets) newSpool(dir string, out output) *sink.Spool {
	sp := sink.NewSpool(dir, o.how == whole || out.target.IsZero())
	if onCluster() && o.how == whole {
		sp.Once() // a bundle can be repeated
	}
	o.spools[out.flag] = sp
	return sp
}

// openElsewhere readies the outputs for workers in other processes: they write what
// streams put out, and leave what a batch puts out for this process to put in place.
func (o *outlets) openElsewhere(dir string) (err error) {
	o.places = map[string]sink.Place{}
	for _, out := range o.list {
		var p sink.Place
		switch {
		case o.how != live:
			o.newSpool(dir, out)
			p, err = sink.Parts{Dir: dir, Name: out.flag}.Place()
		case out.target.IsZero():
			p, err = o.mart.place(out.kind)
		default:
			p, err = sink.AppendPlace(out.target, out.layout)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
		o.places[out.flag] = p
	}
	return nil
}

// appendTo opens files for appending, once.
func (o *outlets) appendTo() error {
	if o.appenders != nil {
		return nil
	}
	o.appenders = map[string]*sink.Appender{}
	for _, out := range o.list {
		if out.target.IsZero() || o.how == behind && out.target.IsStdout() {
			continue
		}
		a, err := sink.NewAppender(out.target, out.layout, o.stdout)
		if err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
		o.appenders[out.flag] = a
	}
	return nil
}

// outlet is what the pipeline writes to for a flag.
func (o *outlets) outlet(flag string) pipelines.Outlet {
	i := slices.IndexFunc(o.list, func(out output) bool { return out.flag == flag })
	if i < 0 {
		return pipelines.Outlet{}
	}
	to := pipelines.Outlet{Format: o.list[i].format}
	if to.Place = o.places[flag]; to.Place.IsZero() {
		to.ID = o.id(flag)
	}
	if o.done != "" {
		to.Done = filepath.Join(o.done, flag)
	}
	return to
}

// abandon drops what an attempt has written.
func (o *outlets) abandon() {
	for _, out := range o.list {
		sink.Forget(o.id(out.flag))
		if sp := o.spools[out.flag]; sp != nil {
			_ = sp.Close()
		}
	}
}

// release lets the rows out. It is called when the run has ended well; a stream
// that was interrupted has.
func (o *outlets) release(counts *tally.Tally, interrupted bool) error {
	if err := o.collect(); err != nil {
		return err
	}
	for _, out := range o.list {
		if out.target.IsZero() {
			continue
		}
		if err := o.releaseOne(out); err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
	}
	if o.mart == nil {
		return nil
	}
	return o.mart.release(o, counts, interrupted)
}

// written reports whether all outputs say that they are written.
func (o *outlets) written() bool {
	for _, out := range o.list {
		if _, err := os.Stat(filepath.Join(o.done, out.flag)); o.done == "" || err != nil {
			return false
		}
	}
	return true
}

// collect gathers what workers elsewhere have left to be put in place.
func (o *outlets) collect() error {
	for flag, sp := range o.spools {
		if place := o.places[flag]; !place.IsZero() {
			var parts sink.Parts
			if err := json.Unmarshal([]byte(place.Config), &parts); err != nil {
				return err
			}
			if err := parts.CopyTo(sp); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	return nil
}

// detach leaves outputs to a job that goes on without this process.
func (o *outlets) detach() error {
	var errs []error
	for _, a := range o.appenders {
		errs = append(errs, a.Close())
	}
	if o.mart != nil {
		errs = append(errs, o.mart.mart.Close())
	}
	return errors.Join(errs...)
}

func (o *outlets) releaseOne(out output) error {
	sp, a := o.spools[out.flag], o.appenders[out.flag]
	switch {
	case o.how == live:
		return a.Close()
	case a != nil:
		if err := a.AddSpool(sp); err != nil {
			return err
		}
		return errors.Join(a.Close(), sp.Close())
	default:
		if err := sink.Commit(out.target, out.layout, sp, o.stdout); err != nil {
			return err
		}
		return sp.Close()
	}
}

// has reports whether an output was asked for by a flag.
func (o *outlets) has(flag string) bool {
	return slices.ContainsFunc(o.list, func(out output) bool { return out.flag == flag && !out.implied })
}
