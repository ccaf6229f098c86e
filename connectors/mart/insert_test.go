package mart

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// TestInsert takes a line of each kind, as package rows makes them.
func TestInsert(t *testing.T) {
	text := func(line []byte) string { return string(line) }
	minor, count := int64(math.MinInt64), int64(2)
	window := windowfns.Window{StartMs: -60_000, EndMs: 1}
	overflow := gmv.Overflow{Key: "a", Currency: "EUR", StartMs: 0, EndMs: 60_000, Pane: "LATE", Total: "-9223372036854775809", Count: 2, Reason: "overflow: why"}
	for _, c := range []struct {
		name string
		kind Kind
		line string
		want string // the table, and the row without job and run
	}{
		{
			"row", Rows, text(rows.AppendGMV(nil, &gmv.Row{
				Key: "caf\u00e9 \"17\"\n", StartMs: 1_563_955_440_000, EndMs: 1_563_955_500_000, Pane: "ON_TIME", Minor: -129_900, Count: 3, MaxTimeMs: new(int64(1_563_955_499_999)),
			}, false)),
			"gmv 1563955500000|1563955440000|caf\u00e9 \"17\"\n||0|ON_TIME|-129900|null|3|null|1563955499999",
		},
		{
			"row with everything", Rows, text(rows.AppendGMV(nil, &gmv.Row{
				Key: "a", Currency: "EUR", StartMs: window.StartMs, EndMs: window.EndMs, Pane: "LATE", Revision: 1,
				Minor: math.MaxInt64, PreviousMinor: &minor, Count: math.MaxInt64, PreviousCount: &count, MaxTimeMs: new(int64(-1)),
			}, true)),
			"gmv 1|-60000|a|EUR|1|LATE|9223372036854775807|-9223372036854775808|9223372036854775807|2|-1",
		},
		{
			"key of zero bytes", Rows, text(rows.AppendGMV(nil, &gmv.Row{Key: "a\x00b\x00", Pane: "LATE"}, false)),
			"gmv 0|0|a\x00b\x00||0|LATE|0|null|0|null|null",
		},
		{
			"withdrawn row", Rows, strings.Replace(row("a", 8, 1, 0), `"2024-06-01T08:59:59.999Z"`, "null", 1),
			"gmv 1717232400000|1717228800000|a||1|ON_TIME|0|1|2|1|null",
		},
		{
			"members in another order, and one more", Rows,
			`{"more":[{"key":1}],"max_event_time":"1970-01-01T02:00:00+01:00","previous_count":1,"count":2,"previous_sum":3,"sum":4,` +
				`"revision":5,"pane":"EARLY","window_end":"9999-12-31T23:59:59.999Z","window_start":"0001-01-01T00:00:00Z","key":"k"}`,
			"gmv 253402300799999|-62135596800000|k||5|EARLY|4|3|2|1|3600000",
		},
		{
			"overflow", Bad, text(rows.AppendOverflow(nil, &overflow, true)),
			"overflows 60000|0|a|EUR|LATE|-9223372036854775809|2|overflow: why",
		},
		{
			"late", Late, text(rows.AppendLate(nil, &rows.Late{
				Event: []byte(`{ "a":"\u0041" }`), TimeMs: -5, Missed: []windowfns.Window{window, {StartMs: 0, EndMs: 1000}}, Source: "in.ndjson", Position: 7,
			})),
			`late in.ndjson|7|-5|{ "a":"\u0041" }|[{"window_start_ms":-60000,"window_end_ms":1},{"window_start_ms":0,"window_end_ms":1000}]|0`,
		},
		{
			"late for all", Late, text(rows.AppendLate(nil, &rows.Late{Event: []byte("17"), All: true, Source: "-"})),
			"late -|0|0|17|[]|1",
		},
		{
			"bad", Bad, text(rows.AppendBad(nil, &rows.Bad{Source: "in", Position: -1, Raw: []byte("a,b\r\n"), Reason: "why"})),
			"bad in|-1||a,b\r\n|null|why",
		},
		{
			"bad bytes", Bad, text(rows.AppendBad(nil, &rows.Bad{Source: "in", Position: 1, Raw: []byte("a\xff\x00"), Reason: "why"})),
			"bad in|1||a\ufffd\x00|x'61ff00'|why",
		},
		{
			"counts", Counts, countsLine("", 8, 2, 1, 1),
			"window_counts 1717232400000|1717228800000||3|2|1|1|30|20|10|10",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMart(t)
			ok(t, begin(t, m, "job").Insert(c.kind, of(c.line)))
			var got []string
			for _, tab := range tables {
				cols := names("", tab.key) + ", " + names("", tab.content)
				for _, r := range query(t, m, "SELECT "+cols+" FROM "+tab.name+" WHERE job = 'job' AND run = 1") {
					got = append(got, tab.name+" "+r)
				}
			}
			same(t, "rows", []string{c.want}, got)
		})
	}
}

