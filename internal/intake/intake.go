// Package intake is the front of every windowed transform: it settles which
// windows and lateness apply, and in which form elements come in.
package intake

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/windowfns"
)

const (
	// Unmarked is the mark of an element whose source says nothing about its
	// watermark: past every deadline, so that the gate has to decide. No source
	// can send it; see [CheckMark].
	Unmarked = math.MaxInt64

	// DefaultShards is the number of shards where a Config says 0.
	DefaultShards = 4

	maxShards = 1 << 16

	// probeAbove is the number of windows of an element above which unmarked ones
	// ask for the first of them only, to begin with.
	probeAbove = 16
)

// Form is the shape that elements come in, T being their type.
type Form int

// The forms.
const (
	Plain  Form = iota // T
	Marked             // KV<int64 mark, T>
	Placed             // KV<Origin, T>: windows of the input's own WindowInto
)

// Config are the settings that windowed transforms share. Their meaning is
// documented where users set them.
type Config struct {
	Windows         windowfns.Fn
	AllowedLateness time.Duration
	Watermarked     bool
	MarksDecide     bool
	Shards          int
	Retention       time.Duration
}

// Plan is a checked Config together with its input.
type Plan struct {
	Form    Form
	Type    reflect.Type   // T
	Windows portable.Value // a windowfns.Fn
	Shards  int
	Routing routing.Config

	// MarksDecide says that what is late by its mark is late: there is no gate.
	MarksDecide bool

	// Col is the input in the global window, in the shape that Form says.
	Col beam.PCollection
}

// Prepare checks cfg against col before it touches the graph.
func Prepare(s beam.Scope, cfg Config, col beam.PCollection) (Plan, error) {
	p := Plan{Shards: cfg.Shards, MarksDecide: cfg.MarksDecide}
	if err := cfg.Validate(); err != nil {
		return Plan{}, err
	}
	if p.Shards == 0 {
		p.Shards = DefaultShards
	}
	t, err := ElementType(s, cfg.Watermarked, col)
	if err != nil {
		return Plan{}, err
	}
	p.Type = t
	if cfg.Watermarked {
		p.Form = Marked
	}

	fn, lateness := cfg.Windows, cfg.AllowedLateness
	strategy := col.WindowingStrategy()
	if fn == nil {
		if fn, err = windowfns.FromBeam(strategy.Fn); err != nil {
			return Plan{}, fmt.Errorf("Windows is nil and the input's own windows cannot be used: %w", err)
		}
		if lateness != 0 {
			return Plan{}, fmt.Errorf("AllowedLateness = %v with the windows of the input, want it in the beam.AllowedLateness of the WindowInto", lateness)
		}
		lateness = time.Duration(strategy.AllowedLateness) * time.Millisecond
		if err := CheckSpan("the input's AllowedLateness", lateness); err != nil {
			return Plan{}, err
		}
	}
	p.Routing = routing.Config{
		LatenessMs:  lateness.Milliseconds(),
		RetentionMs: cfg.Retention.Milliseconds(),
		Layered:     cfg.Watermarked,
		Many:        !single(fn),
	}

	if p.Windows, err = portable.Of(fn); err != nil {
		return Plan{}, fmt.Errorf("Windows: %w", err)
	}
	if grid, ok := fn.(windowfns.Grid); ok && !cfg.Watermarked && cfg.Retention == 0 && MostWindows(grid) > probeAbove {
		p.Routing.Probe, p.Routing.Windows = true, p.Windows
	}
	switch {
	case cfg.Windows == nil:
		sc := s.Scope("place")
		var placed beam.PCollection
		if p.Form == Marked {
			placed = beam.ParDo(sc, &placeMarkedFn{Sliding: p.Routing.Many}, col)
		} else {
			placed = beam.ParDo(sc, &placeFn{Sliding: p.Routing.Many}, col)
		}
		p.Form, p.Col = Placed, beam.WindowInto(sc, window.NewGlobalWindows(), placed)
	default:
		p.Col = col
		if strategy.Fn.Kind != window.GlobalWindows {
			p.Col = beam.WindowInto(s, window.NewGlobalWindows(), col)
		}
	}
	return p, nil
}

// ElementType is the type T of the elements of col, which are T, or KV<int64, T>
// where watermarked is set.
func ElementType(s beam.Scope, watermarked bool, col beam.PCollection) (reflect.Type, error) {
	if !s.IsValid() || !col.IsValid() {
		return nil, errors.New("invalid scope or input, want both from one pipeline")
	}
	t := col.Type()
	switch {
	case watermarked:
		if !typex.IsKV(t) || t.Components()[0].Type() != reflect.TypeFor[int64]() || typex.IsComposite(t.Components()[1].Type()) {
			return nil, fmt.Errorf("input = PCollection<%v>, want KV<int64, T> where Watermarked is set: the watermark in ms, then the element", t)
		}
		return t.Components()[1].Type(), nil
	case typex.IsComposite(t.Type()):
		return nil, fmt.Errorf("input = PCollection<%v>, want single elements: put the key and the value of a KV into a struct", t)
	default:
		return t.Type(), nil
	}
}

// Validate checks what can be checked without an input.
func (cfg Config) Validate() error {
	if rv := reflect.ValueOf(cfg.Windows); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return fmt.Errorf("Windows = a nil %T, want a value, or nil for the windows of the input", cfg.Windows)
	}
	if cfg.Windows != nil {
		if err := cfg.Windows.Validate(); err != nil {
			return err
		}
	}
	if err := CheckSpan("AllowedLateness", cfg.AllowedLateness); err != nil {
		return err
	}
	if err := CheckSpan("Retention", cfg.Retention); err != nil {
		return err
	}
	if cfg.MarksDecide && !cfg.Watermarked {
		return ErrNoMarks
	}
	return CheckShards(cfg.Shards)
}

// ErrNoMarks refuses to let marks decide where there are none.
var ErrNoMarks = errors.New("MarksDecide without Watermarked, want both: it is about marks")

// CheckShards refuses a number of shards that is not accepted.
func CheckShards(n int) error {
	if n < 0 || n > maxShards {
		return fmt.Errorf("Shards = %d, want 1 to %d, or 0 for the default of %d", n, maxShards, DefaultShards)
	}
	return nil
}

// CheckSpan refuses a lateness or retention that is not accepted.
func CheckSpan(name string, d time.Duration) error {
	if d < 0 || d%time.Millisecond != 0 || d > routing.MaxLateness {
		return fmt.Errorf("%s = %v, want a whole number of milliseconds from 0s to %v", name, d, routing.MaxLateness)
	}
	return nil
}

// MostWindows is how many windows of grid an element has at most.
func MostWindows(grid windowfns.Grid) int64 {
	_, last := grid.Ends(0)
	w := grid.EndingAt(last)
	return (w.EndMs - w.StartMs + grid.StepMs() - 1) / grid.StepMs()
}

// single reports whether fn is known to give one window an element.
func single(fn windowfns.Fn) bool {
	switch fn.(type) {
	case windowfns.Tumbling, windowfns.Calendar, windowfns.Session:
		return true
	default:
		return false
	}
}
