package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// world is what a runner restores when a bundle fails.
type world struct {
	states map[string]*fakeState
	timers map[string]fakeTimers
	lines  int
}

func (f *fold) save() world {
	w := world{map[string]*fakeState{}, map[string]fakeTimers{}, len(f.all)}
	for k, s := range f.states {
		w.states[k], w.timers[k] = s.clone(), maps.Clone(f.timers[k])
	}
	return w
}

func (f *fold) rollBack(w world) {
	f.states, f.timers, f.all = w.states, w.timers, f.all[:w.lines]
}

// sentMessage is a message to a cell.
type sentMessage struct {
	key string
	msg []byte
}

// bundleFor draws what comes in a bundle while the watermark of the gate is at
// gateMs: messages, and their blocks for the model.
func bundleFor(t *rapid.T, fn windowfns.Fn, l layout, latenessMs, gateMs int64) (msgs []sentMessage, blocks []blk) {
	m := l.newMessages(false)
	for range rapid.IntRange(1, 4).Draw(t, "elements") {
		key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
		number := rapid.IntRange(0, 3).Draw(t, "number")
		windows := fn.AppendWindows(nil, gateMs+rapid.Int64Range(-60, 60).Draw(t, "time"))
		add := func(kind byte, windows []windowfns.Window) {
			if len(windows) == 0 {
				return
			}
			first, last := windows[0].EndMs, windows[len(windows)-1].EndMs
			if err := m.add(tally64{}, blockKey{kind, int64(key[0] % 2), windows[0].StartMs, first, last}, []byte(key), totalOf(number)); err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, blk{kind, first, last, []delta{deltaOf(key, number)}})
		}
		open, closing := 0, 0
		for open < len(windows) && windows[open].EndMs <= gateMs {
			open++
		}
		for closing < open && windows[closing].EndMs+latenessMs <= gateMs {
			closing++
		}
		add(blockOnTime, windows[open:])
		add(blockCorrection, windows[closing:open])
	}
	m.emitGated(latenessMs, func(_ beam.EventTime, key string, msg []byte) {
		if len(msg) > 0 {
			msgs = append(msgs, sentMessage{key, msg})
		}
	})
	slices.SortFunc(msgs, func(a, b sentMessage) int { return strings.Compare(a.key, b.key) })
	return msgs, blocks
}

// byWindow are lines by key and window: only there is an order.
func byWindow(all []string) map[string][]string {
	m := map[string][]string{}
	for _, line := range all {
		var k string
		_, _ = fmt.Sscan(line, &k)
		m[k] = append(m[k], line)
	}
	return m
}

// TestFoldLaws drives two instances of the fold, which take turns, through random
// histories. Workers restart, bundles fail and come again, what is in memory is lost
// now and then, watermarks leap, and timers fire twice. The rows are those of the
// plain model, and past the last deadline there is nothing left.
func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := rapid.SampledFrom([]windowfns.Fn{
			windowfns.Tumbling{Size: millis(20)},
			windowfns.Sliding{Size: millis(35), Period: millis(10)},
			windowfns.Cumulative{Size: millis(60), Step: millis(10)},
			windowfns.Calendar{Unit: windowfns.Day},
		}).Draw(t, "windows")
		l := layoutOf(fn)
		latenessMs := rapid.SampledFrom([]int64{0, 1, 25, 100}).Draw(t, "lateness")
		cfg := Config{EarlyCount: rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "early"), FinalRows: rapid.Bool().Draw(t, "final")}
		want := newModel(rules{agg: tally64{}, latenessMs: latenessMs, early: cfg.EarlyCount > 0, earlyCount: int64(cfg.EarlyCount), final: cfg.FinalRows})
		forgetAll()
		f := newFold(t, fn, latenessMs, cfg)
		f.finish()
		other := newFold(t, fn, latenessMs, cfg).fn
		watermark := rapid.SampledFrom([]int64{-200, 0, 86_400_000 - 100}).Draw(t, "watermark")
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "turn") {
				f.fn, other = other, f.fn
			}
			switch rapid.IntRange(0, 5).Draw(t, "loss") {
			case 0:
				forgetAll()
			case 1:
				f.restart()
			}
			var msgs []sentMessage
			next := watermark
			if rapid.Bool().Draw(t, "go on") {
				next += rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, 300)).Draw(t, "by")
			} else {
				var blocks []blk
				gateMs := watermark + rapid.Int64Range(0, 20).Draw(t, "ahead")
				msgs, blocks = bundleFor(t, fn, l, latenessMs, gateMs)
				step := max(l.stepMs, 1)
				for _, b := range blocks {
					want.take(b, step)
				}
				want.settle(noWatermark)
			}
			watermark = next
			want.settle(watermark)

			run := func() {
				f.begin()
				for _, m := range msgs {
					f.message(m.key, m.msg)
				}
				// In the same bundle, or in the next one.
				if rapid.Bool().Draw(t, "apart") {
					f.finish()
					f.begin()
				}
				twice := f.save()
				f.fireDue(watermark)
				if rapid.Bool().Draw(t, "twice") {
					n := len(f.all)
					for k, tp := range twice.timers {
						for tag, at := range tp {
							if at <= watermark {
								f.fire(k, tag)
							}
						}
					}
					if len(f.all) != n {
						t.Fatalf("timers that fire twice have shown %q", f.all[n:])
					}
				}
			}
			before := f.save()
			if rapid.IntRange(0, 3).Draw(t, "fail") == 0 {
				run()
				if rapid.Bool().Draw(t, "late") {
					f.finish()
				}
				f.rollBack(before)
			}
			run()
			f.finish()
			if diff := cmp.Diff(byWindow(want.all), byWindow(f.all)); diff != "" {
				t.Fatalf("at %d: mismatch (-want +got):\n%s", watermark, diff)
			}
		}
		f.begin()
		end := int64(mtime.MaxTimestamp)
		want.settle(end)
		f.fireDue(end)
		f.finish()
		if diff := cmp.Diff(byWindow(want.all), byWindow(f.all)); diff != "" {
			t.Fatalf("at the end: mismatch (-want +got):\n%s", diff)
		}
		if left := f.left(); len(left) > 0 {
			t.Fatal(left)
		}
		f.unchanged(t)
	})
}