// TestInsertRefuses has lines that are not what they should be. Those before
// them are not written either.
func TestInsertRefuses(t *testing.T) {
	m := newMart(t)
	r := begin(t, m, "job")
	good := row("a", 8, 0, 1)
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct {
		name string
		kind Kind
		line string
		want string
	}{
		{"no JSON", Rows, `{"key":`, `line 2 of the rows is not valid JSON: {"key":`},
		{"no object", Rows, `[1]`, "is not an object"},
		{"no key", Rows, swap(`"key"`, `"kee"`), "has no member key"},
		{"no end", Rows, swap(`"window_end"`, `"end"`), "has no member window_end"},
		{"number for text", Rows, swap(`"a"`, "1"), "has the member key = 1, want a string"},
		{"text for a number", Rows, swap(`"sum":1`, `"sum":"1"`), `has the member sum = "1", want a whole number of 64 bits`},
		{"too large", Rows, swap(`"sum":1`, `"sum":9223372036854775808`), "want a whole number of 64 bits"},
		{"decimals", Rows, swap(`"sum":1`, `"sum":1.0`), "want a whole number of 64 bits"},
		{"no time", Rows, swap(`"2024-06-01T08:00:00Z"`, `"today"`), `has the member window_start = "today", want an RFC 3339 time`},
		{"no sum", Rows, swap(`"sum":1`, `"sum":null`), "want a whole number"},
		{"late, not listed", Late, strings.Replace(lateLine("in", 1, 8), "window_end", "end", 1), "want an RFC 3339 time"},
		{"late, not a bool", Late, strings.Replace(lateLine("in", 1, 8), "true", "1", 1), "want true or false"},
		{"bad, not base64", Bad, `{"source":"in","position":1,"raw":"","reason":"why","raw_base64":"?"}`, "want base64"},
		{"overflow without a row", Bad, `{"source":"total","position":0,"raw":"","reason":"","key":"","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:00Z","total":"1"}`, "has the member raw"},
		{"counts, one missing", Counts, strings.Replace(countsLine("", 8, 1, 0, 0), `"late":0,`, "", 1), "has 10 of the members"},
		{"counts, no digits", Counts, strings.Replace(countsLine("", 8, 1, 0, 0), `"10"`, `"1e1"`, 1), "want a string of decimal digits"},
		{"counts, no currency", Counts, strings.Replace(countsLine("", 8, 1, 0, 0), `""`, "null", 1), "want a string"},
		{"unknown kind", kinds, good, "unknown kind of lines: Kind(5)"},
	} {
		first := map[Kind]string{Rows: good, Late: lateLine("in", 9, 9), Bad: badLine("in", 9), Counts: countsLine("", 9, 1, 0, 0)}[c.kind]
		t.Run(c.name, func(t *testing.T) {
			says(t, r.Insert(c.kind, of(first, c.line)), c.want, m.path)
			same(t, "rows", nil, dump(t, m))
		})
	}
	fault := errors.New("disk on fire")
	if err := r.Insert(Rows, func(emit func([]byte) error) error { return errors.Join(emit([]byte(good)), fault) }); !errors.Is(err, fault) {
		t.Errorf("error %v, want %v", err, fault)
	}
	same(t, "rows", nil, dump(t, m))
}

// TestNewestWins inserts rows of several runs in the wrong order.
func TestNewestWins(t *testing.T) {
	m := newMart(t)
	one, two := begin(t, m, "job"), begin(t, m, "job")
	other := begin(t, m, "other")
	insert := func(r *Run, kind Kind, lines ...string) { t.Helper(); ok(t, r.Insert(kind, of(lines...))) }
	overflow := func(count int) string {
		return fmt.Sprintf(`{"source":"total","position":0,"raw":"{\"pane\":\"LATE\",\"count\":%d}","reason":"r","key":"k",`+
			`"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:00Z","total":"%d"}`, count, count)
	}
	insert(one, Rows, row("a", 8, 3, 13), row("a", 8, 2, 12), row("a", 9, 0, 10), row("a", 9, 1, 11))
	insert(two, Rows, row("a", 8, 1, 21), row("a", 8, 0, 20))
	insert(one, Rows, row("a", 8, 4, 14), row("a", 9, 0, 10))
	insert(other, Rows, row("a", 8, 0, 30))
	same(t, "rows", []string{"job|8|2|1|21", "job|9|1|1|11", "other|8|3|0|30"},
		query(t, m, "SELECT job, window_start_ms / 3600000 % 24, run, revision, sum FROM gmv"))

	insert(two, Bad, badLine("in", 1), overflow(3), overflow(2))
	insert(one, Bad, strings.Replace(badLine("in", 1), "cut off", "older", 1), badLine("in", 2), overflow(4))
	same(t, "bad records", []string{"1|2|cut off", "2|1|cut off"}, query(t, m, "SELECT position, run, reason FROM bad"))
	same(t, "overflows", []string{"2|3"}, query(t, m, "SELECT run, total FROM overflows"))

	insert(two, Late, lateLine("in", 1, 8))
	insert(one, Late, lateLine("in", 1, 9), lateLine("im", 1, 9))
	same(t, "late records", []string{"im|1", "in|2"}, query(t, m, "SELECT source, run FROM late"))
}

