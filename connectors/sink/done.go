package sink

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.Function2x0(seed)
	register.DoFn4x0[timers.Provider, int64, int64, func(int64, int64)](&doneFn{})
}

// Done makes an empty file at path, which is absolute, when all that was written
// ([Write]) is written and nothing more can come: when the watermark is at its end.
// That is for a runner that keeps a stream running whose sources have ended, as Flink
// does. After a failure the file can be made again.
func Done(s beam.Scope, path string, written ...beam.PCollection) {
	s = s.Scope("sink.Done")
	if !filepath.IsAbs(path) {
		panic(fmt.Errorf("sink.Done: path %q, want an absolute one: workers have folders of their own", path))
	}
	all := append(written, beam.ParDo(s, seed, beam.Impulse(s)))
	nothing := beam.ParDo(s, &doneFn{Path: path, End: timers.InEventTime("end")}, beam.Flatten(s, all...))
	beam.GroupByKey(s, nothing) // as in Write
}

// seed makes the one element that there is.
func seed(_ []byte, emit func(int64, int64)) { emit(0, 0) }

// doneFn waits for the end of time.
type doneFn struct {
	Path string
	End  timers.EventTime
}

// ProcessElement sets the timer.
func (f *doneFn) ProcessElement(tp timers.Provider, _, _ int64, _ func(int64, int64)) {
	f.End.Set(tp, mtime.EndOfGlobalWindowTime.ToTime())
}

// OnTimer makes the file.
func (f *doneFn) OnTimer(beam.EventTime, timers.Provider, int64, timers.Context, func(int64, int64)) error {
	return os.WriteFile(f.Path, nil, 0o666)
}
