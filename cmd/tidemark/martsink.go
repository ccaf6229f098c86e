package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/internal/paths"
	"tidemark/internal/tally"
)

// countsOutput names the output of window counts, which no flag asks for: a mart
// always has them, of all that has windows.
const countsOutput = "window_counts"

// martPatience is how long a run waits for others that write to its mart.
var martPatience = mart.Patience

// martSink is the mart of a run.
type martSink struct {
	path string
	info mart.RunInfo

	goOn bool // with the job's newest run

	mart *mart.Mart
	run  *mart.Run
}

// martOutputs are the outputs that go to a mart, and the mart; nil if there is
// none. What is asked for nowhere goes to the mart that the rows go to.
func (o *outputFlags) martOutputs(work mart.Work, taken []string) (outs []output, to *martSink, err error) {
	_, all := mart.ParsePath(o.output)
	for _, f := range []struct {
		flag, uri string
		kind      mart.Kind
	}{{"output", o.output, mart.Rows}, {"late_output", o.late, mart.Late}, {"bad_output", o.bad, mart.Bad}} {
		out := output{flag: f.flag, kind: f.kind, format: rows.Mart}
		path, ok := mart.ParsePath(f.uri)
		switch {
		case !ok && f.uri == "" && all:
			out.implied = true
		case !ok:
			continue
		case to == nil:
			if !onDataflow() {
				err = mart.Check(path)
			}
			if err != nil {
				return nil, nil, usagef("--%s: %w", f.flag, err)
			}
			to = &martSink{path: path}
		case !sink.SameFile(path, to.path):
			return nil, nil, usagef("--%s %s: want one mart, and there is %s already", f.flag, f.uri, to.path)
		}
		outs = append(outs, out)
	}
	if to == nil {
		return nil, nil, nil
	}
	for _, path := range taken {
		if path != "" && path != "-" && sink.SameFile(to.path, path) {
			return nil, nil, usagef("the mart %s is another file of this run, want a file of its own", to.path)
		}
	}
	if work != mart.Join {
		counts := output{flag: countsOutput, kind: mart.Counts, format: rows.Mart, implied: true}
		if onCluster() {
			counts.kind = mart.Totals
		}
		outs = append(outs, counts)
	}
	return outs, to, nil
}

// jobName is the name of the job in a mart: the one given, or one made from the
// command and its inputs, wherever it is called from.
func (o *outputFlags) jobName(fs *flagSet, to *martSink, command string, inputs []string) (string, error) {
	switch {
	case fs.given("job") && to == nil:
		return "", usagef("--job without a mart, want an output of sqlite:PATH: it names rows there")
	case fs.given("job") && o.job == "":
		return "", usagef("--job is empty, want a name")
	case o.job != "" || to == nil:
		return o.job, nil
	case slices.Contains(inputs, stdinName):
		return "", usagef("a mart that is fed from standard input without --job, want a name: the next run replaces the rows of the job of that name")
	}
	id := command
	for _, in := range inputs {
		path, err := filepath.Abs(in)
		if err != nil {
			return "", err
		}
		id += "\x00" + path
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%s-%x", command, sum[:8]), nil
}

// sourcesOf is what a run reads: a timeline, or else inputs.
func sourcesOf(timeline string, inputs ...string) []string {
	if timeline != "" {
		return []string{timeline}
	}
	return inputs
}

// begin opens the mart and begins a run in it.
func (m *martSink) begin() (err error) {
	if m.mart, err = mart.OpenFor(m.path, martPatience); err != nil {
		return err
	}
	begin := m.mart.Begin
	if m.goOn {
		begin = m.mart.Continue
	}
	if m.run, err = begin(m.info); err != nil {
		return errors.Join(err, m.mart.Close())
	}
	return nil
}

// summaryOf is the account of a run for the mart.
func summaryOf(counts *tally.Tally) mart.Summary {
	if counts == nil {
		return mart.Summary{Unknown: true}
	}
	get := counts.Get
	side := func(s tally.Side) mart.SideCounts {
		return mart.SideCounts{
			Assigned: get(s.Assigned), Joined: get(s.Joined), Unmatched: get(s.Unmatched), Late: get(s.Late), OverLimit: get(s.OverLimit), Open: get(s.Open),
		}
	}
	return mart.Summary{
		Read: get(tally.Read), Bad: get(tally.Bad), Assigned: get(tally.Assigned), Added: get(tally.Added),
		Corrected: get(tally.Corrected), Late: get(tally.Late), Overflowed: get(tally.Overflowed),
		OverLimit: get(tally.OverLimit), Left: side(tally.Sides[0]), Right: side(tally.Sides[1]),
	}
}

// fail ends a run that has not ended well, with the counts of how far it came, or nil.
func (m *martSink) fail(counts *tally.Tally) {
	if m.run == nil {
		return
	}
	// What the run has failed of is what people are told.
	_ = m.run.Finish(mart.Failed, summaryOf(counts))
	_ = m.mart.Close()
}

// release lets the rows into the mart and ends the run. If it fails, the run is
// there for fail to end.
func (m *martSink) release(o *outlets, counts *tally.Tally, interrupted bool) error {
	sum := summaryOf(counts)
	lines := map[mart.Kind]mart.Lines{} // of what is directed here: other tables are left alone
	for _, out := range o.list {
		if sp := o.spools[out.flag]; sp != nil && out.target.IsZero() {
			lines[out.kind] = sp.Each
		}
	}
	// Of an input that was read to its end, an interrupt comes too late.
	if o.how != live && !(o.how == behind && interrupted) {
		if err := m.run.Replace(lines, sum); err != nil {
			return err
		}
		return m.mart.Close()
	}
	for kind, l := range lines {
		if err := m.run.Insert(kind, l); err != nil {
			return err
		}
	}
	status := mart.Done
	if interrupted {
		status = mart.Interrupted
	}
	if err := m.run.Finish(status, sum); err != nil {
		return err
	}
	return m.mart.Close()
}

// martReceiver takes the lines of a stream as they come.
type martReceiver struct {
	run  *mart.Run
	kind mart.Kind
}

// AddBatch implements sink.Receiver.
func (r martReceiver) AddBatch(b sink.Batch) error {
	return r.run.Insert(r.kind, func(emit func([]byte) error) error {
		return b.Each(func(_, line []byte) error { return emit(line) })
	})
}

// martPlace is what a worker opens a mart with.
type martPlace struct {
	Path string
	Run  int64
	Kind mart.Kind
}

func init() { sink.RegisterOpener("mart", openPlace) }

// place is where workers in other processes write lines of a kind to.
func (m *martSink) place(kind mart.Kind) (sink.Place, error) {
	path, err := paths.Abs(m.path)
	if err != nil {
		return sink.Place{}, err
	}
	return sink.PlaceOf("mart", martPlace{path, m.run.Number(), kind})
}

func openPlace(config []byte) (sink.Receiver, error) {
	var at martPlace
	if err := json.Unmarshal(config, &at); err != nil {
		return nil, err
	}
	m, err := mart.OpenFor(at.Path, martPatience)
	if err != nil {
		return nil, err
	}
	run, err := m.Resume(at.Run)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return martReceiver{run, at.Kind}, nil
}
