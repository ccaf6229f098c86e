package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/internal/tally"
)

// playedJoin is a command of the test binary: it puts out what a full join of
// in.ndjson with itself could, without joining anything.
const playedJoin = "played_join"

func init() {
	if os.Getenv(asCommand) != "" && len(os.Args) > 1 && os.Args[1] == playedJoin {
		commands = append(commands, command{name: playedJoin, run: runPlayedJoin})
	}
	register.DoFn10x0[context.Context, beam.EventTime, []byte, func(beam.EventTime, rows.Joined),
		emitSide, emitSide, emitSide, emitSide, func(files.Bad), func(files.Bad)](&playedJoinFn{})
	register.Emitter2[beam.EventTime, rows.Joined]()
	register.Emitter3[beam.EventTime, string, files.Row]()
	register.Emitter1[files.Bad]()
}

type emitSide = func(beam.EventTime, string, files.Row)

func runPlayedJoin(ctx context.Context, args []string) error {
	fs := newFlagSet(playedJoin, "")
	var o outputFlags
	j := job{stderr: os.Stderr, sides: true}
	limit := fs.Bool("over_limit", false, "there are records over the limit, and no bad ones")
	o.define(fs, joinWords)
	j.runFlags.define(fs, joinWords)
	if err := fs.parse(args); err != nil {
		return err
	}
	if err := j.check(false); err != nil {
		return err
	}
	list, err := o.resolve(nil, layouts{rows.JoinLayout, rows.JoinLateLayout})
	if err != nil {
		return err
	}
	toMart, to, err := o.martOutputs(mart.Join, nil)
	if err != nil {
		return err
	}
	if to != nil {
		to.info = mart.RunInfo{Job: o.job, Command: playedJoin, Work: mart.Join, JoinType: "full"}
		if err := mart.CheckJob(to.path, to.info); err != nil {
			return usagef("--job: %w", err)
		}
	}
	j.outlets = outlets{list: append(list, toMart...), how: whole, stdout: os.Stdout, mart: to}
	return j.run(ctx, func(string) (build, error) {
		return func(s scope, to *outlets) error {
			joined, lateLeft, lateRight, overLeft, overRight, badLeft, badRight := beam.ParDo7(s, &playedJoinFn{OverLimit: *limit}, beam.Impulse(s))
			out, late, bad := to.outlet("output"), to.outlet("late_output"), to.outlet("bad_output")
			write := func(id string, lines beam.PCollection) {
				if id != "" {
					sink.Write(s, id, lines)
				}
			}
			write(out.ID, rows.JoinLines(s, out.Format, 1001, 1001, joined))
			write(late.ID, rows.JoinLateLines(s, late.Format, rows.Left, lateLeft))
			write(late.ID, rows.JoinLateLines(s, late.Format, rows.Right, lateRight))
			write(bad.ID, rows.OverLimitLines(s, bad.Format, rows.Left, 2, overLeft))
			write(bad.ID, rows.OverLimitLines(s, bad.Format, rows.Right, 2, overRight))
			write(bad.ID, rows.BadLines(s, bad.Format, beam.Flatten(s, badLeft, badRight)))
			return nil
		}, nil
	})
}

// playedJoinFn emits and counts: record 1 with 1 and 2, 2 with 1, 3 unmatched, 4
// late, and 5 bad or over the limit, on both sides.
type playedJoinFn struct {
	OverLimit bool
}

