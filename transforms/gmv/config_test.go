package gmv_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function1x2(keyed)
	register.Function1x1(wrongResult)
	beam.RegisterType(reflect.TypeFor[powers]())
	beam.RegisterType(reflect.TypeFor[evenOnly]())
	beam.RegisterType(reflect.TypeFor[hiding]())
}

func keyed(s sale) (string, sale) { return s.Key, s }

func wrongResult(s sale) int64 { return s.Minor }

// powers gives an element one window, from a power of ten to the next.
type powers struct{ Base int64 }

func (f powers) AppendWindows(dst []windowfns.Window, tMs int64) []windowfns.Window {
	start, end := int64(0), int64(1)
	for end <= tMs {
		start, end = end, end*f.Base
	}
	return append(dst, windowfns.Window{StartMs: start, EndMs: end})
}

func (f powers) Validate() error {
	if f.Base < 2 {
		return fmt.Errorf("powers: Base = %d, want at least 2", f.Base)
	}
	return nil
}

func (f powers) String() string { return fmt.Sprintf("powers(of %d)", f.Base) }

// evenOnly has no window for odd times, which is against the rules.
type evenOnly struct{ Wrong int64 }

func (f evenOnly) AppendWindows(dst []windowfns.Window, tMs int64) []windowfns.Window {
	if tMs%2 != 0 {
		return dst
	}
	return append(dst, windowfns.Window{StartMs: tMs + f.Wrong, EndMs: tMs + f.Wrong + 1})
}

func (f evenOnly) Validate() error { return nil }

func (f evenOnly) String() string { return "evenOnly" }

// hiding keeps its base to itself, so that a worker would not learn it.
type hiding struct{ base int64 }

func (f hiding) AppendWindows(dst []windowfns.Window, tMs int64) []windowfns.Window {
	return powers{f.base}.AppendWindows(dst, tMs)
}

func (f hiding) Validate() error { return nil }

func (f hiding) String() string { return "hiding" }

// stranger is not registered.
type stranger struct{ Base int64 }

func (f stranger) AppendWindows(dst []windowfns.Window, tMs int64) []windowfns.Window {
	return powers(f).AppendWindows(dst, tMs)
}

func (f stranger) Validate() error { return nil }

func (f stranger) String() string { return "stranger" }

// A window function of one's own works like those of package windowfns.
func TestOwnWindows(t *testing.T) {
	steps := []oracle.Step{
		oracle.Add(oracle.Element{Key: "k", Minor: 1, TimeMs: 0}),
		oracle.Add(oracle.Element{Key: "k", Minor: 2, TimeMs: 99}),
		oracle.Watermark(100),
		oracle.Add(oracle.Element{Key: "k", Minor: 4, TimeMs: 10}),
		oracle.Add(oracle.Element{Key: "k", Minor: 8, TimeMs: 5}),
		oracle.Add(oracle.Element{Key: "k", Minor: 16, TimeMs: 100}),
	}
	for _, fn := range []windowfns.Fn{powers{Base: 10}, &windowfns.Tumbling{Size: 10 * ms}} {
		cfg := gmv.Config{Windows: fn, AllowedLateness: 5 * ms}
		verify(t, cfg, timeline(steps).Create, oracle.Play(fn, 5, steps))
	}
}

