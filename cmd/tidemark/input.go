package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tidemark/connectors/files"
	"tidemark/connectors/timeline"
)

// inputFlags are the flags that say where records come from.
type inputFlags struct {
	input    string
	timeline string
}

func (f *inputFlags) define(fs *flagSet) {
	fs.section("Input: one of --input and --timeline", func() {
		fs.StringVar(&f.input, "input", "", "`FILE` of newline-delimited JSON (.ndjson), or - for standard input; read to its end, so that nothing in it is late")
	})
	fs.section("", func() {
		fs.StringVar(&f.timeline, "timeline", "", "`FILE` with a script of events and watermarks, played step by step on the embedded runner")
	})
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
		return readTimeline(f.timeline)
	case f.input == "":
		return input{}, usagef("no input, want --input FILE, --input - or --timeline FILE")
	case f.input == stdinName:
		return input{files: []files.File{{Name: stdinName}}}, nil
	}
	if scheme, _, ok := strings.Cut(f.input, "://"); ok {
		return input{}, usagef("--input %s: unknown scheme %q, want a .ndjson file or -", f.input, scheme)
	}
	if err := checkReadable(f.input); err != nil {
		return input{}, usagef("--input %w", err)
	}
	switch ext := filepath.Ext(f.input); ext {
	case ".ndjson", ".jsonl", ".json", "":
	default:
		return input{}, usagef("--input %s: files of kind %q are not known, want .ndjson", f.input, ext)
	}
	return input{files: []files.File{{Path: f.input, Name: f.input}}}, nil
}

func checkReadable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory, want a file", path)
	}
	if !info.Mode().IsRegular() {
		return nil // a pipe can be opened once only
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return in.Close()
}

func readTimeline(path string) (input, error) {
	if err := checkReadable(path); err != nil {
		return input{}, usagef("--timeline %w", err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return input{}, usagef("--timeline %w", err)
	}
	steps, err := timeline.Parse(script)
	if err != nil {
		return input{}, usagef("--timeline %s: %w", path, err)
	}
	return input{name: path, steps: steps}, nil
}

// spool returns the files to read. What can be read only once, standard input
// and named pipes, is copied into dir first.
func (in input) spool(dir string, stdin io.Reader) ([]files.File, error) {
	var out []files.File
	for i, f := range in.files {
		path, err := spoolOne(f, filepath.Join(dir, fmt.Sprintf("input-%d", i)), stdin)
		if err != nil {
			return nil, fmt.Errorf("spooling %s: %w", f.Name, err)
		}
		out = append(out, files.File{Path: path, Name: f.Name})
	}
	return out, nil
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