func (f *playedJoinFn) ProcessElement(ctx context.Context, _ beam.EventTime, _ []byte, joined func(beam.EventTime, rows.Joined),
	lateLeft, lateRight, overLeft, overRight emitSide, badLeft, badRight func(files.Bad),
) {
	at := func(n int64) mtime.Time { return mtime.Time(1_717_228_800_000 + n) }
	r := func(n int64) *files.Row {
		return &files.Row{Source: "in.ndjson", Position: n, Raw: fmt.Appendf(nil, "{\"n\":\n%d}", n)}
	}
	// Not in the order of the output.
	joined(at(3), rows.Joined{Key: "k", Left: r(3)})
	joined(at(3), rows.Joined{Key: "k", Right: r(3)})
	joined(at(2), rows.Joined{Key: "k", Left: r(2), Right: r(1)})
	joined(at(2), rows.Joined{Key: "k", Left: r(1), Right: r(2)})
	joined(at(1), rows.Joined{Key: "k", Left: r(1), Right: r(1)})
	lateRight(at(4), "k", *r(4))
	lateLeft(at(4), "k", *r(4))
	counts := tally.Current()
	sideCount, of := int64(4), func(k tally.Kind, n int64) { counts.Inc(ctx, k, n) }
	of(tally.Read, 10)
	if f.OverLimit {
		overLeft(at(5), "k", *r(5))
		overRight(at(5), "k", *r(5))
		counts.Blame("in.ndjson, position 5: %s", rows.OverLimitReason("k", rows.Left, 2))
		sideCount++
		of(tally.OverLimit, 2)
		of(tally.LeftOverLimit, 1)
		of(tally.RightOverLimit, 1)
	} else {
		b := files.Bad{Source: "in.ndjson", Position: 5, Raw: []byte("{"), Reason: "cut off"}
		b.Side = "left"
		badLeft(b)
		b.Side = "right"
		badRight(b)
		counts.Blame("in.ndjson, position 5: cut off")
		of(tally.Bad, 2)
	}
	of(tally.Assigned, 2*sideCount)
	of(tally.Added, 6)
	of(tally.Late, 2)
	for _, s := range tally.Sides {
		of(s.Assigned, sideCount)
		of(s.Joined, 2)
		of(s.Unmatched, 1)
		of(s.Late, 1)
	}
}

const (
	joinedRows = `{"key":"k","left":{"n": 1},"right":{"n": 1},"time":"2024-06-01T08:00:00.001Z"}
{"key":"k","left":{"n": 1},"right":{"n": 2},"time":"2024-06-01T08:00:00.002Z"}
{"key":"k","left":{"n": 2},"right":{"n": 1},"time":"2024-06-01T08:00:00.002Z"}
{"key":"k","left":null,"right":{"n": 3},"time":"2024-06-01T08:00:00.003Z"}
{"key":"k","left":{"n": 3},"right":null,"time":"2024-06-01T08:00:00.003Z"}
`
	joinSides   = " left_assigned=4 left_joined=2 left_unmatched=1 left_late=1 right_assigned=4 right_joined=2 right_unmatched=1 right_late=1"
	joinSummary = "read=10 bad=2 assigned=8 added=6 late=2" + joinSides
	limitedJoin = "read=10 bad=0 assigned=10 added=6 late=2 over_limit=2 left_assigned=5 left_joined=2 left_unmatched=1 left_late=1 left_over_limit=1" +
		" right_assigned=5 right_joined=2 right_unmatched=1 right_late=1 right_over_limit=1"
)

