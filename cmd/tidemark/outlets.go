package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tidemark/connectors/sink"
	"tidemark/internal/tally"
	"tidemark/pipelines"
)

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

	// moving is how many bytes in front of the order of a row do not tell what it is about:
	// they can be others when a cluster begins a batch anew. See sink.Spool.OnceBehind.
	moving int

	number    int
	spools    map[string]*sink.Spool    // by flag; none where rows are live
	appenders map[string]*sink.Appender // by flag; for the whole run
	places    map[string]sink.Place     // by flag; of workers elsewhere
	parts     map[string]sink.Parts     // by flag; of what they leave to be put in place
	done      string                    // a folder for what says that an output is written; none where empty
	account   *account                  // of a job on a cluster that the command waits for
}

// outputs are those of a pipeline.
func (o *outlets) outputs() pipelines.Outputs {
	return pipelines.Outputs{
		Rows: o.outlet("output"), Late: o.outlet("late_output"), Bad: o.outlet("bad_output"), Counts: o.outlet(countsOutput),
		Totals: onCluster() || onDataflow(), Account: o.outlet(accountOutput),
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
		if err := o.openElsewhere(dir); err != nil {
			return err
		}
		return o.openAccount(dir)
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
	return o.openAccount(dir)
}

// newSpool makes the spool of an output.
func (o *outlets) newSpool(dir string, out output) *sink.Spool {
	sp := sink.NewSpool(dir, o.how == whole || out.target.IsZero())
	switch {
	case !onCluster() || o.how != whole: // a bundle comes once
	case out.flag == "output" && o.moving > 0:
		sp.OnceBehind(o.moving)
	default:
		sp.Once()
	}
	o.spools[out.flag] = sp
	return sp
}

// openElsewhere readies the outputs for workers in other processes: they write what
// streams put out, and leave what a batch puts out for this process to put in place.
func (o *outlets) openElsewhere(dir string) (err error) {
	o.places, o.parts = map[string]sink.Place{}, map[string]sink.Parts{}
	for _, out := range o.list {
		var p sink.Place
		switch {
		case o.how != live:
			o.newSpool(dir, out)
			o.parts[out.flag] = sink.Parts{Dir: dir, Name: out.flag}
			p, err = o.parts[out.flag].Place()
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
	var to pipelines.Outlet
	i := slices.IndexFunc(o.list, func(out output) bool { return out.flag == flag })
	switch {
	case i >= 0:
		to.Format = o.list[i].format
	case flag != accountOutput || o.account == nil:
		return to
	}
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
	if o.done == "" {
		return false
	}
	flags := []string{accountOutput}
	for _, out := range o.list {
		flags = append(flags, out.flag)
	}
	for _, flag := range flags {
		if _, err := os.Stat(filepath.Join(o.done, flag)); err != nil {
			return false
		}
	}
	return true
}

// collect gathers what workers elsewhere have left to be put in place.
func (o *outlets) collect() error {
	for flag, parts := range o.parts {
		if err := parts.CopyTo(o.spools[flag]); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
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
