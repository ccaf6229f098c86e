package gmv_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/testing/oracle"
	"tidemark/transforms/gmv"
	"tidemark/windowfns"
)

// randomCase is a random configuration with a random script.
type randomCase struct {
	rng   *rand.Rand
	cfg   gmv.Config
	steps []oracle.Step
}

func newRandomCase(seed uint64) *randomCase {
	c := &randomCase{rng: rand.New(rand.NewPCG(seed, 1))}
	c.cfg = gmv.Config{Windows: c.windows(), Shards: 1 + c.rng.IntN(8)}
	if c.rng.IntN(3) > 0 {
		c.cfg.AllowedLateness = time.Duration(1+c.rng.IntN(2*int(c.sizeMs()))) * ms
	}
	if c.rng.IntN(3) == 0 {
		c.cfg.Retention = time.Duration(1+c.rng.IntN(4*int(c.sizeMs()))) * ms
	}
	return c
}

func (c *randomCase) String() string {
	return fmt.Sprintf("%v, lateness %v, retention %v, %d shards", c.cfg.Windows, c.cfg.AllowedLateness, c.cfg.Retention, c.cfg.Shards)
}

func (c *randomCase) want() oracle.Result {
	return oracle.Play(c.cfg.Windows, c.cfg.AllowedLateness.Milliseconds(), c.steps)
}

const ms = time.Millisecond

// windows is a random window function of small windows, or of local days.
func (c *randomCase) windows() windowfns.Fn {
	n := func(lo, hi int) time.Duration { return time.Duration(lo+c.rng.IntN(hi-lo+1)) * ms }
	offset := func(below time.Duration) time.Duration {
		if c.rng.IntN(2) == 0 {
			return 0
		}
		return n(1-int(below/ms), int(below/ms)-1)
	}
	switch c.rng.IntN(4) {
	case 0:
		size := n(1, 50)
		return windowfns.Tumbling{Size: size, Offset: offset(size)}
	case 1:
		period := n(1, 20)
		return windowfns.Sliding{Size: period + n(0, 3*int(period/ms)), Period: period, Offset: offset(period)}
	case 2:
		step := n(1, 12)
		size := step * time.Duration(1+c.rng.IntN(4))
		return windowfns.Cumulative{Step: step, Size: size, Offset: offset(size)}
	default:
		zones := []string{"Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu"}
		return windowfns.Calendar{Unit: windowfns.Day, Zone: zones[c.rng.IntN(len(zones))]}
	}
}

// sizeMs is about how long a window is.
func (c *randomCase) sizeMs() int64 {
	w := c.windowsAt(0)[0]
	return w.EndMs - w.StartMs
}

func (c *randomCase) windowsAt(ms int64) []windowfns.Window {
	return c.cfg.Windows.AppendWindows(nil, ms)
}

var (
	someKeys       = []string{"", "a", "b", "a\x00", "\x00", "\xff\xfe", "\xc3\x28", "ключ"}
	someCurrencies = []string{"", "", "EUR", "USD"}
)

// element is a random element at a time.
func (c *randomCase) element(ms int64) oracle.Element {
	e := oracle.Element{Key: "a", Currency: "EUR", Minor: c.rng.Int64N(2000) - 500, TimeMs: ms}
	if c.rng.IntN(2) == 0 {
		e.Key = someKeys[c.rng.IntN(len(someKeys))]
		e.Currency = someCurrencies[c.rng.IntN(len(someCurrencies))]
	}
	switch c.rng.IntN(20) {
	case 0:
		e.Minor = math.MaxInt64 - c.rng.Int64N(3)
	case 1:
		e.Minor = math.MinInt64 + c.rng.Int64N(3)
	}
	return e
}

// inTime fills c.steps with n elements that are all in time, in segments with a
// watermark after each. Times repeat.
func (c *randomCase) inTime(n int) {
	wm := c.rng.Int64N(1000) - 500
	for range n {
		if c.rng.IntN(8) == 0 {
			wm += c.rng.Int64N(c.sizeMs())
			c.steps = append(c.steps, oracle.Watermark(wm))
		}
		c.steps = append(c.steps, oracle.Add(c.element(wm+c.rng.Int64N(2*c.sizeMs()))))
	}
}

// shuffled is c.steps with the elements of each segment between two watermarks
// in another order.
func (c *randomCase) shuffled() []oracle.Step {
	steps := slices.Clone(c.steps)
	for from := 0; from < len(steps); {
		to := from
		for to < len(steps) && steps[to].Element != nil {
			to++
		}
		segment := steps[from:to]
		c.rng.Shuffle(len(segment), func(i, j int) { segment[i], segment[j] = segment[j], segment[i] })
		from = to + 1
	}
	return steps
}

// script fills c.steps with n elements around 1970, well before it, or near a
// change of the clocks.
func (c *randomCase) script(n int) {
	bases := []int64{0, 0, -5_000_000_000, 1_711_800_000_000, 1_730_000_000_000}
	c.scriptFrom(bases[c.rng.IntN(len(bases))], n)
}

// scriptFrom fills c.steps with n elements and as many watermarks as come up,
// from the watermark wm on. Many times and watermarks are within a millisecond
// of a deadline.
func (c *randomCase) scriptFrom(wm int64, n int) {
	size, lateness := c.sizeMs(), c.cfg.AllowedLateness.Milliseconds()
	for range n {
		if c.rng.IntN(4) == 0 {
			wm += c.rng.Int64N(size) / (1 + c.rng.Int64N(8))
			if c.rng.IntN(2) == 0 {
				ws := c.windowsAt(wm)
				w := ws[c.rng.IntN(len(ws))]
				wm = max(wm, w.EndMs+c.rng.Int64N(2)*lateness-c.rng.Int64N(2))
			}
			c.steps = append(c.steps, oracle.Watermark(wm))
		}
		t := wm + c.rng.Int64N(3*size+1) - 2*size
		switch c.rng.IntN(6) {
		case 0: // a window that is about to close, or just has
			t = wm - lateness - size + c.rng.Int64N(3) - 1
		case 1:
			t = wm - size + c.rng.Int64N(3) - 1
		case 2: // far too late, beyond any retention
			if c.rng.IntN(4) == 0 {
				t = wm - 100*size
			}
		}
		c.steps = append(c.steps, oracle.Add(c.element(t)))
	}
}
