package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the texts for users, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d documents, error %v", len(paths), err)
	}
	all := map[string]string{}
	for _, p := range append(paths, "../../README.md") {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[p] = string(text)
	}
	return all
}

// TestDocumentedFlags looks for flags in the documents that the command does not
// have.
func TestDocumentedFlags(t *testing.T) {
	set := func() *flagSet { return onFlagSet(new(flag.FlagSet), "any", "") }
	gmv, average, join, check := set(), set(), set(), set()
	new(aggregateFlags).define(gmv, &gmvCommand)
	new(aggregateFlags).define(average, &averageCommand)
	new(joinFlags).define(join)
	new(reconcileFlags).define(check)
	known := slices.Concat([]string{"help", "version"}, gmv.own, average.own, join.own, check.own)
	for path, text := range documents(t) {
		for _, m := range regexp.MustCompile("(?m)(?:^|[\\s`(\"'])--([a-z][a-z_]*)").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(known, m[1]) && flag.Lookup(m[1]) == nil {
				t.Errorf("%s names a flag --%s, and there is none", path, m[1])
			}
		}
	}
	inputs := documents(t)["../../docs/inputs.md"]
	f := new(inputFlags)
	fs := set()
	f.define(fs, aggregateWords)
	for _, name := range fs.own {
		if !strings.Contains(inputs, "`--"+name) {
			t.Errorf("docs/inputs.md does not name --%s", name)
		}
	}
}

// block is a marked block of a document.
var block = regexp.MustCompile("(?s)<!-- (\\w+) -->\n\n?```\\w*\n(.*?)```\n")

// TestPanesDocumentedRuns runs the commands of docs/windows.md.
func TestPanesDocumentedRuns(t *testing.T) {
	if ran := runDocuments(t, "windows.md"); ran != 2 {
		t.Errorf("%d commands, want 2", ran)
	}
}

// TestDocumentedRuns runs the commands of the others. README.md is up to
// .ci/readme.
func TestDocumentedRuns(t *testing.T) {
	if ran := runDocuments(t, "inputs.md", "joins.md", "late-data.md", "mart.md"); ran != 5 {
		t.Errorf("%d commands, want 5", ran)
	}
}

// runDocuments runs the commands of documents, and compares what comes out with
// what they say:
//
//	output    standard output
//	rows      some lines of it
//	summary   the last line on standard error
//	late      late.ndjson, in some order
func runDocuments(t *testing.T, names ...string) (ran int) {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range documents(t) {
		if !slices.Contains(names, filepath.Base(path)) {
			continue
		}
		dir := t.TempDir()
		if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
			t.Fatal(err)
		}
		var last result
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			what, want := path+": "+b[1], b[2]
			switch b[1] {
			case "run":
				last = runDocumented(t, dir, want)
				ran++
			case "output":
				same(t, what, want, last.stdout)
			case "summary":
				same(t, what, want, last.lastLine()+"\n")
			case "rows", "late":
				if b[1] == "rows" && last.stdout == "" {
					continue // of a query; see package mart
				}
				got := lines(t, last.stdout)
				if b[1] == "late" {
					got = lines(t, read(t, dir, "late.ndjson"))
					if n := len(lines(t, want)); n != len(got) {
						t.Errorf("%s: %d lines, want %d", what, len(got), n)
					}
				}
				for _, line := range lines(t, want) {
					if !slices.Contains(got, line) {
						t.Errorf("%s: %s is not in\n%s", what, line, strings.Join(got, "\n"))
					}
				}
			}
		}
	}
	return ran
}

// runDocumented runs commands one after the other. The result is the last one's,
// with the standard output of all.
func runDocumented(t *testing.T, dir, script string) (last result) {
	t.Helper()
	var out strings.Builder
	for _, line := range lines(t, strings.ReplaceAll(script, "\\\n", " ")) {
		args, ok := strings.CutPrefix(line, "go run ./cmd/tidemark ")
		if !ok {
			t.Fatalf("%q does not run the command", line)
		}
		if last = tidemark(t, dir, "", strings.Fields(args)...); last.status != exitOK {
			t.Fatalf("%s: status %d, %s", args, last.status, last.stderr)
		}
		out.WriteString(last.stdout)
	}
	last.stdout = out.String()
	return last
}