// TestJoinOutputs writes the outputs of a join in every format, and sums up.
func TestJoinOutputs(t *testing.T) {
	dir := t.TempDir()
	r := tidemark(t, dir, "", playedJoin, "--late_output", "late.ndjson", "--bad_output", "bad.csv")
	if r.status != exitOK || r.stderr != joinSummary+"\n" {
		t.Errorf("%+v, want %s", r, joinSummary)
	}
	same(t, "rows", joinedRows, r.stdout)
	const late = `"event":{"n": 4},"time":"2024-06-01T08:00:00.004Z","source":"in.ndjson","position":4}` + "\n"
	same(t, "late records", `{"side":"left",`+late+`{"side":"right",`+late, read(t, dir, "late.ndjson"))
	same(t, "bad records", "source,position,raw,reason,raw_base64\n"+strings.Repeat("in.ndjson,5,{,cut off,\n", 2), read(t, dir, "bad.csv"))

	r = tidemark(t, dir, "", playedJoin, "--output", "out.csv", "--late_output", "late.csv")
	const example = "tidemark: not understood, or over the limit on a key: in.ndjson, position 5: cut off; --bad_output FILE takes them all, with reasons\n"
	if r.status != exitBad || r.stderr != example+joinSummary+"\n" {
		t.Errorf("%+v, want %s and %s", r, example, joinSummary)
	}
	same(t, "rows", strings.Join([]string{
		"key,left,right,time",
		`k,"{""n"": 1}","{""n"": 1}",2024-06-01T08:00:00.001Z`,
		`k,"{""n"": 1}","{""n"": 2}",2024-06-01T08:00:00.002Z`,
		`k,"{""n"": 2}","{""n"": 1}",2024-06-01T08:00:00.002Z`,
		`k,,"{""n"": 3}",2024-06-01T08:00:00.003Z`,
		`k,"{""n"": 3}",,2024-06-01T08:00:00.003Z`,
		"",
	}, "\n"), read(t, dir, "out.csv"))
	same(t, "late records", "side,event,time,source,position\n"+
		`left,"{""n"": 4}",2024-06-01T08:00:00.004Z,in.ndjson,4`+"\n"+`right,"{""n"": 4}",2024-06-01T08:00:00.004Z,in.ndjson,4`+"\n", read(t, dir, "late.csv"))

	r = tidemark(t, dir, "", playedJoin, "--format", "table", "--bad_output", "bad.ndjson")
	same(t, "table", strings.Join([]string{
		"key  left      right     time",
		`k    {"n": 1}  {"n": 1}  2024-06-01T08:00:00.001Z`,
		`k    {"n": 1}  {"n": 2}  2024-06-01T08:00:00.002Z`,
		`k    {"n": 2}  {"n": 1}  2024-06-01T08:00:00.002Z`,
		`k              {"n": 3}  2024-06-01T08:00:00.003Z`,
		`k    {"n": 3}            2024-06-01T08:00:00.003Z`,
		"",
	}, "\n"), r.stdout)
}

// TestOverLimit has records over the limit, which are bad unless somebody takes
// them.
func TestOverLimit(t *testing.T) {
	dir := t.TempDir()
	for args, status := range map[string]int{"": exitBad, "--bad_output bad.ndjson": exitOK, "--output sqlite:mart.db --job trips": exitBad, "--bad_output sqlite:mart.db --job trips": exitOK} {
		r := tidemark(t, dir, "", append([]string{playedJoin, "--over_limit"}, strings.Fields(args)...)...)
		if r.status != status || r.lastLine() != limitedJoin {
			t.Errorf("%s: %+v, want status %d and %s", args, r, status, limitedJoin)
		}
		if said := strings.Contains(r.stderr, `in.ndjson, position 5: key "k" holds 2 rows, the limit on a key: this left one is not joined`); said != (status == exitBad) {
			t.Errorf("%s: %s", args, r.stderr)
		}
	}
	const row = `{"source":"in.ndjson","position":5,"raw":"{\"n\":\n5}","reason":"key \"k\" holds 2 rows, the limit on a key: this %s one is not joined"}` + "\n"
	same(t, "bad records", fmt.Sprintf(row+row, "left", "right"), read(t, dir, "bad.ndjson"))
	same(t, "in the mart", "left 5,right 5", strings.Join(ask(t, filepath.Join(dir, "mart.db"), "SELECT side || ' ' || position FROM bad ORDER BY side"), ","))
}

