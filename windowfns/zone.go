package windowfns

import (
	"errors"
	"math"
	"sort"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones load on machines without zone data
)

// A zone is the clock of one time zone, compiled for fast lookups: the spans
// between the changes of its offset from UTC, in ascending order. After
// zoneEnd the last offset goes on.
type zone struct {
	spans []span
}

// A span is a stretch of time in which a zone keeps one offset from UTC.
type span struct {
	fromMs   int64 // first instant; the first span has math.MinInt64
	offsetMs int64 // clock reading minus UTC
	// peakMs is the greatest clock reading before fromMs, as the last whole
	// millisecond; the first span has math.MinInt64.
	peakMs int64
}

// zoneEnd is past the end of every window that holds a time of the year 2185
// or before.
var zoneEnd = time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)

var zones sync.Map // zone name -> *zone

// loadZone returns the zone of that IANA name, compiled at its first use.
func loadZone(name string) (*zone, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*zone), nil
	}
	switch {
	case name == "Local", name == "localtime":
		return nil, errors.New("differs between machines")
	case strings.HasPrefix(name, "right/"):
		return nil, errors.New("counts leap seconds")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	z, _ := zones.LoadOrStore(name, compileZone(loc))
	return z.(*zone), nil
}

// compileZone lists the spans of loc up to zoneEnd.
func compileZone(loc *time.Location) *zone {
	var z zone
	for t := time.Date(1, time.January, 1, 0, 0, 0, 0, loc); t.Before(zoneEnd); {
		_, offset := t.Zone()
		z.add(t.UnixMilli(), int64(offset)*1000)
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		// ZoneBounds splits future spans at the turn of the year and, on the
		// last day of a leap year, can put the end before t. The offset then
		// holds for the rest of that day at least.
		if !end.After(t) {
			end = t.Truncate(time.Hour).Add(time.Hour)
		}
		t = end
	}
	return &z
}

// add appends a span unless it goes on with the offset of the last one.
func (z *zone) add(fromMs, offsetMs int64) {
	if len(z.spans) == 0 {
		z.spans = append(z.spans, span{math.MinInt64, offsetMs, math.MinInt64})
		return
	}
	last := z.spans[len(z.spans)-1]
	if offsetMs != last.offsetMs {
		peak := max(last.peakMs, fromMs-1+last.offsetMs)
		z.spans = append(z.spans, span{fromMs, offsetMs, peak})
	}
}

// spanAt returns the index of the span that contains tMs.
func (z *zone) spanAt(tMs int64) int {
	return sort.Search(len(z.spans)-1, func(i int) bool { return z.spans[i+1].fromMs > tMs })
}

// clock returns the greatest clock reading up to tMs, which lies in span i. It
// is the reading at tMs, unless the clock has gone back and not caught up yet.
// It never falls, so that windows made from it are intervals.
func (z *zone) clock(i int, tMs int64) int64 {
	return max(tMs+z.spans[i].offsetMs, z.spans[i].peakMs)
}

// first returns the first instant at which the clock shows clockMs or more. It
// searches from span i, the nearer the faster.
func (z *zone) first(i int, clockMs int64) int64 {
	for z.spans[i].peakMs >= clockMs {
		i--
	}
	for i+1 < len(z.spans) && z.spans[i+1].peakMs < clockMs {
		i++
	}
	return max(z.spans[i].fromMs, clockMs-z.spans[i].offsetMs)
}
