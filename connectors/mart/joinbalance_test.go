package mart

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestJoinFaults has rows and counts that contradict each other. Everything holds
// without the change that each case makes.
func TestJoinFaults(t *testing.T) {
	pairs := []string{joinedLine(8, "k", 1, 1), joinedLine(8, "k", 1, 2), joinedLine(8, "k", 2, 1)}
	lefts, rights := []string{joinedLine(9, "k", 3, 0)}, []string{joinedLine(9, "k", 0, 3)}
	matches := []string{joinedLine(8, "k", 1, 0), joinedLine(8, "k", 2, 0)}
	all := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	type load struct {
		typ    string
		rows   []string
		late   []string
		sum    Summary
		status string // Insert and Finish; else Replace
	}
	good := func(typ string) load {
		side := SideCounts{Assigned: 6, Joined: 2, Unmatched: 1, Late: 1, OverLimit: 2}
		return load{typ: typ, sum: joinSummary(side, side), late: []string{joinLateLine("left", 4), joinLateLine("right", 4)}, rows: map[string][]string{
			"inner": pairs, "left": all(pairs, lefts), "right": all(pairs, rights), "full": all(pairs, lefts, rights), "left_semi": matches, "left_anti": lefts,
		}[typ]}
	}
	types := []string{"inner", "left", "right", "full", "left_semi", "left_anti"}
	for _, c := range []struct {
		name   string
		types  []string
		change func(l *load)
		want   string // "" for none
	}{
		{"good", types, func(*load) {}, ""},
		{"good stream", types, func(l *load) { l.status = Done }, ""},
		{"rows go elsewhere", types, func(l *load) { l.rows = nil }, ""},
		{"late records go elsewhere", types, func(l *load) { l.late = nil }, ""},
		{"failed stream, rows on their way", types, func(l *load) { l.status, l.rows = Failed, l.rows[:1] }, ""},
		{"the law, left", types, func(l *load) { l.sum.Left.Assigned++ }, "left_assigned=7 is not left_joined=2 + left_unmatched=1 + left_late=1 + left_over_limit=2"},
		{"the law, right", types, func(l *load) { l.sum.Right.Joined-- }, "right_assigned=6 is not right_joined=1 + right_unmatched=1 + right_late=1 + right_over_limit=2"},
		{"the law, failed stream", types, func(l *load) { l.status, l.sum.Right.Joined = Failed, 1 }, "right_assigned=6 is not right_joined=1"},
		{"more open than unmatched", types, func(l *load) { l.sum.Left.Open = 2 }, "left_open=2 of left_unmatched=1"},
		{"assigned", types, func(l *load) { l.sum.Assigned++ }, "assigned=13, and the sides have 6 + 6"},
		{"added", types, func(l *load) { l.sum.Added-- }, "added=5, and the sides have 3 + 3"},
		{"late", types, func(l *load) { l.sum.Late++ }, "late=3, and the sides have 1 + 1"},
		{"over the limit", types, func(l *load) { l.sum.OverLimit = 0 }, "over_limit=0, and the sides have 2 + 2"},
		{"a late record is missing", types, func(l *load) { l.late = l.late[1:] }, "left_late=1, and join_late has 0"},
		{"a late record too many", types, func(l *load) { l.late = append(l.late, joinLateLine("right", 5)) }, "right_late=1, and join_late has 2"},
		{"no pairs of record 2", []string{"inner", "left", "right", "full"}, func(l *load) { l.rows = append(l.rows[:2:2], l.rows[3:]...) }, "left_joined=2, and 1 left records are in pairs, want 2"},
		{"a pair too many", []string{"inner", "left", "right", "full"}, func(l *load) { l.rows = append(l.rows, joinedLine(8, "k", 1, 7)) }, "right_joined=2, and 3 right records are in pairs, want 2"},
		{"a pair in a join without", []string{"left_semi", "left_anti"}, func(l *load) { l.rows = append(l.rows, joinedLine(8, "k", 1, 7)) }, "1 left records are in pairs, want 0"},
		{"left record lost", []string{"left_semi"}, func(l *load) { l.rows = l.rows[1:] }, "1 rows are of a left record alone, want 2"},
		{"left record lost", []string{"left", "full", "left_anti"}, func(l *load) {
			l.rows = append([]string{joinedLine(8, "k", 0, 3)}, pairs...)
			if l.typ != "full" {
				l.rows = pairs
			}
			if l.typ == "left_anti" {
				l.rows = []string{}
			}
		}, "0 rows are of a left record alone, want 1"},
		{"right record lost", []string{"right", "full"}, func(l *load) { l.rows = l.rows[:len(l.rows)-1] }, "right_unmatched=1, right_open=0, and 0 rows are of a right record alone, want 1"},
		{"alone where the type has none", []string{"inner", "right"}, func(l *load) { l.rows = append(l.rows, lefts...) }, "1 rows are of a left record alone, want 0"},
		{"alone, right", []string{"inner", "left", "left_semi", "left_anti"}, func(l *load) { l.rows = append(l.rows, rights...) }, "1 rows are of a right record alone, want 0"},
		{"both in a pair and alone", []string{"left", "full"}, func(l *load) { l.rows = append(all(pairs, rights)[:len(l.rows)-1], joinedLine(9, "k", 2, 0)) }, "1 left records have two rows alone, or one besides pairs"},
		{"two rows of a match", []string{"left_semi"}, func(l *load) {
			l.rows = []string{joinedLine(8, "k", 1, 0), strings.Replace(joinedLine(9, "k", 1, 0), `"n"`, `"m"`, 1)}
		}, "1 left records have two rows alone"},
		{"interrupted, one is open", []string{"left", "left_anti", "full"}, func(l *load) {
			l.status, l.sum.Left.Open = Interrupted, 1
			l.rows = map[string][]string{"left": pairs, "full": all(pairs, rights), "left_anti": {}}[l.typ]
		}, ""},
		{"interrupted, one that is open is there", []string{"left", "left_anti", "full"}, func(l *load) {
			l.status, l.sum.Left.Open = Interrupted, 1
		}, "left_unmatched=1, left_open=1, and 1 rows are of a left record alone, want 0"},
	} {
		for _, typ := range c.types {
			t.Run(c.name+"/"+typ, func(t *testing.T) {
				m := newMart(t)
				l := good(typ)
				c.change(&l)
				run := beginJoin(t, m, "trips", typ)
				lines := map[Kind]Lines{}
				if l.rows != nil {
					lines[Rows] = of(l.rows...)
				}
				if l.late != nil {
					lines[Late] = of(l.late...)
				}
				if l.status == "" {
					ok(t, run.Replace(lines, l.sum))
				} else {
					for kind, ls := range lines {
						ok(t, run.Insert(kind, ls))
					}
					ok(t, run.Finish(l.status, l.sum))
				}
				_, faults := balances(t, m, "trips")
				switch {
				case c.want == "":
					same(t, "faults", nil, faults)
				case len(faults) != 1:
					t.Errorf("faults %q, want one with %s", faults, c.want)
				default:
					says(t, fmt.Errorf("%s", faults[0]), `job "trips"`, c.want)
				}
			})
		}
	}
}

