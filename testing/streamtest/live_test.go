package streamtest_test

import (
	"math"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/testing/streamtest"
)

// TestLive reads one script in bundles of several sizes: every element comes
// once, at its time, with the watermark of the script at that step.
func TestLive(t *testing.T) {
	var tl streamtest.Timeline
	var want []streamtest.Element[streamtest.KV[int64, string]]
	expect := func(ms, mark int64, v string) {
		tl.At(ms, v)
		want = append(want, streamtest.Element[streamtest.KV[int64, string]]{
			Value: streamtest.KV[int64, string]{Key: mark, Value: v}, TimeMs: ms, Global: true,
		})
	}
	expect(5, math.MinInt64, "a")
	expect(3, math.MinInt64, "b")
	tl.Watermark(4)
	expect(3, 4, "c") // behind its own watermark
	expect(-1, 4, "")
	tl.Watermark(2) // no effect
	expect(9, 4, "\xff\x00")
	tl.Watermark(1_675_242_000_000)
	expect(1_675_242_000_000, 1_675_242_000_000, "d")

	for _, perBundle := range []int{1, 2, 3, 8, 100} {
		var c *streamtest.Captured
		streamtest.Run(t, func(s beam.Scope) { c = streamtest.Capture(s, tl.Live(s, perBundle)) })
		got := streamtest.Elements[streamtest.KV[int64, string]](c)
		for i := range got {
			got[i].Pane = beam.PaneInfo{}
		}
		if diff := streamtest.Diff(want, got); diff != "" {
			t.Errorf("%d a bundle: %s", perBundle, diff)
		}
	}
}

// TestLiveWatermark shows that the watermarks of a live Timeline take effect.
// Every second, an element of the first window comes again; Beam's GroupByKey
// drops it once the runner's watermark is a second past the window's end. When
// that is, is up to the runner, but it has 100 s of the script for it.
func TestLiveWatermark(t *testing.T) {
	var tl streamtest.Timeline
	const seconds = 100
	for i := range int64(seconds) {
		tl.At(0, reading{Sensor: "a"}).Watermark(1000 * i)
	}
	var counts *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		counts = streamtest.Capture(s, panes(s, beam.DropKey(s, tl.Live(s, 1))))
	})
	if n := len(streamtest.Values[int](counts)); n < 2 || n == seconds {
		t.Errorf("%d panes, want at least the 2 in time and fewer than %d", n, seconds)
	}
}
