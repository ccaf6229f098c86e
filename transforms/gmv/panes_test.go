package gmv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/casefile"
	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// panesDir has timelines with EARLY and FINAL rows, sessions, and windows that
// overlap a lot. Their rows are derived by hand, and the oracle says the same.
const panesDir = "../../testing/oracle/testdata/panes"

// TestPanes plays the timelines of money there.
func TestPanes(t *testing.T) {
	cases, err := casefile.ReadAll(panesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Command != "gmv" {
			continue // package average plays them
		}
		t.Run(c.Name, func(t *testing.T) {
			if diff := cmp.Diff(c.Want, replay(t, c)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPanesShards plays them in several shards: nothing changes.
func TestPanesShards(t *testing.T) {
	for _, name := range []string{"early-count", "sliding-early-final", "session", "session-late-bridge", "session-early-final"} {
		t.Run(name, func(t *testing.T) {
			c, err := casefile.Read(panesDir + "/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			cfg := configOf(c.Config)
			cfg.Shards = 7
			verify(t, cfg, timeline(c.Steps).Create, c.Config.Play(c.Steps))
		})
	}
}

// TestPanesRandom plays random scripts with EARLY and FINAL rows over windows of
// every kind, half of them sessions. A case has EARLY rows by count or by delay,
// not both, so that it does not matter whether a row by count ends a wait.
func TestPanesRandom(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			c := newRandomCase(seed)
			c.cfg.Retention = 0
			rng := rand.New(rand.NewPCG(seed, 3))
			if seed%2 == 0 {
				c.cfg.Windows = windowfns.Session{Gap: time.Duration(2+rng.IntN(30)) * ms}
				c.cfg.AllowedLateness = time.Duration(rng.IntN(60)) * ms
			}
			if rng.IntN(2) == 0 {
				c.cfg.EarlyCount = 1 + rng.IntN(3)
			} else {
				c.cfg.EarlyDelay = time.Duration(1+rng.IntN(20)) * ms
			}
			c.cfg.FinalRows = rng.IntN(2) == 0
			c.script(32)
			c.steps = withPauses(rng, c.steps)
			t.Logf("%v, early by %d or %v, final rows %v", c, c.cfg.EarlyCount, c.cfg.EarlyDelay, c.cfg.FinalRows)
			verify(t, c.cfg, timeline(c.steps).Create, oracle.Config{
				Windows: c.cfg.Windows, AllowedLateness: c.cfg.AllowedLateness,
				EarlyCount: c.cfg.EarlyCount, EarlyDelay: c.cfg.EarlyDelay, FinalRows: c.cfg.FinalRows,
			}.Play(c.steps))
		})
	}
}

// withPauses is steps with processing time that passes here and there.
func withPauses(rng *rand.Rand, steps []oracle.Step) (out []oracle.Step) {
	for _, st := range steps {
		out = append(out, st)
		if rng.IntN(3) == 0 {
			out = append(out, oracle.Elapse(time.Duration(1+rng.IntN(20))*ms))
		}
	}
	return out
}
