// Package streamtest tests streaming pipelines: it plays a stream to a pipeline
// step by step, and tells what came out, when, in which window and pane.
//
//	func TestMain(m *testing.M) { streamtest.Main(m) }
//
//	func TestLate(t *testing.T) {
//		var orders streamtest.Timeline
//		orders.At(1_000, Order{"acme", 250}).Watermark(60_000).At(2_000, Order{"acme", 50})
//
//		var late *streamtest.Captured
//		streamtest.Run(t, func(s beam.Scope) {
//			_, lateOrders := myTransform(s, orders.Create(s))
//			late = streamtest.Capture(s, lateOrders)
//		})
//		want := []Order{{"acme", 50}}
//		if diff := streamtest.Diff(want, streamtest.Values[Order](late)); diff != "" {
//			t.Error(diff)
//		}
//	}
//
// A [Timeline] is a script of elements and watermarks. [Timeline.Create] plays
// it exactly, each step after the one before has run its course.
// [Timeline.Live] plays the same script as a live source would, bundle by
// bundle, with watermarks that come when the runner gets round to them.
// [Capture] collects any PCollection with timestamps, windows and panes. [Run]
// runs a pipeline, and tells a fault of the runner from one of the pipeline.
// [Diff] compares results of which the order does not matter.
//
// # Limits
//
// Pipelines run on Prism, Beam's embedded runner, unless --runner names another
// one. TestStream, which Create is made of, works on few others. Capture and
// Live keep data in memory, and need the pipeline's workers to be in the process
// that submits it, as those of Prism are, and those of other runners with
// --environment_type=LOOPBACK.
//
// Prism is slow on steps: count on a few hundred steps and elements a second.
// Do not run pipelines in parallel tests; they get slower, not faster.
package streamtest
