package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestJoinIntoMart joins files into a mart, in batch and as a stream: the same rows
// however often, that can be reconciled, in a job that is named after both inputs.
func TestJoinIntoMart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	write(t, dir, "l.ndjson", l1+l2+l3+rec("l4", "a", "08:00:00")) // the last one is late in a stream
	write(t, dir, "r.ndjson", r1+r2+r3+"{}\n")
	const join = "join --left l.ndjson --right r.ndjson --upper 1m --type full --output sqlite:mart.db"
	ids := func(kind string) string {
		t.Helper()
		return strings.Join(ask(t, path, fmt.Sprintf("SELECT coalesce(left_event ->> 'id', '-') || ' ' || coalesce(right_event ->> 'id', '-') FROM joined WHERE job LIKE '%s' ORDER BY 1", kind)), ", ")
	}
	for range 2 {
		if r := tidemark(t, dir, "", strings.Fields(join)...); r.status != exitBad || r.stdout != "" || !strings.Contains(r.stderr, "they are in the mart, with reasons") {
			t.Errorf("%+v", r)
		}
		same(t, "rows", "- r3, l1 r1, l2 -, l3 r2, l4 r1", ids("join-%"))
		if r := tidemark(t, dir, "", strings.Fields(join+" --stream --job streamed --bad_output bad.ndjson")...); r.status != exitOK || !strings.Contains(r.lastLine(), " late=1 ") {
			t.Errorf("%+v", r)
		}
		same(t, "rows of the stream", "- r3, l1 r1, l2 -, l3 r2", ids("streamed"))
		same(t, "late records", "left l4 l.ndjson 4", strings.Join(ask(t, path, "SELECT side || ' ' || (event ->> 'id') || ' ' || source || ' ' || position FROM join_late"), "\n"))
		same(t, "bad records", "right r.ndjson 4", strings.Join(ask(t, path, "SELECT side || ' ' || source || ' ' || position FROM bad"), "\n"))
		r := tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
		if r.status != exitOK || r.stderr != "" || strings.Count(r.stdout, "\n") != 2 {
			t.Errorf("%+v", r)
		}
	}
	if jobs := ask(t, path, "SELECT count(DISTINCT job) FROM runs"); jobs[0] != "2" {
		t.Errorf("%s jobs, want 2", jobs)
	}

	// The other way round it is another job; of another command it is refused.
	write(t, dir, "r.ndjson", r1)
	succeed(t, dir, "", strings.Fields("join --left r.ndjson --right l.ndjson --upper 1m --output sqlite:mart.db")...)
	if jobs := ask(t, path, "SELECT count(DISTINCT job) FROM runs"); jobs[0] != "3" {
		t.Errorf("%s jobs, want 3", jobs)
	}
	r := tidemark(t, dir, "", strings.Fields("average --input l.ndjson --window 1h --output sqlite:mart.db --job streamed")...)
	if r.status != exitUsage || !strings.Contains(r.stderr, "it is of join") {
		t.Errorf("%+v", r)
	}
	// Standard input has no path.
	if r := succeed(t, dir, r1, strings.Fields("join --left l.ndjson --right - --upper 1m --output sqlite:mart.db --job typed")...); !strings.Contains(r.stderr, "read=5 ") {
		t.Errorf("%+v", r)
	}
	same(t, "rows of standard input", "l1 r1, l4 r1", ids("typed"))
}
