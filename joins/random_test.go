package joins_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/internal/intake"
	"tidemark/testing/oracle"
	"tidemark/testing/streamtest"
)

// randomCase is a random join with a random script.
type randomCase struct {
	rng   *rand.Rand
	cfg   oracle.JoinConfig
	steps []oracle.JoinStep
}

// newRandomCase draws bounds on either side of 0, both negative and both positive,
// equal ones and exclusive ones, and a lateness that is 0 half of the time. Seeds take
// the types in turn.
func newRandomCase(seed uint64) *randomCase {
	c := &randomCase{rng: rand.New(rand.NewPCG(seed, 5))}
	c.cfg.Type = oracle.JoinTypes[seed%uint64(len(oracle.JoinTypes))]
	c.cfg.LowerMs = []int64{0, -20, -35, 8}[c.rng.IntN(4)] + c.rng.Int64N(10)
	c.cfg.UpperMs = c.cfg.LowerMs + c.rng.Int64N(2)*c.rng.Int64N(30)
	if w := c.cfg.UpperMs - c.cfg.LowerMs; w >= 2 {
		c.cfg.ExclusiveLower, c.cfg.ExclusiveUpper = c.rng.IntN(2) == 0, c.rng.IntN(2) == 0
	}
	c.cfg.LatenessMs = c.rng.Int64N(2) * c.rng.Int64N(15)
	return c
}

// script draws n elements of three keys around a watermark that goes on by leaps.
// Many are within a millisecond of where they are late, or of a bound of one before;
// some come twice.
func (c *randomCase) script(n int) {
	bases := []int64{0, -30, -5_000_000_000, 1_700_000_000_000, intake.MinTimeMs + 500, intake.MaxTimeMs - 5000}
	wm := bases[c.rng.IntN(len(bases))]
	var last oracle.JoinElement
	for i := range n {
		if c.rng.IntN(3) == 0 {
			wm += c.rng.Int64N(25)
			c.steps = append(c.steps, oracle.JoinWatermark(wm))
		}
		e := oracle.JoinElement{Key: fmt.Sprintf("k%d", c.rng.IntN(3)), ID: fmt.Sprint(i), TimeMs: wm - 25 + c.rng.Int64N(70)}
		switch c.rng.IntN(6) {
		case 0:
			e.TimeMs = wm - c.cfg.LatenessMs - 1 + c.rng.Int64N(3)
		case 1:
			bound := []int64{c.cfg.LowerMs, c.cfg.UpperMs, -c.cfg.LowerMs, -c.cfg.UpperMs}[c.rng.IntN(4)]
			e.Key, e.TimeMs = last.Key, last.TimeMs+bound-1+c.rng.Int64N(3)
		case 2:
			if last.ID != "" {
				e = last
			}
		}
		last = e
		if c.rng.IntN(2) == 0 {
			c.steps = append(c.steps, oracle.Left(e))
		} else {
			c.steps = append(c.steps, oracle.Right(e))
		}
	}
}

// TestRandomTimelines plays random scripts step by step: every row and late element
// is the oracle's, at its time, in any number of shards. Ticks take time: for a part of
// the scripts they say that it also comes at its step.
func TestRandomTimelines(t *testing.T) {
	var all oracle.JoinCounts
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			c := newRandomCase(seed)
			c.script(22)
			t.Logf("%+v", c.cfg)
			cfg := configOf(c.cfg)
			cfg.Shards = 1 + int(seed%7)
			want, ticks := c.cfg.Play(c.steps), seed >= 16
			if !ticks {
				want = anyStep(want)
			}
			out := play(t, cfg, stepwise(timelineOf(c.steps, ticks)))
			out.equals(t, c.cfg.Type, want)
			all.Joined += out.left.Joined
			all.Unmatched += out.left.Unmatched
			all.Late += out.left.Late
		})
	}
	if all.Joined < 20 || all.Unmatched < 20 || all.Late < 20 {
		t.Errorf("%+v: the scripts say too little", all)
	}
}

// TestShardsDoNotMatter plays a script with the keys dealt in several ways.
func TestShardsDoNotMatter(t *testing.T) {
	c := newRandomCase(3)
	c.cfg.Type = "full"
	c.script(24)
	want := anyStep(c.cfg.Play(c.steps))
	for _, shards := range []int{1, 2, 3, 7, 1 << 16} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			cfg := configOf(c.cfg)
			cfg.Shards = shards
			play(t, cfg, stepwise(timelineOf(c.steps, false))).equals(t, c.cfg.Type, want)
		})
	}
}

// TestBundles brings elements of one time in bundles, with their partners among them,
// so that they travel together: up to more than share a timer. Which of a bundle comes
// first is up to the runner, so that a row of a semi join may have another time.
func TestBundles(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(oracle.JoinTypes[seed], func(t *testing.T) {
			c := newRandomCase(600 + seed)
			if c.cfg.LowerMs > 0 || c.cfg.UpperMs < 0 {
				c.cfg.LowerMs, c.cfg.UpperMs = -6, 12
			}
			var tl streamtest.Timeline
			wm := int64(1_700_000_000_000)
			for i := range 8 {
				wm += c.rng.Int64N(25)
				tl.Watermark(wm)
				c.steps = append(c.steps, oracle.JoinWatermark(wm))
				at := wm - 12 + c.rng.Int64N(24)
				var elems []any
				for n := range 1 + c.rng.IntN(50) {
					e := oracle.JoinElement{Key: fmt.Sprintf("k%d", c.rng.IntN(40)), ID: fmt.Sprintf("%d.%d", i, n), TimeMs: at}
					if c.rng.IntN(2) == 0 {
						elems = append(elems, event{"left", e.Key, e.ID})
						c.steps = append(c.steps, oracle.Left(e))
					} else {
						elems = append(elems, event{"right", e.Key, e.ID})
						c.steps = append(c.steps, oracle.Right(e))
					}
				}
				tl.At(at, elems...)
			}
			want, out := anyStep(c.cfg.Play(c.steps)), play(t, configOf(c.cfg), stepwise(&tl))
			if c.cfg.Type == "left_semi" {
				for _, rows := range [][]oracle.JoinRow{want.Rows, out.rows} {
					for i := range rows {
						rows[i].TimeMs = 0
					}
				}
			}
			out.equals(t, c.cfg.Type, want)
		})
	}
}
