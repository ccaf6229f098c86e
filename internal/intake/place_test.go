package intake

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// beamFixed and beamSliding assign windows as Beam Go 2.77 does, which divides
// towards zero.
func beamFixed(tMs, size int64) []window.IntervalWindow {
	start := tMs - tMs%size
	return []window.IntervalWindow{{Start: ms(start), End: ms(start + size)}}
}

func beamSliding(tMs, size, period int64) (all []window.IntervalWindow) {
	for start := tMs - tMs%period; start > tMs-size; start -= period {
		all = append(all, window.IntervalWindow{Start: ms(start), End: ms(start + size)})
	}
	return all
}

func ms(t int64) beam.EventTime { return beam.EventTime(t) }

// placed are the windows that place makes of those of Beam, by ascending end.
func placed(t *rapid.T, all []window.IntervalWindow, tMs int64, sliding bool) []windowfns.Window {
	var got []windowfns.Window
	for _, w := range all {
		o, ok, err := place(w, tMs, 42, sliding)
		if err != nil || o.MarkMs != 42 && ok {
			t.Fatal(o, err)
		}
		if ok {
			got = append([]windowfns.Window{o.Window()}, got...)
		}
	}
	return got
}

// TestPlaceMendsBeam: on both sides of 1970, what place makes of Beam's windows
// are the windows that hold the element, all of them and each once.
func TestPlaceMendsBeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tMs := rapid.OneOf(rapid.Int64Range(-200, 200), rapid.Int64Range(MinTimeMs, MaxTimeMs)).Draw(t, "time")
		period := rapid.Int64Range(1, 50).Draw(t, "period")
		size := period + rapid.Int64Range(0, 100).Draw(t, "size")

		fixed := windowfns.Tumbling{Size: duration(size)}.AppendWindows(nil, tMs)
		if diff := cmp.Diff(fixed, placed(t, beamFixed(tMs, size), tMs, false)); diff != "" {
			t.Fatalf("fixed windows of %d ms at %d: mismatch (-want +got):\n%s", size, tMs, diff)
		}
		sliding := windowfns.Sliding{Size: duration(size), Period: duration(period)}.AppendWindows(nil, tMs)
		if diff := cmp.Diff(sliding, placed(t, beamSliding(tMs, size, period), tMs, true), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("windows of %d ms every %d ms at %d: mismatch (-want +got):\n%s", size, period, tMs, diff)
		}
	})
}

func TestPlaceRefusesOtherWindows(t *testing.T) {
	if o, ok, err := place(window.GlobalWindow{}, 0, 0, false); err == nil || ok {
		t.Errorf("%v, %v, %v", o, ok, err)
	}
}

// The DoFns hand on the element with its window and its mark.
func TestPlaceFns(t *testing.T) {
	w := window.IntervalWindow{Start: -20, End: -10}
	var got []Origin
	emit := func(o Origin, v beam.X) {
		if v != "elem" {
			t.Errorf("element %v", v)
		}
		got = append(got, o)
	}
	if err := (&placeFn{}).ProcessElement(w, -15, "elem", emit); err != nil {
		t.Error(err)
	}
	if err := (&placeMarkedFn{}).ProcessElement(w, -15, 7, "elem", emit); err != nil {
		t.Error(err)
	}
	if err := (&placeMarkedFn{}).ProcessElement(w, -15, Unmarked, "elem", emit); err == nil {
		t.Error("no error for a mark that says nothing")
	}
	if err := (&placeFn{Sliding: true}).ProcessElement(w, -25, "elem", emit); err != nil {
		t.Error(err) // an element before its window is dropped
	}
	if err := (&placeFn{}).ProcessElement(window.GlobalWindow{}, -15, "elem", emit); err == nil {
		t.Error("no error for the global window")
	}
	want := []Origin{{-20, -10, Unmarked}, {-20, -10, 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