// TestMartJoin puts a self join into a mart, twice, and reconciles it.
func TestMartJoin(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mart.db")
	const balance = `{"job":"trips","assigned":8,"added":6,"late":2,"over_limit":0,` +
		`"left_assigned":4,"left_joined":2,"left_unmatched":1,"left_late":1,"left_over_limit":0,"left_open":0,` +
		`"right_assigned":4,"right_joined":2,"right_unmatched":1,"right_late":1,"right_over_limit":0,"right_open":0,"bad":2}` + "\n"
	const want = "joined 5 1, join_late 2 1, bad 2 1, window_counts 0 "
	const count = "SELECT '%s ' || count(*) || ' ' || coalesce(max(run), '') FROM %[1]s"
	for range 2 {
		r := tidemark(t, dir, "", playedJoin, "--output", "sqlite:mart.db", "--job", "trips")
		if r.status != exitBad || r.lastLine() != joinSummary || !strings.Contains(r.stderr, "they are in the mart, with reasons") {
			t.Errorf("%+v", r)
		}
		var got []string
		for _, table := range []string{"joined", "join_late", "bad", "window_counts"} {
			got = append(got, ask(t, path, fmt.Sprintf(count, table))...)
		}
		same(t, "tables", want, strings.Join(got, ", "))
		r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
		if r.status != exitOK || r.stderr != "" {
			t.Errorf("%+v", r)
		}
		same(t, "balance", balance, r.stdout)
	}

	// The name is taken, and a row is lost.
	write(t, dir, "in.ndjson", order("a", "08:00:00", 1))
	r := tidemark(t, dir, "", "gmv", "--window", "1h", "--input", "in.ndjson", "--output", "sqlite:mart.db", "--job", "trips")
	if r.status != exitUsage || !strings.Contains(r.stderr, "it is of join") {
		t.Errorf("%+v, want status 2", r)
	}
	alter(t, path, "DELETE FROM joined WHERE right_event IS NULL")
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	const fault = `tidemark: the conservation law does not hold: job "trips", type full: left_joined=2, left_unmatched=1, left_open=0, and 0 rows are of a left record alone, want 1` + "\n"
	if r.status != exitFailed || r.stderr != fault || r.stdout != balance {
		t.Errorf("%+v, want status 1 and %s", r, fault)
	}

	// A run that has written and not ended has no counts.
	m, err := mart.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := m.Begin(mart.RunInfo{Job: "trips", Work: mart.Join, JoinType: "full"})
	if err == nil {
		err = run.Insert(mart.Rows, func(func([]byte) error) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	r = tidemark(t, dir, "", "reconcile", "--mart", "sqlite:mart.db")
	if r.status != exitOK || !strings.HasPrefix(r.stdout, `{"job":"trips","assigned":null,"added":null,`) || r.stderr != "tidemark: job \"trips\": its newest run, 3, is running\n" {
		t.Errorf("%+v", r)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestJoinConserved has counts that do not add up.
func TestJoinConserved(t *testing.T) {
	ctx := context.Background()
	counts := tally.Start()
	counts.Inc(ctx, tally.Assigned, 3)
	counts.Inc(ctx, tally.Added, 2)
	counts.Inc(ctx, tally.OverLimit, 1)
	counts.Inc(ctx, tally.LeftAssigned, 3)
	counts.Inc(ctx, tally.LeftJoined, 1)
	counts.Inc(ctx, tally.LeftOverLimit, 1)
	const want = "left_assigned=3 is not left_joined=1 + left_unmatched=0 + left_late=0 + left_over_limit=1"
	if err := conserved(counts); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	counts.Inc(ctx, tally.LeftUnmatched, 1)
	counts.Inc(ctx, tally.LeftOpen, 1)
	if err := conserved(counts); err != nil {
		t.Error(err)
	}
	const line = "read=0 bad=0 assigned=3 added=2 late=0 over_limit=1 left_assigned=3 left_joined=1 left_unmatched=1 left_late=0 left_over_limit=1 left_open=1" +
		" right_assigned=0 right_joined=0 right_unmatched=0 right_late=0"
	if got := (&job{sides: true}).summary(counts); got != line {
		t.Errorf("%s, want %s", got, line)
	}
}
