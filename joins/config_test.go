package joins_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/joins"
	"tidemark/testing/streamtest"
)

func init() {
	register.Function1x2(keyed[string])
	register.Function1x2(keyed[float64])
	register.Function1x2(keyed[*int64])
	register.Function1x2(keyed[map[string]int64])
	register.Function1x2(keyed[any])
	register.Function1x2(keyed[weighted])
	register.Function1x2(plain)
	register.Function3x1(swapped)
}

// weighted is a key with a float in it.
type weighted struct {
	Name   string
	Weight [2]float64
}

//nolint:unparam // The graph is never run: only the type of the keys matters.
func keyed[K any](e event) (k K, v lrow) { return k, lrow{ID: e.ID} }

func plain(e event) (string, int64) { return e.Key, 0 }

func swapped(string, *rrow, *lrow) string { return "" }

// TestConfigErrors: what is wrong is said with what was given and what is wanted.
func TestConfigErrors(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	events := beam.Create(s, event{})
	left, right, _ := beam.ParDo3(s, part, events)
	late := time.Duration(1<<63 - 1)
	for _, c := range []struct {
		name  string
		cfg   joins.Config
		fn    any // rowOf if nil
		noFn  bool
		left  beam.PCollection // left if not valid
		right beam.PCollection
		want  string
	}{
		{name: "lower in µs", cfg: joins.Config{Lower: -time.Microsecond}, want: "Lower = -1µs, want a whole number of milliseconds"},
		{name: "upper in ns", cfg: joins.Config{Upper: ms + 1}, want: "Upper = 1.000001ms, want a whole number of milliseconds"},
		{name: "lower too low", cfg: joins.Config{Lower: -late}, want: "Lower = -2562047h47m16.854775807s, want"},
		{name: "upper too high", cfg: joins.Config{Upper: late}, want: "Upper = 2562047h47m16.854775807s, want"},
		{name: "crossed", cfg: joins.Config{Lower: time.Second}, want: "Lower = 1s and Upper = 0s: no whole millisecond is in [1s, 0s], want an interval that holds one"},
		{name: "empty", cfg: joins.Config{ExclusiveUpper: true}, want: "no whole millisecond is in [0s, 0s), want an interval that holds one"},
		{name: "empty inside", cfg: joins.Config{Upper: ms, ExclusiveLower: true, ExclusiveUpper: true}, want: "no whole millisecond is in (0s, 1ms), want an interval that holds one"},
		{name: "type", cfg: joins.Config{Type: "outer"}, want: `Type = "outer", want one of ["inner" "left" "right" "full" "left_semi" "left_anti"]`},
		{name: "negative lateness", cfg: joins.Config{AllowedLateness: -ms}, want: "AllowedLateness = -1ms, want a whole number of milliseconds from 0s"},
		{name: "lateness in µs", cfg: joins.Config{AllowedLateness: 5 * time.Microsecond}, want: "AllowedLateness = 5µs, want a whole number of milliseconds from 0s"},
		{name: "lateness of centuries", cfg: joins.Config{AllowedLateness: late}, want: "AllowedLateness = 2562047h47m16.854775807s, want"},
		{name: "retention", cfg: joins.Config{Retention: -ms}, want: "Retention = -1ms, want a whole number of milliseconds from 0s"},
		{name: "shards", cfg: joins.Config{Shards: -1}, want: "Shards = -1, want 1 to 65536, or 0 for the default of 4"},
		{name: "many shards", cfg: joins.Config{Shards: 65537}, want: "Shards = 65537, want 1 to 65536"},
		{name: "rows of a key", cfg: joins.Config{MaxRowsPerKey: -1}, want: "MaxRowsPerKey = -1, want at least 1, or 0 for no limit"},
		{name: "marks decide", cfg: joins.Config{MarksDecide: true}, want: "MarksDecide without Watermarked, want both"},
		{name: "no KV", left: events, want: "left input = PCollection<joins_test.event>, want KV<K, V>"},
		{name: "grouped", right: beam.GroupByKey(s, right), want: "right input = PCollection<CoGBK<string,joins_test.rrow>>, want KV<K, V>"},
		{name: "other keys", left: beam.ParDo(s, keyed[float64], events), want: "keys of the type float64 on the left and string on the right, want one type"},
		{name: "marks on one side", cfg: joins.Config{Watermarked: true}, right: beam.ParDo(s, plain, events), want: "right input = PCollection<KV<string,int64>> where Watermarked is set, want values with the method WatermarkMs() int64"},
		{name: "no function", noFn: true, want: "fn = <nil>, want func(string, *joins_test.lrow, *joins_test.rrow) O"},
		{name: "nil function", fn: (func(string, *lrow, *rrow) said)(nil), want: "fn = nil, want a function"},
		{name: "closure", fn: func(string, *lrow, *rrow) said { return said{} }, want: "want a named function at package level, registered with register.Function3x1"},
		{name: "no pointers", fn: func(string, lrow, rrow) said { return said{} }, want: "fn = func(string, joins_test.lrow, joins_test.rrow) joins_test.said, want func(string, *joins_test.lrow, *joins_test.rrow) O"},
		{name: "swapped", fn: swapped, want: "want func(string, *joins_test.lrow, *joins_test.rrow) O"},
		{name: "no result", fn: func(string, *lrow, *rrow) {}, want: "want func(string, *joins_test.lrow, *joins_test.rrow) O"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fn == nil && !c.noFn {
				c.fn = rowOf
			}
			if !c.left.IsValid() {
				c.left = left
			}
			if !c.right.IsValid() {
				c.right = right
			}
			_, err := joins.TryInterval(s, c.cfg, c.fn, c.left, c.right)
			if err == nil || !strings.HasPrefix(err.Error(), "joins.Interval: ") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("TryInterval: %v, want %s", err, c.want)
			}
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("Interval panics with %v, want %v", got, err)
				}
			}()
			joins.Interval(s, c.cfg, c.fn, c.left, c.right)
		})
	}
	if _, err := joins.TryInterval(s, joins.Config{}, rowOf, beam.PCollection{}, right); err == nil || !strings.Contains(err.Error(), "invalid scope or input, want all from one pipeline") {
		t.Errorf("no input: %v", err)
	}
	if _, err := joins.TryInterval(beam.Scope{}, joins.Config{}, rowOf, left, right); err == nil || !strings.Contains(err.Error(), "invalid scope or input, want all from one pipeline") {
		t.Errorf("no scope: %v", err)
	}
}