// A window function that breaks the rules fails the job and says how.
func TestWindowFunctionsThatBreakTheRules(t *testing.T) {
	for _, c := range []struct {
		fn   evenOnly
		at   int64
		want string
	}{
		{evenOnly{}, 7, "evenOnly gives no window to the time 7 ms, want at least one"},
		{evenOnly{Wrong: 1}, 6, "evenOnly gives the window {7 8} to the time 6 ms, want windows around it"},
	} {
		_, err := streamtest.TryRun(func(s beam.Scope) {
			gmv.PerKey(s, gmv.Config{Windows: c.fn}, entryOf, timeline([]oracle.Step{oracle.Add(oracle.Element{TimeMs: c.at})}).Create(s))
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %s", err, c.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	const minute = time.Minute
	ok := windowfns.Tumbling{Size: minute}
	for _, c := range []struct {
		name  string
		cfg   gmv.Config
		input func(beam.Scope, beam.PCollection) beam.PCollection // of sales, if it is not the sales themselves
		fn    any                                                 // entryOf, if it is not entryOf
		want  string
	}{
		{name: "no windows", want: "Windows is nil and the input's own windows cannot be used: windowfns.FromBeam: got global windows, want fixed or sliding windows, or a windowfns.Fn in the Config"},
		{name: "sessions", input: windowed(window.NewSessions(minute)), want: "Windows is nil and the input's own windows cannot be used: windowfns.FromBeam: got sessions with gap 1m0s, want fixed or sliding windows, or a windowfns.Fn in the Config"},
		{name: "windows of Beam with holes", input: windowed(window.NewSlidingWindows(minute, time.Second)), want: "Windows is nil and the input's own windows cannot be used: windowfns.FromBeam: windowfns.Sliding: Period = 1m0s, want at most Size = 1s"},
		{name: "lateness twice", cfg: gmv.Config{AllowedLateness: minute}, input: windowed(window.NewFixedWindows(minute)), want: "AllowedLateness = 1m0s with the windows of the input, want it in the beam.AllowedLateness of the WindowInto"},
		{name: "size", cfg: gmv.Config{Windows: windowfns.Tumbling{}}, want: "windowfns.Tumbling: Size = 0s, want a positive whole number of milliseconds"},
		{name: "own validation", cfg: gmv.Config{Windows: powers{Base: 1}}, want: "powers: Base = 1, want at least 2"},
		{name: "nil pointer", cfg: gmv.Config{Windows: (*windowfns.Tumbling)(nil)}, want: "Windows = a nil *windowfns.Tumbling, want a value, or nil for the windows of the input"},
		{name: "negative lateness", cfg: gmv.Config{Windows: ok, AllowedLateness: -ms}, want: "AllowedLateness = -1ms, want a whole number of milliseconds from 0s to 2505360h0m0s"},
		{name: "fractional lateness", cfg: gmv.Config{Windows: ok, AllowedLateness: time.Microsecond}, want: "AllowedLateness = 1µs, want a whole number of milliseconds from 0s to 2505360h0m0s"},
		{name: "endless lateness", cfg: gmv.Config{Windows: ok, AllowedLateness: 2505361 * time.Hour}, want: "AllowedLateness = 2505361h0m0s, want a whole number of milliseconds from 0s to 2505360h0m0s"},
		{name: "negative retention", cfg: gmv.Config{Windows: ok, Retention: -minute}, want: "Retention = -1m0s, want a whole number of milliseconds from 0s to 2505360h0m0s"},
		{name: "negative shards", cfg: gmv.Config{Windows: ok, Shards: -1}, want: "Shards = -1, want 1 to 65536, or 0 for the default of 4"},
		{name: "many shards", cfg: gmv.Config{Windows: ok, Shards: 65537}, want: "Shards = 65537, want 1 to 65536, or 0 for the default of 4"},
		{name: "unregistered windows", cfg: gmv.Config{Windows: stranger{10}}, want: "Windows: type gmv_test.stranger is not known to workers, want beam.RegisterType(reflect.TypeFor[gmv_test.stranger]()) in an init function"},
		{name: "windows with a secret", cfg: gmv.Config{Windows: hiding{10}}, want: "Windows: field base of gmv_test.hiding would be lost on the way to workers, want exported fields only"},
		{name: "KV", cfg: gmv.Config{Windows: ok}, input: pairs, fn: entryOf, want: "input = PCollection<KV<string,gmv_test.sale>>, want single elements: put the key and the value of a KV into a struct"},
		{name: "no marks", cfg: gmv.Config{Windows: ok, Watermarked: true}, want: "input = PCollection<gmv_test.sale>, want KV<int64, T> where Watermarked is set: the watermark in ms, then the element"},
		{name: "marks of another type", cfg: gmv.Config{Windows: ok, Watermarked: true}, input: pairs, want: "input = PCollection<KV<string,gmv_test.sale>>, want KV<int64, T> where Watermarked is set: the watermark in ms, then the element"},
		{name: "marks that are not there decide", cfg: gmv.Config{Windows: ok, MarksDecide: true}, want: "MarksDecide without Watermarked, want both: it is about marks"},
		{name: "no function", cfg: gmv.Config{Windows: ok}, fn: 7, want: "entryOf = int, want func(gmv_test.sale) gmv.Entry"},
		{name: "wrong result", cfg: gmv.Config{Windows: ok}, fn: wrongResult, want: "entryOf = func(gmv_test.sale) int64, want func(gmv_test.sale) gmv.Entry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := beam.NewPipelineWithRoot()
			col := beam.Create(s, sale{})
			if c.input != nil {
				col = c.input(s, col)
			}
			if c.fn == nil {
				c.fn = entryOf
			}
			_, _, _, err := gmv.TryPerKey(s, c.cfg, c.fn, col)
			if err == nil || strings.TrimPrefix(strings.TrimPrefix(err.Error(), "gmv.PerKey: "), "aggregate.PerKey: ") != c.want {
				t.Fatalf("TryPerKey: %v, want %s", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "gmv.PerKey: ") {
				t.Errorf("%v, want the name of the function in front", err)
			}
			defer func() {
				if got, ok := recover().(error); !ok || got.Error() != err.Error() {
					t.Errorf("PerKey panics with %v, want %v", got, err)
				}
			}()
			gmv.PerKey(s, c.cfg, c.fn, col)
		})
	}
}

// Validate finds what is wrong whatever the input is, and leaves the rest.
func TestValidate(t *testing.T) {
	if err := (gmv.Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
	err := gmv.Config{Windows: windowfns.Tumbling{Size: -1}, AllowedLateness: time.Minute}.Validate()
	if want := "windowfns.Tumbling: Size = -1ns, want a positive whole number of milliseconds"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func windowed(fn *window.Fn) func(beam.Scope, beam.PCollection) beam.PCollection {
	return func(s beam.Scope, col beam.PCollection) beam.PCollection { return beam.WindowInto(s, fn, col) }
}

func pairs(s beam.Scope, col beam.PCollection) beam.PCollection { return beam.ParDo(s, keyed, col) }

// Try returns an error for a scope or an input that is not there, too.
func TestInvalidInput(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	cfg := gmv.Config{Windows: windowfns.Tumbling{Size: time.Minute}}
	try := func(s beam.Scope, col beam.PCollection) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = errors.Join(errors.New("panic"), fmt.Errorf("%v", r))
			}
		}()
		_, _, _, err = gmv.TryPerKey(s, cfg, entryOf, col)
		return err
	}
	if err := try(s, beam.PCollection{}); err == nil || err.Error() != "gmv.PerKey: invalid scope or input, want both from one pipeline" {
		t.Errorf("no input: %v", err)
	}
	if err := try(beam.Scope{}, beam.Create(s, sale{})); err == nil || strings.HasPrefix(err.Error(), "panic") {
		t.Errorf("no scope: %v", err)
	}
}
