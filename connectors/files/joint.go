package files

import (
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
)

func init() {
	beam.RegisterType(reflect.TypeFor[joint]())
}

// joint is the watermark of two inputs together: the lower one of those that
// count. It never goes back.
type joint struct {
	Ms          int64
	Left, Right sideMark
}

// sideMark is the watermark of one input, and whether it counts.
type sideMark struct {
	Ms    int64 // the latest event time so far less the disorder; math.MinInt64 before the first
	Ended bool

	// SilentMs is the time on the clock, in ms, at which the pipe was first found to
	// have nothing to say since it last had something; 0 where it has.
	SilentMs int64
	Idle     bool // silent for too long
}

func newJoint() joint {
	none := sideMark{Ms: math.MinInt64}
	return joint{Ms: math.MinInt64, Left: none, Right: none}
}

// CurrentWatermark implements sdf.WatermarkEstimator.
func (j *joint) CurrentWatermark() time.Time {
	return mtime.Normalize(mtime.Time(j.Ms)).ToTime()
}

// advance moves the watermark to that of the inputs that count. Where none does it
// stays, and goes to infinity once both have ended.
func (j *joint) advance() {
	low := int64(math.MaxInt64)
	for _, m := range []*sideMark{&j.Left, &j.Right} {
		if !m.Ended && !m.Idle {
			low = min(low, m.Ms)
		}
	}
	switch {
	case j.Left.Ended && j.Right.Ended:
		j.Ms = infinity
	case low < math.MaxInt64:
		j.Ms = max(j.Ms, low)
	}
}

// see takes in a record.
func (m *sideMark) see(tMs, outOfOrderMs int64) { m.Ms = max(m.Ms, tMs-outOfOrderMs) }

// hear notes that the pipe has something to say.
func (m *sideMark) hear() { m.SilentMs, m.Idle = 0, false }

// miss notes that it has nothing at a time on the clock. An idle limit of 0 is
// none.
func (m *sideMark) miss(nowMs, idleMs int64) {
	if m.SilentMs == 0 {
		m.SilentMs = nowMs
	}
	m.Idle = idleMs > 0 && nowMs-m.SilentMs >= idleMs
}
