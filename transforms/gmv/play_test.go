package gmv_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/tally"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gate"
	"tidemark/transforms/gmv"
)

// sale is the element of the tests.
type sale struct {
	Key, Currency string
	Minor         int64

	Mark int64 // the watermark of its source, where it has one

	// Where it comes from, in case files.
	Step int
	Raw  string
}

func init() {
	beam.RegisterType(reflect.TypeFor[sale]())
	register.Function1x1(entryOf)
}

func entryOf(s sale) gmv.Entry { return gmv.Entry{Key: s.Key, Currency: s.Currency, Minor: s.Minor} }

func saleOf(e oracle.Element) sale { return sale{Key: e.Key, Currency: e.Currency, Minor: e.Minor} }

// timeline is the script of steps as a stream of sales.
func timeline(steps []oracle.Step) *streamtest.Timeline {
	return timelineOf(steps, func(_ int, e oracle.Element) sale { return saleOf(e) })
}

// lateSale is an element of the late output.
type lateSale = streamtest.KV[gate.Missed, sale]

// outcome is what came out of gmv.PerKey.
type outcome struct {
	rows      []gmv.Row
	overflows []gmv.Overflow
	late      []lateSale
	counts    []gmv.Count // where they were asked for
	counters  counters
}

// counters are the metrics of the conservation law, in (element, window) pairs.
type counters struct{ assigned, added, corrected, late int64 }

func countersOf(get func(tally.Kind) int64) counters {
	return counters{get(tally.Assigned), get(tally.Added), get(tally.Corrected), get(tally.Late)}
}

func (c counters) exceed(d counters) bool {
	return c.assigned > d.assigned || c.added > d.added || c.corrected > d.corrected || c.late > d.late
}

// play runs gmv.PerKey on the stream that source makes. It checks where the
// outputs stand in time, and the conservation law.
func play(t *testing.T, cfg gmv.Config, source func(s beam.Scope) beam.PCollection) outcome {
	t.Helper()
	return playWith(t, source, func(s beam.Scope, in beam.PCollection) (rows, overflows, late beam.PCollection) {
		return gmv.PerKey(s, cfg, entryOf, in)
	})
}

// playCounted is play with gmv.PerKeyWithCounts.
func playCounted(t *testing.T, cfg gmv.Config, source func(s beam.Scope) beam.PCollection) outcome {
	t.Helper()
	var counts *streamtest.Captured
	out := playWith(t, source, func(s beam.Scope, in beam.PCollection) (rows, overflows, late beam.PCollection) {
		rows, overflows, counted, late := gmv.PerKeyWithCounts(s, cfg, entryOf, in)
		counts = streamtest.Capture(s, counted)
		return rows, overflows, late
	})
	for _, e := range streamtest.Elements[gmv.Count](counts) {
		if !e.Global || e.TimeMs != e.Value.EndMs-1 {
			t.Errorf("count at %d ms, in the global window %v, want at the end - 1 ms: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	out.counts = streamtest.Values[gmv.Count](counts)
	return out
}

func playWith(t *testing.T, source func(s beam.Scope) beam.PCollection, perKey func(beam.Scope, beam.PCollection) (_, _, _ beam.PCollection)) outcome {
	t.Helper()
	var rows, overflows, late *streamtest.Captured
	var count *tally.Tally
	res := streamtest.Run(t, func(s beam.Scope) {
		count = tally.Start()
		r, o, l := perKey(s, source(s))
		rows, overflows, late = streamtest.Capture(s, r), streamtest.Capture(s, o), streamtest.Capture(s, l)
	})
	for _, e := range streamtest.Elements[gmv.Row](rows) {
		if !e.Global || e.TimeMs != e.Value.EndMs-1 {
			t.Errorf("row at %d ms, in the global window %v, want at the end - 1 ms: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	for _, e := range streamtest.Elements[gmv.Overflow](overflows) {
		if !e.Global || e.TimeMs != e.Value.EndMs-1 {
			t.Errorf("overflow at %d ms, in the global window %v, want at the end - 1 ms: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	for _, e := range streamtest.Elements[lateSale](late) {
		if !e.Global || e.TimeMs != e.Value.Key.TimeMs {
			t.Errorf("late element at %d ms, in the global window %v, want at its own time: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	out := outcome{
		rows:      streamtest.Values[gmv.Row](rows),
		overflows: streamtest.Values[gmv.Overflow](overflows),
		late:      streamtest.Values[lateSale](late),
		counters:  countersOf(count.Get),
	}
	// Prism can lose counts of Beam's, so that these may be lower; see package
	// tally.
	metrics := countersOf(func(k tally.Kind) int64 { return streamtest.Counter(res, tally.Namespace, tally.Names[k]) })
	if metrics.exceed(out.counters) {
		t.Errorf("counters %+v, in this process %+v", metrics, out.counters)
	}
	var records int64
	for _, l := range out.late {
		records += int64(len(l.Key.Windows))
	}
	if c := out.counters; c.assigned != c.added+c.late || c.late != records {
		t.Errorf("counters %+v with %d windows in late records", c, records)
	}
	return out
}

// verify plays a stream and compares everything with what the oracle says: rows,
// overflows, late elements and counters.
func verify(t *testing.T, cfg gmv.Config, source func(s beam.Scope) beam.PCollection, want oracle.Result) outcome {
	t.Helper()
	out := play(t, cfg, source)
	out.equals(t, want)
	if c := (counters{want.Assigned, want.Added, want.Corrected, want.Missed}); out.counters != c {
		t.Errorf("counters %+v, want %+v", out.counters, c)
	}
	return out
}

// equals compares what came out with what the oracle says.
func (o outcome) equals(t *testing.T, want oracle.Result) {
	t.Helper()
	rows := make([]gmv.Row, len(want.Rows))
	for i, r := range want.Rows {
		rows[i] = gmv.Row(r)
	}
	for _, v := range o.overflows {
		if !strings.HasPrefix(v.Reason, "overflow: ") {
			t.Errorf("overflow with reason %q", v.Reason)
		}
	}
	got := make([]lateSale, len(o.late))
	for i, l := range o.late {
		l.Value.Step, l.Value.Raw = 0, ""
		got[i] = l
	}

	for name, diff := range map[string]string{
		"rows":      streamtest.Diff(rows, o.rows),
		"overflows": streamtest.Diff(want.Overflows, overflowsOf(o.overflows)),
		"late":      streamtest.Diff(lateOf(want), got),
	} {
		if diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// overflowsOf is overflows as the oracle has them, without the reason.
func overflowsOf(overflows []gmv.Overflow) []oracle.Overflow {
	all := make([]oracle.Overflow, len(overflows))
	for i, v := range overflows {
		all[i] = oracle.Overflow{
			Key: v.Key, Currency: v.Currency, StartMs: v.StartMs, EndMs: v.EndMs, Pane: v.Pane, Total: v.Total, Count: v.Count,
		}
	}
	return all
}

// lateOf is what the oracle says of late elements, as gmv.PerKey does.
func lateOf(want oracle.Result) []lateSale {
	late := make([]lateSale, len(want.Late))
	for i, l := range want.Late {
		late[i] = lateSale{
			Key:   gate.Missed{TimeMs: l.Element.TimeMs, Windows: l.Missed, All: l.All},
			Value: saleOf(l.Element),
		}
	}
	return late
}
