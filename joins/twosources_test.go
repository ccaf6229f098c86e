package joins_test

import (
	"fmt"
	"math"
	"testing"

	"tidemark/joins"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

const noon = int64(1_700_000_000_000)

func l(id string, at int64, awaits ...said) act {
	return act{side: "left", element: &oracle.JoinElement{Key: "k", ID: id, TimeMs: noon + at}, awaits: awaits}
}

func r(id string, at int64, awaits ...said) act {
	return act{side: "right", element: &oracle.JoinElement{Key: "k", ID: id, TimeMs: noon + at}, awaits: awaits}
}

func lwm(at int64, awaits ...said) act {
	return act{side: "left", watermark: noon + at, awaits: awaits}
}

func rwm(at int64, awaits ...said) act {
	return act{side: "right", watermark: noon + at, awaits: awaits}
}

func lend(awaits ...said) act {
	return act{side: "left", watermark: math.MaxInt64, awaits: awaits}
}

func rend(awaits ...said) act {
	return act{side: "right", watermark: math.MaxInt64, awaits: awaits}
}

// row is a row that an act awaits.
func row(left, right string) said { return said{"row", "", "k", left, right} }

// comesLate is a late left element that an act awaits.
func comesLate(id string) said { return said{"late", "left", "k", id, ""} }

// TestTwoSources lets two sources take turns, each with a watermark of its own. What an
// act awaits shows where the watermark of the join is by then, so that what comes after
// it is late or in time for certain. An element that is behind its own source is on its
// way until it shows: with marks it does not hold the watermark meanwhile.
func TestTwoSources(t *testing.T) {
	for _, c := range []struct {
		name string
		why  string
		cfg  joins.Config
		acts []act
		rows []said
		late []said
	}{
		{
			name: "idle", why: "the watermark of the side that is behind counts, wherever the other one is",
			cfg: joins.Config{Upper: 10 * ms, Type: joins.Full},
			acts: []act{
				l("l0", 0), l("l100", 100), rwm(50), lwm(100_000),
				// The minimum is 50: l0 is done, l100 is not.
				r("r105", 105, row("l0", "")),
				l("l110", 110, row("l100", "r105")), // not late, though its own source is far ahead
				r("r51", 51),                        // in time, and without a partner
				r("r112", 112),
				rwm(200, row("l110", "r112")),
				l("l199", 199, row("", "r51")), // behind the minimum now
				r("r200", 200, comesLate("l199")),
				lend(), rend(),
			},
			rows: []said{row("l0", ""), row("l100", "r105"), row("l110", "r112"), row("", "r51"), row("", "r200")},
			late: []said{comesLate("l199")},
		},
		{
			name: "finished early", why: "a side that has ended does not hold the other one up, and its rows wait for theirs",
			cfg: joins.Config{Lower: -10 * ms, Upper: 10 * ms, Type: joins.Full},
			acts: []act{
				r("r0", 0), r("r50", 50), r("r500", 500), rend(),
				l("l5", 5), lwm(100),
				l("l99", 99, row("", "r50")),
				lwm(400), l("l400", 400, comesLate("l99")),
				lwm(490), l("l490", 490, row("l400", "")), l("l510", 510, row("l490", "r500")),
				lend(row("l510", "r500")),
			},
			rows: []said{row("l5", "r0"), row("", "r50"), row("l400", ""), row("l490", "r500"), row("l510", "r500")},
			late: []said{comesLate("l99")},
		},
		{
			name: "far ahead", why: "rows of the side that is ahead wait for partners of the other side",
			cfg: joins.Config{Upper: 10 * ms, Type: joins.Left, AllowedLateness: 20 * ms},
			acts: []act{
				rwm(0), r("r1000005", 1_000_005), rwm(1_000_000),
				l("l0", 0), l("l50", 50), l("l100", 100), r("r4", 4), // behind its own watermark, but not behind the join's
				lwm(100, row("l0", "r4")),
				l("l80", 80, row("l50", "")), l("l79", 79), // in time by its lateness, and not
				l("l1000000", 1_000_000, comesLate("l79")),
				lwm(2_000_000, row("l1000000", "r1000005")),
				lend(row("l100", ""), row("l80", "")), rend(),
			},
			rows: []said{row("l0", "r4"), row("l50", ""), row("l80", ""), row("l100", ""), row("l1000000", "r1000005")},
			late: []said{comesLate("l79")},
		},
	} {
		for _, marks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/marks=%v", c.name, marks), func(t *testing.T) {
				c.cfg.Watermarked = marks
				c.cfg.Shards = 1
				out := perform(t, c.cfg, c.acts)
				times := map[string]int64{}
				for _, a := range c.acts {
					if a.element != nil {
						times[a.element.ID] = a.element.TimeMs
					}
				}
				var rows []oracle.JoinRow
				for _, s := range c.rows {
					rows = append(rows, oracle.JoinRow{Key: s.Key, Left: s.Left, Right: s.Right, TimeMs: max(times[s.Left], times[s.Right])})
				}
				var late []oracle.JoinLate
				for _, s := range c.late {
					id := s.Left + s.Right
					late = append(late, oracle.JoinLate{Side: s.Side, Element: oracle.JoinElement{Key: s.Key, ID: id, TimeMs: times[id]}})
				}
				if diff := streamtest.Diff(rows, out.rows); diff != "" {
					t.Errorf("%s: rows: %s", c.why, diff)
				}
				if diff := streamtest.Diff(late, out.late); diff != "" {
					t.Errorf("%s: late: %s", c.why, diff)
				}
			})
		}
	}
}