// TestPanes inserts rows and overflows of one window, the last ones first.
func TestPanes(t *testing.T) {
	m := newMart(t)
	g, a := begin(t, m, "gmv"), beginAverages(t, m, "average")
	insert := func(r *Run, kind Kind, line string) { t.Helper(); ok(t, r.Insert(kind, of(line))) }
	panes := []string{"EARLY", "ON_TIME", "LATE", "FINAL"}
	for i := range 2 * len(panes) {
		revision := len(panes) - 1 - i%len(panes) // all of them twice
		pane := panes[revision]
		insert(g, Rows, strings.Replace(row("k", 8, revision, revision), "ON_TIME", pane, 1))
		insert(a, Rows, strings.Replace(averageLine("k", 8, revision, "0.5", 1), "EARLY", pane, 1))
		insert(g, Bad, strings.Replace(overLine("k", "", 8, "9223372036854775808", 7), "LATE", pane, 1))
	}
	for _, name := range []string{"gmv", "averages", "overflows"} {
		same(t, name, []string{"k|FINAL"}, query(t, m, "SELECT key, pane FROM "+name))
	}
}

// TestCounts adds deltas, within and without 64 bits.
func TestCounts(t *testing.T) {
	m := newMart(t)
	one, two := begin(t, m, "job"), begin(t, m, "job")
	money := func(assigned, added string) string {
		return fmt.Sprintf(`{"window_start":"2024-06-01T08:00:00Z","window_end":"2024-06-01T09:00:00Z","currency":"","assigned":1,"added":1,`+
			`"corrected":0,"late":0,"assigned_sum":%q,"added_sum":%q,"corrected_sum":"0","late_sum":"-1"}`, assigned, added)
	}
	counts := func() []string {
		return query(t, m, "SELECT run, currency, assigned, added, corrected, late, assigned_sum, typeof(assigned_sum), added_sum, typeof(added_sum), late_sum FROM window_counts")
	}
	const huge = "170141183460469231731687303715884105727" // 2^127 - 1
	ok(t, one.Insert(Counts, of(money("9223372036854775807", huge), money("1", huge), countsLine("EUR", 8, 2, 1, 3))))
	same(t, "counts", []string{
		"1||2|2|0|0|9223372036854775808|text|340282366920938463463374607431768211454|text|-2",
		"1|EUR|5|2|1|3|50|integer|20|integer|30",
	}, counts())
	ok(t, one.Insert(Counts, of(money("-2", "-"+huge))))
	same(t, "more counts", []string{"1||3|3|0|0|9223372036854775806|integer|" + huge + "|text|-3"}, counts()[:1])

	ok(t, two.Insert(Counts, of(money("5", "5"))))
	ok(t, one.Insert(Counts, of(money("7", "7"), countsLine("EUR", 8, 1, 0, 0))))
	same(t, "counts of a newer run", []string{"2||1|1|0|0|5|integer|5|integer|-1", "1|EUR|6|3|1|3|60|integer|30|integer|30"}, counts())
	ok(t, two.Insert(Counts, of(money("5", "5"), money("5", "5"))))
	same(t, "counts of a newer run", []string{"2||3|3|0|0|15|integer|15|integer|-3"}, counts()[:1])
}

