package average_test

import (
	"math/big"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/internal/tally"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/average"
	"tidemark/transforms/gate"
)

// sample is the element of the tests.
type sample struct {
	Key   string
	Value float64
}

func init() {
	beam.RegisterType(reflect.TypeFor[sample]())
	register.Function1x1(valueOf)
}

func valueOf(s sample) average.Entry { return average.Entry{Key: s.Key, Value: s.Value} }

func sampleOf(e oracle.Element) sample { return sample{Key: e.Key, Value: e.Value} }

// at is the step of an element.
func at(key string, ms int64, value float64) oracle.Step {
	return oracle.Add(oracle.Element{Key: key, TimeMs: ms, Value: value})
}

// timeline is the script of steps as a stream of samples.
func timeline(steps []oracle.Step) *streamtest.Timeline {
	var tl streamtest.Timeline
	for _, st := range steps {
		switch {
		case st.Element != nil:
			tl.At(st.Element.TimeMs, sampleOf(*st.Element))
		case st.Elapsed > 0:
			tl.ProcessingTime(st.Elapsed)
		default:
			tl.Watermark(st.WatermarkMs)
		}
	}
	return &tl
}

// lateSample is an element of the late output.
type lateSample = streamtest.KV[gate.Missed, sample]

// verify runs average.PerKeyWithCounts on the stream that source makes, and
// compares everything with what the oracle says: rows to the last bit, late
// elements, counts in elements and in values, and where they stand in time.
func verify(t *testing.T, cfg average.Config, source func(s beam.Scope) beam.PCollection, want oracle.AverageResult) {
	t.Helper()
	var rows, counts, late *streamtest.Captured
	var counters *tally.Tally
	streamtest.Run(t, func(s beam.Scope) {
		counters = tally.Start()
		r, c, l := average.PerKeyWithCounts(s, cfg, valueOf, source(s))
		rows, counts, late = streamtest.Capture(s, r), streamtest.Capture(s, c), streamtest.Capture(s, l)
	})
	for _, e := range streamtest.Elements[average.Row](rows) {
		if !e.Global || e.TimeMs != e.Value.EndMs-1 {
			t.Errorf("row at %d ms, in the global window %v, want at the end - 1 ms: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	for _, e := range streamtest.Elements[average.Count](counts) {
		if !e.Global || e.TimeMs != e.Value.EndMs-1 {
			t.Errorf("count at %d ms, in the global window %v, want at the end - 1 ms: %+v", e.TimeMs, e.Global, e.Value)
		}
	}
	wantRows := make([]average.Row, len(want.Rows))
	for i, r := range want.Rows {
		wantRows[i] = average.Row(r)
	}
	wantLate := make([]lateSample, len(want.Late))
	for i, l := range want.Late {
		wantLate[i] = lateSample{
			Key:   gate.Missed{TimeMs: l.Element.TimeMs, Windows: l.Missed, All: l.All},
			Value: sampleOf(l.Element),
		}
	}
	for name, diff := range map[string]string{
		"rows":   streamtest.Diff(wantRows, streamtest.Values[average.Row](rows)),
		"late":   streamtest.Diff(wantLate, streamtest.Values[lateSample](late)),
		"counts": streamtest.Diff(addedUp(t, want.Counts), addedUp(t, countsOf(counts))),
	} {
		if diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	assigned, added, missed := counters.Get(tally.Assigned), counters.Get(tally.Added), counters.Get(tally.Late)
	if assigned != want.Assigned || added != want.Added || missed != want.Missed {
		t.Errorf("assigned %d, added %d, late %d, want %d, %d, %d", assigned, added, missed, want.Assigned, want.Added, want.Missed)
	}
}

func countsOf(counts *streamtest.Captured) (all []oracle.Count) {
	for _, c := range streamtest.Values[average.Count](counts) {
		all = append(all, oracle.Count{StartMs: c.StartMs, EndMs: c.EndMs, Kind: c.Kind, Elements: c.Elements, Sum: c.Sum})
	}
	return all
}

// addedUp adds up counts by window and kind. Sums become fractions, which have
// one form.
func addedUp(t *testing.T, counts []oracle.Count) (all []oracle.Count) {
	t.Helper()
	type total struct {
		elements int64
		sum      big.Rat
	}
	totals := map[oracle.Count]*total{}
	for _, c := range counts {
		k := oracle.Count{StartMs: c.StartMs, EndMs: c.EndMs, Kind: c.Kind}
		if totals[k] == nil {
			totals[k] = &total{}
		}
		more, ok := new(big.Rat).SetString(c.Sum)
		if !ok || c.Elements <= 0 {
			t.Fatalf("count %+v", c)
		}
		totals[k].elements += c.Elements
		totals[k].sum.Add(&totals[k].sum, more)
	}
	for k, v := range totals {
		k.Elements, k.Sum = v.elements, v.sum.RatString()
		all = append(all, k)
	}
	return all
}
