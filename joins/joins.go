package joins

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"tidemark/internal/intake"
	"tidemark/internal/routing"
	"tidemark/joins/interval"
)

// Config says what [Interval] joins.
type Config struct {
	// Lower and Upper are the bounds of the interval, event time in whole
	// milliseconds, at most 286 years either way: rows match when
	// left + Lower <= right <= left + Upper. Each can be negative.
	Lower, Upper time.Duration

	// ExclusiveLower and ExclusiveUpper exclude a bound from the interval.
	ExclusiveLower, ExclusiveUpper bool

	// Type says which rows come out. The zero value is Inner.
	Type Type

	// AllowedLateness L is event time, in whole milliseconds: an element with the
	// timestamp t is late when the watermark is above t + L. Default 0.
	AllowedLateness time.Duration

	// Watermarked says that the values of both sides are [Marked]. What is in time
	// by its mark is not asked about. They have to come straight from their source:
	// behind a shuffle, runners may have let the watermark go past the mark meanwhile.
	Watermarked bool

	// MarksDecide says that marks are the watermark that the join has, the minimum
	// of both inputs', so that what is late by its mark is late: results do not
	// depend on how far the runner is then. It is for sources that know both inputs,
	// and wants Watermarked. Without it the runner is asked.
	MarksDecide bool

	// Shards is how many groups keys are dealt into, 1 to 65536; 0 means 4. It bounds
	// the parallelism and never changes results.
	Shards int

	// MaxRowsPerKey is how many rows of both sides a key may hold at a time; 0 is no
	// limit. What comes when there are as many is not joined, but reported on an
	// output of its own. A row counts until it is let go. When that is, and which rows
	// are there first, depends on bundles and shards, and so does which rows are kept
	// out: it is a guard for the machine, not a rule of the join.
	MaxRowsPerKey int

	// Retention bounds how long the gate remembers times that have passed, in event
	// time, as in package gate; 0 is for ever. It is for live streams of elements
	// without marks.
	Retention time.Duration
}

// Marked is a value that comes with the watermark that its source had, in ms, when
// it read the element, never lower than what the source had reported. Batch sources
// may say math.MinInt64. A mark is a real watermark, of the year 2185 at the latest.
type Marked interface{ WatermarkMs() int64 }

// Joined are the outputs of a join. All are in the global window.
type Joined struct {
	// Rows is PCollection<O>, what the function of the join has made of pairs and of
	// unmatched rows.
	Rows beam.PCollection

	// LateLeft and LateRight are PCollection<KV<K, L>> and PCollection<KV<K, R>>:
	// the elements that came too late, as they came, each at its own timestamp.
	LateLeft, LateRight beam.PCollection

	// OverLimitLeft and OverLimitRight are the elements that MaxRowsPerKey has kept
	// out, in the same form.
	OverLimitLeft, OverLimitRight beam.PCollection

	// Counts is PCollection<[Count]>: how many rows of each side have matched, and how
	// many have not and never will. Sums of them that are kept in Beam's state are
	// right where a runner goes back to a checkpoint, which its metrics are not.
	Counts beam.PCollection
}

// Interval joins two keyed collections by key and distance in time. See the package
// documentation for the rules.
//
// Inputs: left is PCollection<KV<K, L>>, right is PCollection<KV<K, R>>, in any
// windows; each element has its event time as its timestamp. K is a string, []byte,
// integer or bool, or a struct or array of these: keys are equal if their encodings
// are. L and R are any types that Beam can encode.
//
// fn is func(K, *L, *R) O, a named function at package level that is registered with
// register.Function3x1. A pointer is nil where the side has no row. fn must not
// change what they point to: rows are handed out again for further matches.
//
// Interval panics on a bad Config or input, as Beam's constructors do; see
// [TryInterval].
func Interval(s beam.Scope, cfg Config, fn any, left, right beam.PCollection) Joined {
	j, err := TryInterval(s, cfg, fn, left, right)
	if err != nil {
		panic(err)
	}
	return j
}

// TryInterval is [Interval] with the construction error returned.
func TryInterval(s beam.Scope, cfg Config, fn any, left, right beam.PCollection) (Joined, error) {
	if s.IsValid() {
		s = s.Scope("joins.Interval")
	}
	j, err := build(s, cfg, fn, left, right)
	if err != nil {
		return Joined{}, fmt.Errorf("joins.Interval: %w", err)
	}
	return j, nil
}

// Interval is the interval that the bounds of cfg say.
func (cfg Config) Interval() (interval.Interval, error) {
	return interval.Of(cfg.Lower, cfg.Upper, cfg.ExclusiveLower, cfg.ExclusiveUpper)
}

// Validate checks what can be checked without inputs.
func (cfg Config) Validate() error {
	if _, err := cfg.Interval(); err != nil {
		return err
	}
	if _, err := cfg.Type.traits(); err != nil {
		return err
	}
	if err := intake.CheckSpan("AllowedLateness", cfg.AllowedLateness); err != nil {
		return err
	}
	if err := intake.CheckSpan("Retention", cfg.Retention); err != nil {
		return err
	}
	if cfg.MaxRowsPerKey < 0 {
		return fmt.Errorf("MaxRowsPerKey = %d, want at least 1, or 0 for no limit", cfg.MaxRowsPerKey)
	}
	if cfg.MarksDecide && !cfg.Watermarked {
		return intake.ErrNoMarks
	}
	return intake.CheckShards(cfg.Shards)
}

