package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
)

// TestJoinCases plays the case files of joins, in one shard and in several: rows
// and late records are those that were derived by hand.
func TestJoinCases(t *testing.T) {
	cases, err := casefile.ReadJoins("../../testing/oracle/testdata/joins")
	if err != nil || len(cases) < 25 {
		t.Fatalf("%d cases, error %v, want 25", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "script", c.Script())
			for _, shards := range []string{"1", "3"} {
				args := append([]string{"join", "--timeline", "script", "--late_output", "late.ndjson", "--shards", shards}, c.Args...)
				r := succeed(t, dir, "", args...)
				rows, err := c.Rows(lines(t, r.stdout))
				if err != nil {
					t.Fatal(err)
				}
				late, err := c.Lates(lines(t, read(t, dir, "late.ndjson")))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.WantRows(), rows); diff != "" {
					t.Errorf("rows in %s shards: mismatch (-want +got):\n%s", shards, diff)
				}
				if diff := cmp.Diff(c.WantLate(), late); diff != "" {
					t.Errorf("late in %s shards: mismatch (-want +got):\n%s", shards, diff)
				}
				n := checkSides(t, r.lastLine())
				if n["late"] != len(c.WantLate()) || n["read"] != strings.Count(c.Script(), `t": {`) {
					t.Errorf("%s, want %d late", r.lastLine(), len(c.WantLate()))
				}
			}
		})
	}
}