// TestKeyTypes: keys whose equal values can have several encodings are refused.
func TestKeyTypes(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	events := beam.Create(s, event{})
	for _, c := range []struct {
		keyed any
		want  string
	}{
		{keyed[float64], "keys of the type float64, want strings, integers, booleans, or structs, arrays or slices of them: equal keys must have equal encodings"},
		{keyed[*int64], "keys of the type *int64, want"},
		{keyed[map[string]int64], "keys of the type map[string]int64, want"},
		{keyed[weighted], "field Weight: keys of the type float64, want"},
	} {
		col := beam.ParDo(s, c.keyed, events)
		if _, err := joins.TryInterval(s, joins.Config{}, rowOf, col, col); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestValidate: what is wrong without inputs is known without them.
func TestValidate(t *testing.T) {
	if err := (joins.Config{Lower: -ms, Type: joins.LeftAnti, AllowedLateness: ms, MaxRowsPerKey: 1}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (joins.Config{Lower: ms}).Validate(); err == nil || !strings.Contains(err.Error(), "Lower = 1ms and Upper = 0s") {
		t.Errorf("%v, want an error on bounds", err)
	}
}

// TestInputWindows: the windows of the inputs do not matter, nor do those that a side
// has and the other has not. All outputs are in the global window.
func TestInputWindows(t *testing.T) {
	c := newRandomCase(4 * 6)
	c.cfg.Type = "full"
	c.script(20)
	tl := timelineOf(c.steps, false)
	want := anyStep(c.cfg.Play(c.steps))
	for name, fn := range map[string]*window.Fn{
		"fixed": window.NewFixedWindows(20 * ms), "session": window.NewSessions(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			out := play(t, configOf(c.cfg), func(s beam.Scope) (l, r beam.PCollection, ticks []beam.PCollection) {
				l, r, _ = stepwise(tl)(s)
				return beam.WindowInto(s, fn, l), r, nil
			})
			out.equals(t, c.cfg.Type, want)
		})
	}
}

// TestBadTimes: elements without an event time fail the pipeline, and so does a mark
// that is no watermark.
func TestBadTimes(t *testing.T) {
	for _, c := range []struct {
		atMs, mark int64
		want       string
	}{
		{-9_000_000_000_000, 0, "want a time of the years 1900 to 2185"},
		{0, 1<<63 - 1, "want the watermark of its source, of the year 2185 at the latest"},
	} {
		var tl streamtest.Timeline
		tl.At(c.atMs, marked{event{"left", "k", "bad"}, c.mark})
		_, err := streamtest.TryRun(func(s beam.Scope) {
			l, r, _ := stepwiseMarked(&tl)(s)
			joins.Interval(s, joins.Config{Watermarked: true}, rowOf, l, r)
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c, err, c.want)
		}
	}
}