// TestTotals inserts totals in any order, some of them twice: what is larger stays,
// number by number, with the sum that comes with it.
func TestTotals(t *testing.T) {
	m := newMart(t)
	one := begin(t, m, "job")
	line := func(assigned, added int, assignedSum, addedSum string) string {
		return fmt.Sprintf(`{"window_start":"2024-06-01T08:00:00Z","window_end":"2024-06-01T09:00:00Z","currency":"","assigned":%d,"added":%d,`+
			`"corrected":0,"late":0,"assigned_sum":%q,"added_sum":%q,"corrected_sum":"0","late_sum":"0"}`, assigned, added, assignedSum, addedSum)
	}
	counts := func() []string {
		return query(t, m, "SELECT run, assigned, added, assigned_sum, added_sum FROM window_counts")
	}
	ok(t, one.Insert(Totals, of(line(3, 0, "-30", "0"), line(2, 1, "500", "7"), line(3, 0, "-30", "0"))))
	same(t, "totals", []string{"1|3|1|-30|7"}, counts())
	ok(t, one.Insert(Totals, of(line(1, 2, "900", "8"))))
	ok(t, one.Insert(Totals, of(line(1, 2, "900", "8"))))
	same(t, "more totals", []string{"1|3|2|-30|8"}, counts())
	same(t, "the run", []string{"1"}, query(t, m, "SELECT wrote_counts FROM runs"))

	ok(t, begin(t, m, "job").Replace(map[Kind]Lines{Totals: of(line(1, 0, "1", "0"), line(2, 2, "2", "2"), line(0, 1, "0", "1"))}, Summary{Assigned: 2, Added: 2}))
	same(t, "totals of a newer run", []string{"2|2|2|2|2"}, counts())
	says(t, beginJoin(t, m, "joined", "inner").Insert(Totals, of(line(1, 0, "1", "0"))), "window counts so far for job")
}

// TestManyCounts has more windows than are added up in memory.
func TestManyCounts(t *testing.T) {
	m := newMart(t)
	var lines []string
	for i := range 3 * maxDeltas / 2 {
		lines = append(lines, countsLine(fmt.Sprintf("%05d", i), 8, 1, 0, 0))
	}
	ok(t, begin(t, m, "job").Insert(Counts, of(append(lines, lines...)...)))
	same(t, "counts", []string{fmt.Sprintf("%d|2|2|20|20", len(lines))},
		query(t, m, "SELECT count(*), min(assigned), max(assigned), min(added_sum), max(added_sum) FROM window_counts"))
}

// TestAtOnce has many that insert, and some who read.
func TestAtOnce(t *testing.T) {
	m := newMart(t)
	r := begin(t, m, "job")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 20 {
				err := errors.Join(
					r.Insert(Counts, of(countsLine("", 8, 1, 0, 1), countsLine("", 8, 1, 1, 0))),
					r.Insert(Rows, of(row(fmt.Sprint(i), 8, 0, 1), row("all", 8, i, i))),
					m.Balances("job", func(b *Balance) error { return b.Check() }),
				)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	same(t, "counts", []string{"240|160|80|80|2400"}, query(t, m, "SELECT assigned, added, corrected, late, assigned_sum FROM window_counts"))
	same(t, "rows", []string{"0|1", "1|1", "2|1", "3|1", "all|3"}, query(t, m, "SELECT key, sum FROM gmv"))
}

func TestEnd(t *testing.T) {
	m := newMart(t)
	if _, err := m.Begin(RunInfo{Command: "gmv"}); err == nil {
		t.Error("a job without a name has begun")
	}
	r := begin(t, m, "job")
	says(t, r.Finish("running", Summary{}), `status = "running", want done, interrupted or failed`)
	ok(t, r.Finish(Interrupted, Summary{Read: 1, Bad: 2, Assigned: 3, Added: 4, Corrected: 5, Late: 6, Overflowed: 7}))
	for what, err := range map[string]error{
		"Insert":  r.Insert(Rows, of()),
		"Replace": r.Replace(nil, Summary{}),
		"Finish":  r.Finish(Done, Summary{}),
	} {
		says(t, err, `run 1 of job "job" has ended already`)
		if err == nil {
			t.Errorf("%s after the end", what)
		}
	}
	failed := begin(t, m, "job")
	ok(t, failed.Finish(Failed, Summary{}))
	begin(t, m, "job")
	begin(t, m, "job")
	if n := begin(t, m, "other").Number(); n != 5 {
		t.Errorf("run %d, want 5", n)
	}
	same(t, "runs", []string{
		"1|job|gmv|interrupted|1|2|3|4|5|6|7",
		"2|job|gmv|failed|0|0|0|0|0|0|0",
		"3|job|gmv|crashed|null|null|null|null|null|null|null",
		"4|job|gmv|running|null|null|null|null|null|null|null",
		"5|other|gmv|running|null|null|null|null|null|null|null",
	}, dumpRuns(t, m))
	same(t, "times", []string{"1700000000000|1700000000000", "1700000000000|null"},
		query(t, m, "SELECT DISTINCT started_ms, ended_ms FROM runs ORDER BY ended_ms DESC"))
}