// TestJoinNewest has runs after one that has ended well. What they have not
// written is not looked for.
func TestJoinNewest(t *testing.T) {
	m := newMart(t)
	balance := func() (b *Balance) {
		t.Helper()
		ok(t, m.Balances("trips", func(got *Balance) error {
			if b != nil || !got.OfJob || got.Window != nil || got.Check() != nil {
				t.Errorf("%+v, %v", got, got.Check())
			}
			b = got
			return nil
		}))
		return b
	}
	all, sum := selfJoin()
	first := beginJoin(t, m, "trips", "full")
	if b := balance(); b.Join.Ended || b.Bad != nil || b.Note() != `job "trips": its newest run, 1, is running` {
		t.Errorf("%+v, %s", b, b.Note())
	}
	ok(t, first.Replace(all, sum))
	if b := balance(); !b.Join.Ended || *b.Bad != 2 || b.Note() != "" || b.Assigned != 8 || b.Join.Left != sum.Left || b.Join.Type != "full" {
		t.Errorf("%+v", b)
	}
	ok(t, beginJoin(t, m, "trips", "full").Finish(Failed, Summary{Assigned: 9}))
	if b := balance(); !b.Join.Ended || b.Assigned != 8 || b.Note() != `job "trips": its newest run, 2, is failed` {
		t.Errorf("%+v, %s", b, b.Note())
	}
	live := beginJoin(t, m, "trips", "full")
	ok(t, live.Insert(Rows, of(joinedLine(10, "k", 9, 9))))
	if b := balance(); b.Join.Ended || b.Bad != nil {
		t.Errorf("%+v, want that nothing is known while a run writes", b)
	}
	beginJoin(t, m, "trips", "full") // the one before has crashed
	if b := balance(); b.Join.Ended {
		t.Errorf("%+v, want that nothing is known after a crash", b)
	}
	ok(t, beginJoin(t, m, "trips", "full").Replace(all, sum))
	if b := balance(); !b.Join.Ended || b.Assigned != 8 || b.Note() != "" {
		t.Errorf("%+v, want that the next run has made it whole", b)
	}
	// One that only writes late records leaves the rows alone.
	ok(t, beginJoin(t, m, "trips", "inner").Replace(map[Kind]Lines{Late: of()}, joinSummary(SideCounts{Assigned: 5, Joined: 5}, SideCounts{})))
	if b := balance(); b.Assigned != 5 || b.Join.Type != "inner" {
		t.Errorf("%+v", b)
	}
}