func build(s beam.Scope, cfg Config, fn any, l, r beam.PCollection) (Joined, error) {
	if err := cfg.Validate(); err != nil {
		return Joined{}, err
	}
	iv, err := cfg.Interval()
	if err != nil {
		return Joined{}, err
	}
	types, err := elementTypesOf(s, cfg, l, r)
	if err != nil {
		return Joined{}, err
	}
	encoded, out, err := joinFunc(fn, types)
	if err != nil {
		return Joined{}, err
	}
	if cfg.Shards == 0 {
		cfg.Shards = intake.DefaultShards
	}
	rc := routing.Config{
		LatenessMs:  cfg.AllowedLateness.Milliseconds(),
		RetentionMs: cfg.Retention.Milliseconds(),
		Layered:     cfg.Watermarked,
		Bulk:        true,
	}

	var j Joined
	var msgs, suspects []beam.PCollection
	var late [2]beam.PCollection
	for sd, col := range [2]beam.PCollection{l, r} {
		sc := s.Scope(side(sd).String())
		if col.WindowingStrategy().Fn.Kind != window.GlobalWindows {
			col = beam.WindowInto(sc, window.NewGlobalWindows(), col)
		}
		f := &packFn{Side: byte(sd), Types: types, Shards: cfg.Shards, Routing: rc, Marked: cfg.Watermarked, MarksDecide: cfg.MarksDecide}
		inTime, doubtful, tooLate := beam.ParDo3(sc, f, col)
		msgs, suspects = append(msgs, inTime), append(suspects, doubtful)
		late[sd] = tooLate
	}
	j.LateLeft, j.LateRight = late[left], late[right]
	if !cfg.MarksDecide {
		// Both sides go through one gate: its watermark is the minimum of both.
		sc := s.Scope("gate")
		routed := routing.Route(sc, rc, beam.Flatten(sc, suspects...))
		msgs = append(msgs, beam.ParDo(sc.Scope("on_time"), &unpackFn{}, routed.OnTime))
		if rc.LatenessMs > 0 {
			msgs = append(msgs, beam.ParDo(sc.Scope("within_lateness"), &unpackFn{DelayMs: rc.LatenessMs}, routed.Corrections))
		}
		j.LateLeft, j.LateRight = elements(s.Scope("late"), types, true, routed.Late)
	}

	rows, over, counts := beam.ParDo3(s.Scope("join"), newJoinFn(types, encoded, cfg, iv), beam.Flatten(s, msgs...),
		beam.TypeDefinition{Var: beam.XType, T: out})
	j.Rows, j.Counts = rows, counts
	j.OverLimitLeft, j.OverLimitRight = elements(s.Scope("over_limit"), types, false, over)
	return j, nil
}

// elementTypesOf checks the inputs.
func elementTypesOf(s beam.Scope, cfg Config, l, r beam.PCollection) (elementTypes, error) {
	if !s.IsValid() || !l.IsValid() || !r.IsValid() {
		return elementTypes{}, errors.New("invalid scope or input, want all from one pipeline")
	}
	var keys, values [2]reflect.Type
	for sd, col := range [2]beam.PCollection{l, r} {
		t := col.Type()
		if !typex.IsKV(t) || typex.IsComposite(t.Components()[0].Type()) || typex.IsComposite(t.Components()[1].Type()) {
			return elementTypes{}, fmt.Errorf("%v input = PCollection<%v>, want KV<K, V>: a key and a value", side(sd), t)
		}
		keys[sd], values[sd] = t.Components()[0].Type(), t.Components()[1].Type()
		if cfg.Watermarked && !values[sd].Implements(reflect.TypeFor[Marked]()) {
			return elementTypes{}, fmt.Errorf("%v input = PCollection<%v> where Watermarked is set, want values with the method WatermarkMs() int64", side(sd), t)
		}
	}
	if keys[left] != keys[right] {
		return elementTypes{}, fmt.Errorf("keys of the type %v on the left and %v on the right, want one type", keys[left], keys[right])
	}
	if err := checkKey(keys[left]); err != nil {
		return elementTypes{}, err
	}
	return elementTypes{Key: beam.EncodedType{T: keys[left]}, Left: beam.EncodedType{T: values[left]}, Right: beam.EncodedType{T: values[right]}}, nil
}

// checkKey refuses types whose equal values can have several encodings.
func checkKey(t reflect.Type) error {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Slice, reflect.Array:
		return checkKey(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if err := checkKey(t.Field(i).Type); err != nil {
				return fmt.Errorf("field %s: %w", t.Field(i).Name, err)
			}
		}
		return nil
	default:
		return fmt.Errorf("keys of the type %v, want strings, integers, booleans, or structs, arrays or slices of them: equal keys must have equal encodings", t)
	}
}

// joinFunc checks the function of a join, and returns it with the type of what it
// makes.
func joinFunc(fn any, types elementTypes) (encoded beam.EncodedFunc, out reflect.Type, err error) {
	l, r := reflect.PointerTo(types.Left.T), reflect.PointerTo(types.Right.T)
	t := reflect.TypeOf(fn)
	if t == nil || t.Kind() != reflect.Func || t.NumIn() != 3 || t.NumOut() != 1 ||
		t.In(0) != types.Key.T || t.In(1) != l || t.In(2) != r {
		return encoded, nil, fmt.Errorf("fn = %v, want func(%v, %v, %v) O", t, types.Key.T, l, r)
	}
	encoded, err = intake.NamedFunc("fn", fn, "register.Function3x1")
	return encoded, t.Out(0), err
}
