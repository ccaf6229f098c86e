//go:build flink

package flink

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// disorder is how far records are from the order of their times, but for late ones.
const disorder = time.Minute

// lateness takes some of the late ones.
const lateness = 15 * time.Minute

// input is a file to be generated.
type input struct {
	name    string
	seed    uint64
	records int
	keys    int
	step    time.Duration // a record is at most this behind the one before, apart from disorder
}

var (
	orders = input{name: "orders.ndjson", seed: 1, records: 3000, keys: 7, step: 8 * time.Second}
	days   = input{name: "days.ndjson", seed: 2, records: 3000, keys: 7, step: 3 * time.Minute}
	left   = input{name: "left.ndjson", seed: 3, records: 1200, keys: 60, step: 16 * time.Second}
	right  = input{name: "right.ndjson", seed: 4, records: 1800, keys: 60, step: 10 * time.Second}
)

// write writes the file: amounts of both signs, one record in 40 late by minutes,
// one in 150 by hours, and one in 97 bad.
func (in input) write(t *testing.T, dir string) {
	t.Helper()
	random := rand.New(rand.NewPCG(in.seed, 0))
	at := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	for i := range in.records {
		at = at.Add(time.Duration(random.Int64N(int64(in.step))).Truncate(time.Millisecond))
		back := time.Duration(random.Int64N(int64(disorder)))
		switch {
		case i%150 == 149:
			back = time.Hour + time.Duration(random.Int64N(int64(2*time.Hour)))
		case i%40 == 39:
			back = 2*time.Minute + time.Duration(random.Int64N(int64(18*time.Minute)))
		}
		amount := fmt.Sprint(random.Int64N(25_000) - 5_000)
		if i%97 == 96 {
			amount = `"many"`
		}
		// A few keys have most of the records.
		key := int(random.Float64() * random.Float64() * float64(in.keys))
		time := at.Add(-back).Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z")
		if i%194 == 96 {
			time = "at noon"
		}
		_, _ = fmt.Fprintf(&b, `{"n":%d,"key":"key %d","time":%q,"amount_cents":%s,"value":%s}`+"\n", i, key, time, amount, amount)
	}
	if err := os.WriteFile(filepath.Join(dir, in.name), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// sortedLines are the lines of a file, sorted: of a stream their order is that of arrival.
func sortedLines(t *testing.T, dir, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(strings.Lines(string(text)))
	slices.Sort(all)
	return all
}

// same compares lists. There are many rows, and few that differ are enough to read.
func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	if len(diff) > 4000 {
		diff = diff[:4000] + "..."
	}
	t.Errorf("%s: %d lines, want %d (-embedded +flink):\n%s", what, len(got), len(want), diff)
}

// path are the members of a row that say how its values came to be. Several late
// records of a window can share a LATE row, and can be in time to be in the ON_TIME
// one: that depends on what a runner has in a bundle.
var path = []string{"pane", "revision", "previous_sum", "previous_average", "previous_count"}

// totals are the last rows of each key and window, without their path. A session
// that was withdrawn, with a count of 0, is left out: another runner, which had
// all of its records at once, has no such row.
func totals(t *testing.T, rows []string) (all []string) {
	t.Helper()
	type last struct {
		revision float64
		row      map[string]any
	}
	found := map[string]last{}
	for _, line := range rows {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		id := fmt.Sprint(row["key"], row["currency"], row["window_start"], row["window_end"])
		if r := row["revision"].(float64); found[id].row == nil || r > found[id].revision {
			found[id] = last{r, row}
		}
	}
	for _, l := range found {
		if l.row["count"] == 0.0 {
			continue
		}
		for _, name := range path {
			delete(l.row, name)
		}
		line, err := json.Marshal(l.row)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
	slices.Sort(all)
	return all
}
