package mart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
)

// gapMin is the gap of the sessions below, in minutes.
const gapMin = 10

// session is one of a key, from its first element to the gap behind its last one.
type session struct{ start, end, count int }

// line is a row of a session.
func (s session) line(key string, revision int) string {
	const midnight, minute = 1_717_200_000_000, 60_000
	r := gmv.Row{
		Key: key, Currency: "EUR", StartMs: midnight + int64(s.start)*minute, EndMs: midnight + int64(s.end)*minute,
		Pane: "EARLY", Revision: int64(revision), Minor: int64(10 * s.count), Count: int64(s.count),
	}
	return string(rows.AppendGMV(nil, &r, true))
}

// add adds elements, of which those that are less than a gap apart share a session.
func add(sessions []session, minutes ...int) []session {
	for _, at := range minutes {
		one := session{at, at + gapMin, 1}
		sessions = slices.DeleteFunc(sessions, func(s session) bool {
			if s.end <= one.start || one.end <= s.start {
				return false
			}
			one = session{min(s.start, one.start), max(s.end, one.end), s.count + one.count}
			return true
		})
		sessions = append(sessions, one)
	}
	return sessions
}

// rowsOfSessions plays elements in batches, of which some show what there is then. The
// last one does. A row that is no session any more is withdrawn.
func rowsOfSessions(t *rapid.T, key string, minutes []int) (lines []string) {
	type window struct{ start, end int }
	var now []session
	shown, revisions := map[window]int{}, map[window]int{} // counts, and of which a window was the last
	show := func(s session) {
		w := window{s.start, s.end}
		lines = append(lines, s.line(key, revisions[w]))
		shown[w] = s.count
		revisions[w]++
	}
	for len(minutes) > 0 {
		n := rapid.IntRange(1, len(minutes)).Draw(t, "elements")
		now, minutes = add(now, minutes[:n]...), minutes[n:]
		for w, count := range shown {
			is := func(s session) bool { return s.start == w.start && s.end == w.end }
			if count > 0 && !slices.ContainsFunc(now, is) {
				show(session{w.start, w.end, 0})
			}
		}
		for _, s := range now {
			if shown[window{s.start, s.end}] != s.count && (len(minutes) == 0 || rapid.Bool().Draw(t, "shown")) {
				show(s)
			}
		}
	}
	return lines
}

// TestSessionsAgain has a runner fail, which then reads everything again, in other
// batches, so that other sessions have rows before they are merged. What it had on its
// way can still come, between the new rows. In the end there are the sessions that the
// elements make, and nothing else.
func TestSessionsAgain(t *testing.T) {
	shared := newMart(t)
	rapid.Check(t, func(t *rapid.T) {
		m := cleared(t, shared)
		run, err := m.Begin(RunInfo{Job: "job", Sessions: true})
		ok(t, err)
		other, err := m.Begin(RunInfo{Job: "other", Sessions: true})
		ok(t, err)
		ok(t, other.Insert(Rows, of(session{20, 30, 1}.line("k", 0))))

		minutes := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 12).Draw(t, "minutes")
		first := rowsOfSessions(t, "k", minutes)
		first = first[:rapid.IntRange(0, len(first)).Draw(t, "rows before the failure")]
		again := append(rowsOfSessions(t, "k", minutes), session{20, 30, 1}.line("l", 0))
		for len(first)+len(again) > 0 {
			from := &first
			if len(first) == 0 || len(again) > 0 && rapid.Bool().Draw(t, "again") {
				from = &again
			}
			ok(t, run.Insert(Rows, of((*from)[0])))
			*from = (*from)[1:]
		}

		want := []string{"job|l|20|30|1", "other|k|20|30|1"}
		for _, s := range add(nil, minutes...) {
			want = append(want, fmt.Sprintf("job|k|%d|%d|%d", s.start, s.end, s.count))
		}
		slices.Sort(want)
		got := query(t, m, "SELECT job, key, window_start_ms / 60000 % 1440, window_end_ms / 60000 % 1440, count FROM gmv WHERE count > 0")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("sessions %q, want %q", got, want)
		}
	})
}

// TestSessionsOfAverages has rows of sessions that others take the place of.
func TestSessionsOfAverages(t *testing.T) {
	line := func(hours, count int) string {
		end := fmt.Sprintf(`"window_end":"2024-06-01T%02d:`, 8+hours)
		return strings.Replace(averageLine("k", 8, 0, "1", count), `"window_end":"2024-06-01T09:`, end, 1)
	}
	at := func(m *Mart) []string {
		return query(t, m, "SELECT (window_end_ms - window_start_ms) / 3600000, count, run FROM averages")
	}
	m := newMart(t)
	run := beginSessions(t, m, Average)
	ok(t, run.Insert(Rows, of(line(1, 1), line(2, 2))))
	same(t, "it has grown", []string{"2|2|1"}, at(m))
	ok(t, run.Insert(Rows, of(line(1, 1))))
	same(t, "it comes late", []string{"2|2|1"}, at(m))
	ok(t, run.Insert(Rows, of(line(1, 0))))
	same(t, "it is withdrawn", []string{"1|0|1", "2|2|1"}, at(m))
	ok(t, beginSessions(t, m, Average).Insert(Rows, of(line(3, 3))))
	same(t, "a newer run", []string{"1|0|1", "3|3|2"}, at(m))
	ok(t, run.Insert(Rows, of(line(4, 4))))
	same(t, "one of the older run", []string{"1|0|1", "3|3|2", "4|4|1"}, at(m))
	ok(t, beginSessions(t, m, Average).Replace(map[Kind]Lines{Rows: of(line(5, 5), line(4, 4)), Counts: of()}, Summary{}))
	same(t, "a batch", []string{"5|5|3"}, at(m))

	// Other windows lie in each other as they like.
	ok(t, beginAverages(t, m, "hours").Insert(Rows, of(line(1, 1), line(2, 2))))
	same(t, "windows", []string{"1|1|4", "2|2|4"}, at(m)[:2])
}
