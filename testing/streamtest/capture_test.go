package streamtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/testing/streamtest"
)

func init() {
	register.Function2x0(reuse)
	register.Emitter1[[]byte]()
}

// reuse emits the same memory twice, as DoFns with a buffer do.
func reuse(s string, emit func([]byte)) {
	b := []byte(s)
	emit(b)
	b[0] = '!'
	emit(b)
}

func TestCaptureCopies(t *testing.T) {
	var c *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		c = streamtest.Capture(s, beam.ParDo(s, reuse, beam.Create(s, "ab")))
	})
	if diff := streamtest.Diff([]string{"ab", "!b"}, text(streamtest.Values[[]byte](c))); diff != "" {
		t.Error(diff)
	}
}

func text(values [][]byte) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func TestCaptureOfKVsAndStructs(t *testing.T) {
	in := []reading{
		{Sensor: "a", Milli: -5, Tags: []string{"x", ""}},
		{Sensor: "\xff\x00", Tags: []string{"\xc3\x28"}},
	}
	var kvs, whole *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) {
		col := beam.CreateList(s, in)
		whole = streamtest.Capture(s, col)
		kvs = streamtest.Capture(s, beam.ParDo(s, bySensor, col))
	})
	if diff := streamtest.Diff(in, streamtest.Values[reading](whole)); diff != "" {
		t.Error(diff)
	}
	want := []streamtest.KV[string, reading]{{Key: "a", Value: in[0]}, {Key: "\xff\x00", Value: in[1]}}
	if diff := streamtest.Diff(want, streamtest.Values[streamtest.KV[string, reading]](kvs)); diff != "" {
		t.Error(diff)
	}
}

func TestCaptureOnceForEachWindow(t *testing.T) {
	var c *streamtest.Captured
	var tl streamtest.Timeline
	tl.At(25, "x")
	streamtest.Run(t, func(s beam.Scope) {
		c = streamtest.Capture(s, beam.WindowInto(s, window.NewSlidingWindows(10*time.Millisecond, 20*time.Millisecond), tl.Create(s)))
	})
	var got []string
	for _, e := range streamtest.Elements[string](c) {
		got = append(got, fmt.Sprint(e.Value, e.StartMs, e.EndMs, e.Global))
	}
	if diff := streamtest.Diff([]string{"x10 30 false", "x20 40 false"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCaptureRefusesGroups(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	grouped := beam.GroupByKey(s, beam.ParDo(s, bySensor, beam.Create(s, reading{})))
	defer func() {
		if r := recover(); !strings.Contains(fmt.Sprint(r), "want single elements or KVs") {
			t.Errorf("panic %v", r)
		}
	}()
	streamtest.Capture(s, grouped)
}

func TestValuesOfTheWrongType(t *testing.T) {
	var c *streamtest.Captured
	streamtest.Run(t, func(s beam.Scope) { c = streamtest.Capture(s, beam.Create(s, "x")) })
	for name, read := range map[string]func(){
		"single": func() { streamtest.Values[int](c) },
		"kv":     func() { streamtest.Values[streamtest.KV[string, string]](c) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), "captured elements of type [string], want [") {
					t.Errorf("panic %v", r)
				}
			}()
			read()
		})
	}
}
