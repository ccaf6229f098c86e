package intake

import (
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
		if p.Form != c.form || p.Routing.Layered != c.watermarked || NewReader(p).Routing != p.Routing {
			t.Errorf("%s: form %d, routing %+v, want form %d with layers %v", c.name, p.Form, p.Routing, c.form, c.watermarked)
		}
	}
}
