package intake

import (
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/windowfns"
)

func init() { register.Function1x2(marked) }

func marked(s string) (int64, string) { return 7, s }

// TestLayersAreForMarkedElements: only those may pass coarse gates, whether
// their windows come from the Config or from the input.
func TestLayersAreForMarkedElements(t *testing.T) {
	for _, c := range []struct {
		name        string
		windows     windowfns.Fn
		watermarked bool
		form        Form
	}{
		{"plain", windowfns.Tumbling{Size: time.Second}, false, Plain},
		{"marked", windowfns.Tumbling{Size: time.Second}, true, Marked},
		{"placed", nil, false, Placed},
		{"placed and marked", nil, true, Placed},
	} {
		_, s := beam.NewPipelineWithRoot()
		col := beam.Create(s, "element")
		if c.watermarked {
			col = beam.ParDo(s, marked, col)
		}
		if c.windows == nil {
			col = beam.WindowInto(s, window.NewFixedWindows(time.Second), col)
		}
		p, err := Prepare(s, Config{Windows: c.windows, Watermarked: c.watermarked}, col)
		if err != nil {
			t.Fatal(err)
		}
		if p.Form != c.form || p.Routing.Layered != c.watermarked || !reflect.DeepEqual(NewReader(p).Routing, p.Routing) {
			t.Errorf("%s: form %d, routing %+v, want form %d with layers %v", c.name, p.Form, p.Routing, c.form, c.watermarked)
		}
	}
}

// TestProbe: only elements of many windows of a grid that bring no mark ask for
// their first window first, and only where no gate forgets.
func TestProbe(t *testing.T) {
	minutes := func(n int64) windowfns.Sliding {
		return windowfns.Sliding{Size: duration(n * 60_000), Period: time.Minute}
	}
	for _, c := range []struct {
		name string
		cfg  Config
		want bool
	}{
		{"many windows", Config{Windows: minutes(17)}, true},
		{"not many", Config{Windows: minutes(16)}, false},
		{"many with the last one, which is cut short", Config{Windows: windowfns.Sliding{Size: 16*time.Minute + 1e6, Period: time.Minute}}, true},
		{"cumulative", Config{Windows: windowfns.Cumulative{Size: time.Hour, Step: time.Minute}, AllowedLateness: time.Second}, true},
		{"one window", Config{Windows: windowfns.Tumbling{Size: time.Hour}}, false},
		{"no grid", Config{Windows: windowfns.Calendar{Unit: windowfns.Day}}, false},
		{"marked", Config{Windows: minutes(60), Watermarked: true}, false},
		{"a gate that forgets", Config{Windows: minutes(60), Retention: time.Hour}, false},
		{"windows of the input", Config{}, true},
	} {
		_, s := beam.NewPipelineWithRoot()
		col := beam.Create(s, "element")
		if c.cfg.Watermarked {
			col = beam.ParDo(s, marked, col)
		}
		if c.cfg.Windows == nil {
			col = beam.WindowInto(s, window.NewSlidingWindows(time.Minute, time.Hour), col)
		}
		p, err := Prepare(s, c.cfg, col)
		if err != nil {
			t.Fatal(err)
		}
		if p.Routing.Probe != c.want || (p.Routing.Windows.Type.T != nil) != c.want {
			t.Errorf("%s: probe %v with the grid %v, want %v", c.name, p.Routing.Probe, p.Routing.Windows.Type.T, c.want)
		}
	}
}
