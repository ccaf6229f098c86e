package oracle_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
)

// documented is the timeline that docs/joins.md is about, as a join of a type.
func documented(t *testing.T, kind string) *casefile.JoinCase {
	t.Helper()
	script, err := os.ReadFile("../../examples/join.timeline.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	c, err := casefile.ParseJoin("join.timeline.ndjson", "join --lower -1m --upper 10m --allowed_lateness 2m --type "+kind+"\n"+string(script)+"----\n")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestJoinDocument compares the tables and the output of docs/joins.md with the
// oracle.
func TestJoinDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/joins.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	for _, m := range regexp.MustCompile(`<!-- (\w+) -->\n\n((?:\|.*\n)+)`).FindAllStringSubmatch(string(text), -1) {
		tables[m[1]] = strings.Split(strings.TrimSuffix(m[2], "\n"), "\n")[2:]
	}
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)<!-- (\\w+) -->\n```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = strings.Split(strings.TrimSuffix(m[2], "\n"), "\n")
	}

	compare(t, tables["steps"], stepRows(documented(t, "inner").Steps))
	for _, kind := range oracle.JoinTypes {
		c := documented(t, kind)
		res := c.Config.Play(c.Steps)
		compare(t, tables[kind], resultRows(res, len(c.Steps)))
		compare(t, []string{"late right p4 2026-03-02T09:14:30Z @9"}, c.Lines(oracle.JoinResult{Late: res.Late}))
	}

	c := documented(t, "left")
	c.Want = c.Lines(c.Config.Play(c.Steps))
	rows, err := c.Rows(blocks["output"])
	if err != nil {
		t.Fatal(err)
	}
	compare(t, c.WantRows(), rows)
	late, err := c.Lates(blocks["late"])
	if err != nil {
		t.Fatal(err)
	}
	compare(t, c.WantLate(), late)
	for _, raw := range c.Raw {
		if raw != "" && !strings.Contains(raw, `"p5"`) && !slices.ContainsFunc(slices.Concat(blocks["output"], blocks["late"]), func(line string) bool { return strings.Contains(line, raw) }) {
			t.Errorf("%s is in no line of the output", raw)
		}
	}
}

func stepRows(steps []oracle.JoinStep) (rows []string) {
	for i, st := range steps {
		switch {
		case st.Left != nil:
			rows = append(rows, fmt.Sprintf("| %d | left %s | %s | %s |", i+1, st.Left.ID, st.Left.Key, clock(st.Left.TimeMs)))
		case st.Right != nil:
			rows = append(rows, fmt.Sprintf("| %d | right %s | %s | %s |", i+1, st.Right.ID, st.Right.Key, clock(st.Right.TimeMs)))
		default:
			rows = append(rows, fmt.Sprintf("| %d | watermark | | %s |", i+1, clock(st.WatermarkMs)))
		}
	}
	return rows
}

func resultRows(res oracle.JoinResult, end int) (rows []string) {
	for _, r := range res.Rows {
		with := "the end"
		if r.Step < end {
			with = fmt.Sprint(r.Step + 1)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", orNone(r.Left), orNone(r.Right), clock(r.TimeMs), with))
	}
	return rows
}

func orNone(id string) string {
	if id == "" {
		return "-"
	}
	return id
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.TimeOnly) }
