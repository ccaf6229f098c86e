package main

import (
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
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
	if out.how.streamed() && !onDataflow() {
		if err := checkAppend(out.list); err != nil {
			return outlets{}, err
		}
	}
	toMart, to, err := o.martOutputs(p.info.Work, append(p.inputs, o.output, o.late, o.bad))
	if err != nil {
		return outlets{}, err
	}
	name, err := o.jobName(fs, to, p.command, p.sources)
	if err != nil {
		return outlets{}, err
	}
	out.list = append(out.list, toMart...)
	if err := checkElsewhere(out); err != nil {
		return outlets{}, err
	}
	if to == nil || onDataflow() {
		return out, nil
	}
	to.info, to.goOn = p.info, p.goOn
	to.info.Job = name
	if err := mart.CheckJob(to.path, to.info); err != nil {
		return outlets{}, usagef("--job: %w", err)
	}
	out.mart = to
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
		if err == nil && !onDataflow() {
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
