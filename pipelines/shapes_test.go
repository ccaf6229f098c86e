package pipelines

import (
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/records"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/connectors/timeline"
	"tidemark/joins"
	"tidemark/transforms/aggregate"
	"tidemark/transforms/average"
	"tidemark/transforms/gate"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

func init() {
	register.Function1x1(saleEntry)
	register.Function1x1(saleValue)
	register.Function1x2(shopOf)
	register.Function1x2(marked)
	register.Function3x1(saleOf)
	beam.RegisterType(reflect.TypeFor[sale]())
}

// sale is an element of a user's own.
type sale struct{ Shop string }

// WatermarkMs is the mark, where marks are asked for.
func (sale) WatermarkMs() int64 { return 0 }

func marked(s sale) (int64, sale) { return 0, s }

func saleEntry(s sale) gmv.Entry { return gmv.Entry{Key: s.Shop, Minor: 1} }

func saleValue(s sale) average.Entry { return average.Entry{Key: s.Shop, Value: 1} }

func shopOf(s sale) (string, sale) { return s.Shop, s }

func saleOf(_ string, l, r *sale) sale {
	if l != nil {
		return *l
	}
	return *r
}

// shape is a pipeline in one of its forms. Build adds it with values that depend on
// n, 1 or 2, and must not show in names.
type shape struct {
	name  string
	build func(s beam.Scope, n int) error
}

// minutes is n of them.
func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// windowKinds are all kinds of windows, also such that an element has many of.
var windowKinds = []struct {
	name string
	fn   func(n int) windowfns.Fn
}{
	{"tumbling", func(n int) windowfns.Fn { return windowfns.Tumbling{Size: minutes(n)} }},
	{"sliding", func(n int) windowfns.Fn {
		return windowfns.Sliding{Size: 3 * minutes(n), Period: minutes(n)}
	}},
	{"sliding far", func(n int) windowfns.Fn {
		return windowfns.Sliding{Size: 24 * time.Hour, Period: minutes(n)}
	}},
	{"cumulative", func(n int) windowfns.Fn {
		return windowfns.Cumulative{Step: 60 * minutes(n), Size: 6 * time.Hour}
	}},
	{"calendar", func(n int) windowfns.Fn {
		return windowfns.Calendar{Unit: windowfns.Month, Zone: []string{"", "UTC", "Europe/Berlin"}[n]}
	}},
	{"sessions", func(n int) windowfns.Fn { return windowfns.Session{Gap: minutes(n)} }},
}

// An extra asks for more rows, or for counts.
type extra struct {
	name    string
	set     func(cfg *aggregate.Config, n int)
	counted counting
}

// counting says which counts are written.
type counting int

const (
	uncounted counting = iota
	deltas             // of windows
	totals             // of windows, and the account
)

var (
	nothing = extra{"nothing else", func(*aggregate.Config, int) {}, uncounted}
	all     = extra{"all", func(cfg *aggregate.Config, n int) {
		cfg.EarlyCount, cfg.EarlyDelay, cfg.FinalRows = n, time.Duration(n)*time.Second, true
	}, totals}
)

// extras are each alone, none and all.
var extras = []extra{
	nothing,
	{"early count", func(cfg *aggregate.Config, n int) { cfg.EarlyCount = n }, uncounted},
	{"early delay", func(cfg *aggregate.Config, n int) { cfg.EarlyDelay = time.Duration(n) * time.Second }, uncounted},
	{"final rows", func(cfg *aggregate.Config, _ int) { cfg.FinalRows = true }, uncounted},
	{"counts", nothing.set, deltas},
	{"account", nothing.set, totals},
	all,
}

// latenesses are none and some.
var latenesses = []struct {
	name string
	of   func(n int) time.Duration
}{
	{"no lateness", func(int) time.Duration { return 0 }},
	{"lateness", minutes},
}

// eachConfig calls f with all windows, each with and without lateness, and extras.
func eachConfig(with []extra, f func(name string, of func(n int) aggregate.Config, counted counting)) {
	for _, w := range windowKinds {
		for _, l := range latenesses {
			for _, e := range with {
				f(w.name+"/"+l.name+"/"+e.name, func(n int) aggregate.Config {
					cfg := aggregate.Config{Windows: w.fn(n), AllowedLateness: l.of(n), Shards: n}
					e.set(&cfg, n)
					return cfg
				}, e.counted)
			}
		}
	}
}

// sourceKinds are how records come.
var sourceKinds = []string{"batch", "stream", "timeline"}

var shapeFields = records.Fields{Key: []string{"key"}, Time: "time", TimeUnit: "ms", Amount: "amount", AmountScale: 2, Value: "value"}

// script is a timeline of n events.
func script(n int, kinds ...timeline.Kind) (steps []timeline.Step) {
	for i := range n {
		for _, k := range kinds {
			steps = append(steps, timeline.Step{Number: i, Kind: k, Event: []byte(`{"key": "a", "time": 1, "amount": 2, "value": 3}`)})
		}
		steps = append(steps, timeline.Step{Kind: timeline.Watermark, WatermarkMs: int64(i)})
	}
	return steps
}

func sourceOf(kind string, n int) Source {
	src := Source{Fields: shapeFields, MaxRecordBytes: n << 20, Files: make([]files.File, n)}
	switch kind {
	case "stream":
		src.Stream = &files.StreamConfig{MaxOutOfOrderness: time.Duration(n) * time.Second, Pause: time.Duration(n) * time.Second}
	case "timeline":
		src.Script, src.Timeline = "script", script(n, timeline.Event)
	}
	return src
}

func outputsOf(n int, counted counting) Outputs {
	to := func(id string) Outlet {
		return Outlet{To: sink.To{ID: id}, Format: []rows.Format{"", rows.JSON, rows.CSV}[n]}
	}
	out := Outputs{Rows: to("rows"), Late: to("late"), Bad: to("bad")}
	if counted != uncounted {
		out.Counts = to("counts")
	}
	if counted == totals {
		out.Totals, out.Account = true, to("account")
	}
	return out
}

// windowShapes are the pipelines of windows. GMV and averages are the same but for
// what they aggregate.
func windowShapes() (shapes []shape) {
	for _, source := range sourceKinds {
		eachConfig(extras, func(name string, of func(int) aggregate.Config, counted counting) {
			shapes = append(shapes, shape{"gmv/" + source + "/" + name, func(s beam.Scope, n int) error {
				return GMV{sourceOf(source, n), outputsOf(n, counted), of(n)}.Build(s)
			}})
		})
		eachConfig([]extra{nothing, all}, func(name string, of func(int) aggregate.Config, counted counting) {
			shapes = append(shapes, shape{"average/" + source + "/" + name, func(s beam.Scope, n int) error {
				return Average{sourceOf(source, n), outputsOf(n, counted), of(n)}.Build(s)
			}})
		})
	}
	return shapes
}

// joinShapes are the pipelines of joins.
func joinShapes() (shapes []shape) {
	for _, source := range sourceKinds {
		for _, l := range latenesses {
			for _, typ := range joins.Types {
				shapes = append(shapes, shape{"join/" + source + "/" + l.name + "/" + string(typ), func(s beam.Scope, n int) error {
					side := Side{Fields: shapeFields, Files: make([]files.File, n)}
					src := PairSource{Left: side, Right: side, MaxRecordBytes: n << 20}
					switch source {
					case "stream":
						src.Stream = &files.PairConfig{IdleTimeout: time.Duration(n) * time.Second, Pause: time.Duration(n) * time.Second}
					case "timeline":
						src.Script, src.Timeline = "script", script(n, timeline.Left, timeline.Right)
					}
					return Join{src, outputsOf(n, totals), joinConfig(typ, l.of(n), n)}.Build(s)
				}})
			}
		}
	}
	return shapes
}

func joinConfig(typ joins.Type, lateness time.Duration, n int) joins.Config {
	return joins.Config{Upper: minutes(n), Type: typ, AllowedLateness: lateness, Shards: n, MaxRowsPerKey: n}
}

// libraryShapes are the transforms on elements of a user's own: with marks that do
// not decide, without any, and in windows of Beam's.
func libraryShapes() (shapes []shape) {
	add := func(name string, of func(n int) aggregate.Config, prepare func(beam.Scope, beam.PCollection) beam.PCollection) {
		sales := func(s beam.Scope) beam.PCollection { return prepare(s, beam.Create(s, sale{"a"})) }
		shapes = append(shapes,
			shape{"gmv.PerKey/" + name, func(s beam.Scope, n int) error {
				_, _, _, _, err := gmv.TryPerKeyWithCounts(s, of(n), saleEntry, sales(s))
				return err
			}},
			shape{"average.PerKey/" + name, func(s beam.Scope, n int) error {
				_, _, err := average.TryPerKey(s, of(n), saleValue, sales(s))
				return err
			}},
			shape{"gate.Split/" + name, func(s beam.Scope, n int) error {
				cfg := of(n)
				_, _, err := gate.TrySplit(s, gate.Config{Windows: cfg.Windows, AllowedLateness: cfg.AllowedLateness, Watermarked: cfg.Watermarked, Shards: n}, sales(s))
				return err
			}})
	}
	eachConfig([]extra{nothing, all}, func(name string, of func(int) aggregate.Config, _ counting) {
		add(name, of, func(_ beam.Scope, col beam.PCollection) beam.PCollection { return col })
		add(name+"/marks", func(n int) aggregate.Config {
			cfg := of(n)
			cfg.Watermarked = true
			return cfg
		}, func(s beam.Scope, col beam.PCollection) beam.PCollection { return beam.ParDo(s, marked, col) })
	})
	for name, fn := range map[string]*window.Fn{"fixed": window.NewFixedWindows(time.Minute), "sliding": window.NewSlidingWindows(time.Minute, time.Hour)} {
		for _, l := range latenesses {
			add("Beam's "+name+"/"+l.name, func(n int) aggregate.Config { return aggregate.Config{Shards: n} },
				func(s beam.Scope, col beam.PCollection) beam.PCollection {
					return beam.WindowInto(s, fn, col, beam.AllowedLateness(l.of(1)))
				})
		}
	}
	for _, l := range latenesses {
		for _, typ := range joins.Types {
			for _, marks := range []string{"no marks", "marks"} {
				shapes = append(shapes, shape{"joins.Interval/" + l.name + "/" + string(typ) + "/" + marks, func(s beam.Scope, n int) error {
					left := beam.ParDo(s, shopOf, beam.Create(s, sale{"a"}))
					right := beam.ParDo(s, shopOf, beam.Create(s, sale{"a"}))
					cfg := joinConfig(typ, l.of(n), n)
					cfg.Watermarked = marks == "marks"
					_, err := joins.TryInterval(s, cfg, saleOf, left, right)
					return err
				}})
			}
		}
	}
	return shapes
}