// TestJoinProperty loads what random joins put out, in any order, by runs that
// replace the job and runs that are interrupted. Nothing is wrong until a row is
// taken away.
func TestJoinProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := opened(rt, t.TempDir()+"/mart.db")
		defer func() { ok(rt, m.Close()) }()
		for range rapid.IntRange(1, 3).Draw(rt, "runs") {
			replace := rapid.Bool().Draw(rt, "replace")
			var left, right SideCounts
			var lines []string
			n := rapid.IntRange(0, 4).Draw(rt, "pairs")
			seen := [2]map[int]bool{{}, {}}
			for range n {
				l, r := rapid.IntRange(1, 3).Draw(rt, "left"), rapid.IntRange(1, 3).Draw(rt, "right")
				seen[0][l], seen[1][r] = true, true
				lines = append(lines, joinedLine(8, "k", l, r)) // twice at times, which is one row
			}
			for i, c := range []*SideCounts{&left, &right} {
				c.Joined = int64(len(seen[i]))
				for p := range rapid.IntRange(0, 3).Draw(rt, "alone") {
					c.Unmatched++
					if !replace && rapid.Bool().Draw(rt, "open") {
						c.Open++
						continue
					}
					at := [2]int{}
					at[i] = 10 + p
					lines = append(lines, joinedLine(9, "k", at[0], at[1]))
				}
				c.Assigned = c.Joined + c.Unmatched
			}
			lines = rapid.Permutation(lines).Draw(rt, "order")
			run, sum := beginJoin(rt, m, "trips", "full"), joinSummary(left, right)
			if replace {
				ok(rt, run.Replace(map[Kind]Lines{Rows: of(lines...)}, sum))
			} else {
				cut := rapid.IntRange(0, len(lines)).Draw(rt, "batch")
				ok(rt, run.Insert(Rows, of(lines[:cut]...)))
				ok(rt, run.Insert(Rows, of(lines[cut:]...)))
				ok(rt, run.Finish(Interrupted, sum))
			}
			check := func() (err error) {
				ok(rt, m.Balances("trips", func(b *Balance) error { err = b.Check(); return nil }))
				return err
			}
			ok(rt, check())
			if left.Unmatched == left.Open {
				continue
			}
			own := "run <= ?"
			if !replace {
				own = "run = ?"
			}
			ok(rt, m.transact(func() error {
				return m.exec("DELETE FROM joined WHERE right_event IS NULL AND "+own+" AND left_position = (SELECT min(left_position) FROM joined WHERE right_event IS NULL AND "+own+")", run.Number(), run.Number())
			}))
			if check() == nil {
				rt.Fatal("a row is gone, and nobody has noticed")
			}
		}
	})
}
