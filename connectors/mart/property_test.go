package mart

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cleared is m without rows and runs, which takes less time than a new mart.
func cleared(t *rapid.T, m *Mart) *Mart {
	t.Helper()
	ok(t, m.transact(func() error {
		for _, name := range []string{"runs", "sqlite_sequence", "gmv", "averages", "window_counts", "late", "bad", "overflows"} {
			if err := m.exec("DELETE FROM " + name); err != nil {
				return err
			}
		}
		return nil
	}))
	return m
}

// TestInsertAnyOrder draws rows of several runs, and inserts them in two orders
// and in two batchings. Both leave the row of the newest (run, revision).
func TestInsertAnyOrder(t *testing.T) {
	shared := newMart(t)
	type entry struct {
		run, hour, revision int
		key                 string
	}
	draw := rapid.Custom(func(t *rapid.T) entry {
		return entry{
			rapid.IntRange(0, 2).Draw(t, "run"), rapid.IntRange(8, 9).Draw(t, "hour"),
			rapid.IntRange(0, 3).Draw(t, "revision"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		// A revision of a run is emitted once.
		all := rapid.SliceOfNDistinct(draw, 0, 20, rapid.ID[entry]).Draw(t, "rows")
		insert := func(order []entry) []string {
			m := cleared(t, shared)
			runs := []*Run{begin(t, m, "job"), begin(t, m, "job"), begin(t, m, "job")}
			for len(order) > 0 {
				size := 1
				for size < len(order) && order[size].run == order[0].run && rapid.Bool().Draw(t, "together") {
					size++
				}
				var lines []string
				for _, e := range order[:size] {
					lines = append(lines, row(e.key, e.hour, e.revision, 100*e.run+e.revision))
				}
				ok(t, runs[order[0].run].Insert(Rows, of(lines...)))
				order = order[size:]
			}
			return query(t, m, "SELECT run, key, window_start_ms / 3600000 % 24, revision, sum FROM gmv")
		}

		newest := map[string]entry{}
		for _, e := range all {
			id := fmt.Sprintf("%d|%s", e.hour, e.key)
			if was, there := newest[id]; !there || e.run > was.run || e.run == was.run && e.revision > was.revision {
				newest[id] = e
			}
		}
		var want []string
		for _, e := range newest {
			want = append(want, fmt.Sprintf("%d|%s|%d|%d|%d", e.run+1, e.key, e.hour, e.revision, 100*e.run+e.revision))
		}
		slices.Sort(want)
		for range 2 {
			got := insert(rapid.Permutation(all).Draw(t, "order"))
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("mismatch (-want +got):\n%s", diff)
			}
		}
	})
}

// TestReplaceAgain draws inputs of two jobs that are run one after the other. The
// mart is always what the newest run of each job alone would have made, but for
// the numbers of runs; and running an input again changes nothing at all.
func TestReplaceAgain(t *testing.T) {
	repeated, once := newMart(t), newMart(t)
	type input struct {
		job  string
		sum  int
		keys []string
	}
	draw := rapid.Custom(func(t *rapid.T) input {
		return input{
			rapid.SampledFrom([]string{"one", "two"}).Draw(t, "job"), rapid.IntRange(1, 2).Draw(t, "sum"),
			rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string]).Draw(t, "keys"),
		}
	})
	run := func(t *rapid.T, m *Mart, in input) {
		t.Helper()
		ok(t, begin(t, m, in.job).Replace(everything(in.sum, in.keys...), Summary{}))
	}
	rapid.Check(t, func(t *rapid.T) {
		m := cleared(t, repeated)
		last := map[string]input{}
		for _, in := range rapid.SliceOfN(draw, 1, 5).Draw(t, "runs") {
			run(t, m, in)
			last[in.job] = in
			before := dump(t, m)
			run(t, m, in)
			if diff := cmp.Diff(before, dump(t, m)); diff != "" {
				t.Fatalf("the same input again: mismatch (-want +got):\n%s", diff)
			}
		}
		clean := cleared(t, once)
		for _, in := range last {
			run(t, clean, in)
		}
		if diff := cmp.Diff(withoutRuns(t, clean), withoutRuns(t, m)); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

// withoutRuns is everything in the mart but the runs and their numbers.
func withoutRuns(t tester, m *Mart) (out []string) {
	t.Helper()
	for _, tab := range tables {
		for _, r := range query(t, m, "SELECT job, "+names("", tab.key)+", "+names("", tab.content)+" FROM "+tab.name) {
			out = append(out, tab.name+": "+r)
		}
	}
	return out
}
