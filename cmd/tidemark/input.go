package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/timeline"
)

// inputFlags are the flags that say where records come from.
type inputFlags struct {
	input    string
	kind     string
	timeline string

	stream      bool
	outOfOrder  time.Duration
	idleTimeout time.Duration
	futureLimit time.Duration
}

// defaultFutureLimit is far enough for clocks of the wrong time zone.
const defaultFutureLimit = 24 * time.Hour

func (f *inputFlags) define(fs *flagSet, w words) {
	fs.section("Input: one of --input and --timeline", func() {
		fs.StringVar(&f.input, "input", "", "`FILE` or pattern, such as 'day/*.csv.gz': .ndjson, or .csv with a header, each also .gz; or - for standard input, never compressed.\nRead to its end, so that nothing in it is late, unless --stream is given")
	})
	fs.section("", func() {
		fs.StringVar(&f.kind, "input_format", "", "`ndjson|csv`: what the input holds, where its name does not say so (default of standard input: ndjson)")
	})
	fs.section("", func() {
		fs.StringVar(&f.timeline, "timeline", "", "`FILE` with a script of events and watermarks, played step by step on the embedded runner")
	})
	f.defineStream(fs, w)
}

// defineStream adds the flags that any command has that reads streams.
func (f *inputFlags) defineStream(fs *flagSet, w words) {
	fs.section("Streams", func() {
		fs.BoolVar(&f.stream, "stream", false, w.stream)
	})
	fs.section("", func() {
		fs.DurationVar(&f.outOfOrder, "max_out_of_orderness", 0, w.outOfOrder)
	})
	fs.section("", func() {
		fs.DurationVar(&f.idleTimeout, "idle_timeout", 0, w.idle)
	})
	fs.section("", func() {
		fs.DurationVar(&f.futureLimit, "future_limit", defaultFutureLimit, "`time`: a record further ahead of the clock is bad, so that it cannot make everyone else late; 0 is off")
	})
}

// check checks the flags that make sense only together. AsStream says that the
// input is taken for a stream without --stream.
func (f *inputFlags) check(fs *flagSet, asStream bool) error {
	for _, name := range []string{"max_out_of_orderness", "idle_timeout", "future_limit", "drain"} {
		if fs.given(name) && !f.stream && !asStream {
			return usagef("--%s without --stream, want both: it is about streams", name)
		}
	}
	if f.stream && f.timeline != "" {
		return usagef("--stream with --timeline, want one of them: a timeline has its own watermarks")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"max_out_of_orderness", f.outOfOrder}, {"idle_timeout", f.idleTimeout}, {"future_limit", f.futureLimit}} {
		if d.value < 0 || d.value%time.Millisecond != 0 {
			return usagef("--%s = %v, want a whole number of milliseconds, 0s or more", d.name, d.value)
		}
	}
	switch files.Format(f.kind) {
	case "", files.NDJSON, files.CSV:
	default:
		return usagef("--input_format = %q, want ndjson or csv", f.kind)
	}
	if f.kind != "" && f.timeline != "" {
		return usagef("--input_format with --timeline, want it with --input")
	}
	return nil
}

// stdinName is what records of standard input call their source.
const stdinName = "-"

// input is an input that exists.
type input struct {
	name  string // of the timeline
	steps []timeline.Step
	files []files.File
}

// resolve checks that the input is there. Of a timeline, it reads and parses
// the script.
func (f *inputFlags) resolve() (input, error) {
	switch {
	case f.input != "" && f.timeline != "":
		return input{}, usagef("--input and --timeline together, want one of them")
	case f.timeline != "":
		return readTimeline(f.timeline, timeline.Event)
	case f.input == "":
		return input{}, usagef("no input, want --input FILE, --input - or --timeline FILE")
	default:
		return f.find("input", f.input)
	}
}

// find is the input that a flag names.
func (f *inputFlags) find(name, uri string) (input, error) {
	if uri == stdinName {
		return input{files: []files.File{{Name: stdinName, Format: files.Format(f.kind)}}}, nil
	}
	if scheme, _, ok := strings.Cut(uri, "://"); ok {
		return input{}, usagef("--%s %s: unknown scheme %q, want a file, a pattern or -", name, uri, scheme)
	}
	found, err := files.Glob(uri, files.Format(f.kind))
	if err == nil {
		found, err = anywhere(found)
	}
	if err != nil {
		return input{}, usagef("--%s %w", name, err)
	}
	return input{files: found}, nil
}

// release says when the rows of inputs leave the run.
func (f *inputFlags) release(ins ...input) release {
	switch {
	case f.timeline != "":
		return played
	case !f.stream:
		return whole
	case slices.ContainsFunc(ins, func(in input) bool {
		return slices.ContainsFunc(in.files, func(f files.File) bool { return !f.Regular() })
	}), onCluster():
		return live
	default:
		return behind
	}
}

func readTimeline(path string, events ...timeline.Kind) (input, error) {
	if err := files.CheckReadable(path); err != nil {
		return input{}, usagef("--timeline %w", err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return input{}, usagef("--timeline %w", err)
	}
	steps, err := timeline.Parse(script, events...)
	if err != nil {
		return input{}, usagef("--timeline %s: %w", path, err)
	}
	return input{name: path, steps: steps}, nil
}

// spool returns the files to read. What can be read only once, standard input
// and named pipes, is copied into dir first, under the given name.
func (in input) spool(dir, name string, stdin io.Reader) ([]files.File, error) {
	var out []files.File
	for i, f := range in.files {
		path, err := spoolOne(f, filepath.Join(dir, fmt.Sprintf("%s-%d", name, i)), stdin)
		if err != nil {
			return nil, fmt.Errorf("spooling %s: %w", f.Name, err)
		}
		f.Path = path
		out = append(out, f)
	}
	return out, nil
}

// open returns the files to read as a stream. What can be read only once is read
// from now on, as a pipe with the given name.
func (in input) open(name string, stdin io.Reader) []files.File {
	var out []files.File
	for i, f := range in.files {
		if !f.Regular() {
			r := stdin
			if f.Path != "" {
				r = &lateOpener{path: f.Path}
			}
			if f.Gzip {
				r = files.Unzip(r)
			}
			f.Pipe = fmt.Sprintf("%s-%d", name, i)
			files.OpenPipe(f.Pipe, r)
		}
		out = append(out, f)
	}
	return out
}

// lateOpener opens a named pipe when it is read: that waits for someone who
// writes.
type lateOpener struct {
	path string
	in   *os.File
}

func (o *lateOpener) Read(b []byte) (n int, err error) {
	if o.in == nil {
		if o.in, err = os.Open(o.path); err != nil {
			return 0, err
		}
	}
	return o.in.Read(b)
}

// spoolOne returns a path under which f can be read again.
func spoolOne(f files.File, spooled string, stdin io.Reader) (string, error) {
	if f.Path != "" {
		info, err := os.Stat(f.Path)
		if err != nil || info.Mode().IsRegular() {
			return f.Path, err
		}
		once, err := os.Open(f.Path)
		if err != nil {
			return "", err
		}
		defer func() { _ = once.Close() }()
		stdin = once
	}
	out, err := os.Create(spooled)
	if err != nil {
		return "", err
	}
	// Behind a plain Reader, errors of reading name the input, not the copy.
	if _, err := io.Copy(out, struct{ io.Reader }{stdin}); err != nil {
		_ = out.Close()
		return "", err
	}
	return spooled, out.Close()
}
