package mart

import (
	"errors"
	"slices"
	"testing"
)

// everything are lines of every kind; keys take part in the row's sum.
func everything(sum int, keys ...string) map[Kind]Lines {
	var gmv, late, bad, counts []string
	for i, k := range keys {
		gmv = append(gmv, row(k, 8, 0, sum), row(k, 8, 1, sum+1))
		late = append(late, lateLine(k, i, 8))
		bad = append(bad, badLine(k, i), overflowLine(k))
		counts = append(counts, countsLine(k, 8, sum, 0, i), countsLine(k, 8, 1, 1, 0))
	}
	return map[Kind]Lines{Rows: of(gmv...), Late: of(late...), Bad: of(bad...), Counts: of(counts...)}
}

func overflowLine(key string) string {
	return `{"source":"total","position":0,"raw":"{\"pane\":\"LATE\",\"count\":2}","reason":"r","key":"` + key + `",` +
		`"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:00Z","total":"99999999999999999999"}`
}

// runsOf lists the runs that rows of a job were written by, with how many rows.
func runsOf(t tester, m *Mart, job string) []string {
	t.Helper()
	var out []string
	for _, tab := range tables {
		for _, r := range query(t, m, "SELECT run, count(*) FROM "+tab.name+" WHERE job = ? GROUP BY run", job) {
			out = append(out, tab.name+"|"+r)
		}
	}
	return out
}

func TestReplace(t *testing.T) {
	m := newMart(t)
	replace := func(job string, all map[Kind]Lines) {
		t.Helper()
		ok(t, begin(t, m, job).Replace(all, Summary{Read: 9}))
	}
	replace("job", everything(1, "a", "b", "c"))
	replace("other", everything(5, "a"))
	first := dump(t, m)
	same(t, "first", []string{"gmv|1|3", "window_counts|1|3", "late|1|3", "bad|1|3", "overflows|1|3"}, runsOf(t, m, "job"))
	same(t, "rows", []string{"a|1|2", "b|1|2", "c|1|2"}, query(t, m, "SELECT key, revision, sum FROM gmv WHERE job = 'job'"))

	// The same again, in another order too, leaves everything as it was.
	replace("job", everything(1, "a", "b", "c"))
	same(t, "the same", first, dump(t, m))
	turned := everything(1, "a", "b", "c")
	for kind, lines := range turned {
		var all []string
		ok(t, lines(func(l []byte) error { all = append(all, string(l)); return nil }))
		slices.Reverse(all)
		turned[kind] = of(all...)
	}
	replace("job", turned)
	same(t, "the same, turned round", first, dump(t, m))

	// What changes gets the run's number, what is gone goes.
	changed := everything(1, "a", "b")
	changed[Rows] = of(row("a", 8, 1, 2), row("b", 8, 1, 7), row("d", 8, 0, 1))
	replace("job", changed)
	same(t, "changed", []string{"gmv|1|1", "gmv|5|2", "window_counts|1|2", "late|1|2", "bad|1|2", "overflows|1|2"}, runsOf(t, m, "job"))
	same(t, "rows", []string{"a|1|2|1", "b|1|7|5", "d|0|1|5"}, query(t, m, "SELECT key, revision, sum, run FROM gmv WHERE job = 'job'"))
	same(t, "other job", []string{"gmv|2|1", "window_counts|2|1", "late|2|1", "bad|2|1", "overflows|2|1"}, runsOf(t, m, "other"))

	// Kinds that are not given stay, kinds without lines are emptied.
	replace("job", map[Kind]Lines{Late: of(), Bad: of(badLine("a", 0))})
	same(t, "a part", []string{"gmv|1|1", "gmv|5|2", "window_counts|1|2", "bad|1|1"}, runsOf(t, m, "job"))
	same(t, "statuses", []string{"done|9"}, query(t, m, "SELECT DISTINCT status, read FROM runs"))
}

// TestReplaceFails has an input that fails at its end.
func TestReplaceFails(t *testing.T) {
	m := newMart(t)
	ok(t, begin(t, m, "job").Replace(everything(1, "a", "b"), Summary{}))
	before := dump(t, m)
	for _, job := range []string{"job", "new"} {
		r := begin(t, m, job)
		fault := errors.New("disk on fire")
		all := everything(2, "b")
		all[Counts] = func(func([]byte) error) error { return fault }
		if err := r.Replace(all, Summary{}); !errors.Is(err, fault) {
			t.Errorf("error %v, want %v", err, fault)
		}
		same(t, "rows", before, dump(t, m))
		says(t, r.Replace(map[Kind]Lines{Rows: of("x")}, Summary{}), "line 1 of the rows is not valid JSON: x")
		says(t, r.Replace(map[Kind]Lines{kinds: of()}, Summary{}), "unknown kind")
		same(t, "rows", before, dump(t, m))
		ok(t, r.Finish(Failed, Summary{}))
	}
	same(t, "statuses", []string{"done", "failed", "failed"}, query(t, m, "SELECT status FROM runs ORDER BY run"))
	ok(t, begin(t, m, "job").Replace(everything(1, "a", "b"), Summary{}))
	same(t, "rows", before, dump(t, m))
}

// TestSuperseded lets a run end after one that has begun later.
func TestSuperseded(t *testing.T) {
	m := newMart(t)
	ok(t, begin(t, m, "job").Replace(everything(1, "a"), Summary{}))
	older, newer := begin(t, m, "job"), begin(t, m, "job")
	ok(t, newer.Replace(everything(1, "a"), Summary{}))
	before := dump(t, m)
	err := older.Insert(Rows, everything(2, "a")[Rows])
	says(t, err, `run 2 of job "job": a newer run of the job has replaced all rows of older ones; nothing was written`, m.path)
	if !errors.Is(err, ErrSuperseded) {
		t.Errorf("Insert: error %v, want ErrSuperseded", err)
	}
	if err := older.Replace(everything(2, "b"), Summary{Read: 3}); !errors.Is(err, ErrSuperseded) {
		t.Errorf("Replace: error %v, want ErrSuperseded", err)
	}
	same(t, "rows", before, dump(t, m))
	same(t, "runs", []string{"1|done|0", "2|superseded|3", "3|done|0"}, query(t, m, "SELECT run, status, read FROM runs"))
	says(t, older.Finish(Done, Summary{}), "has ended already")
}

// TestReplaceAfterInsert lets a batch run take over what a stream has left.
func TestReplaceAfterInsert(t *testing.T) {
	m := newMart(t)
	live := begin(t, m, "job")
	for kind, lines := range everything(3, "a", "z") {
		ok(t, live.Insert(kind, lines))
	}
	batch := begin(t, m, "job")
	ok(t, batch.Replace(everything(3, "a", "b"), Summary{}))
	same(t, "runs", []string{
		"gmv|1|1", "gmv|2|1", "window_counts|1|1", "window_counts|2|1", "late|1|1", "late|2|1", "bad|1|1", "bad|2|1", "overflows|1|1", "overflows|2|1",
	}, runsOf(t, m, "job"))

	// A newer stream goes on from there.
	newer := begin(t, m, "job")
	ok(t, newer.Insert(Rows, of(row("b", 8, 0, 50), row("c", 8, 0, 50))))
	same(t, "rows", []string{"a|4|1", "b|50|3", "c|50|3"}, query(t, m, "SELECT key, sum, run FROM gmv"))
}
