package joins

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// agenda is the rows of a cell by their timers.
type agenda struct {
	groups  []*group // ascending, one for each timer
	changed []*group // whose timers are to be set
}

// timerID tells timers apart: when one fires, and the message whose rows it is for.
// So each timer is set once, with the message, and fires once.
type timerID struct {
	ms      int64
	message uint64
}

func (t timerID) compare(u timerID) int {
	return cmp.Or(cmp.Compare(t.ms, u.ms), cmp.Compare(t.message, u.message))
}

// tag is the name of the timer.
func (t timerID) tag() string {
	return strconv.FormatInt(t.ms, 36) + "." + strconv.FormatUint(t.message, 36)
}

// parseTag undoes tag.
func parseTag(tag string) (t timerID, err error) {
	ms, message, ok := strings.Cut(tag, ".")
	if ok {
		t.ms, err = strconv.ParseInt(ms, 36, 64)
	}
	if ok && err == nil {
		t.message, err = strconv.ParseUint(message, 36, 64)
	}
	if !ok || err != nil {
		return t, fmt.Errorf("joins: timer with unknown tag %q", tag)
	}
	return t, nil
}

// group is the rows of a timer.
type group struct {
	timerID
	holdMs int64 // where it holds the output watermark
	rows   []*row
	bundle int64 // in which the timer was set; 0 if before there was this agenda
}

// add puts a row down. If it may come out, at its own time, its timer holds the
// output watermark there.
func (a *agenda) add(r *row, t timerID, mayComeOut bool) {
	g, isNew := a.at(t)
	r.group = g
	g.rows = append(g.rows, r)
	hold := g.ms - 1
	if mayComeOut {
		hold = min(hold, r.timeMs)
	}
	if isNew {
		g.holdMs = hold
		a.changed = append(a.changed, g)
	}
	g.holdMs = min(g.holdMs, hold)
}

// at returns the group of a timer.
func (a *agenda) at(t timerID) (g *group, isNew bool) {
	i := len(a.groups)
	if i > 0 && a.groups[i-1].compare(t) >= 0 {
		var found bool
		i, found = slices.BinarySearchFunc(a.groups, t, func(g *group, t timerID) int { return g.compare(t) })
		if found {
			return a.groups[i], false
		}
	}
	g = &group{timerID: t}
	a.groups = slices.Insert(a.groups, i, g)
	return g, true
}

// due takes out the group of a timer that fires, nil if there is none, and those
// whose timers have fired without this agenda: all that fire before it, but for
// those that were set in this bundle and are still to come. Tied says that there are
// others that fire at the same time.
func (a *agenda) due(t timerID, bundle int64) (fired *group, past []*group, tied bool) {
	n := 0
	for n < len(a.groups) && a.groups[n].ms <= t.ms {
		n++
	}
	var waiting []*group
	for _, g := range a.groups[:n] {
		switch {
		case g.timerID == t:
			fired = g
		case g.ms == t.ms || g.bundle == bundle:
			waiting = append(waiting, g)
			tied = tied || g.ms == t.ms
		default:
			past = append(past, g)
		}
	}
	a.groups = slices.Replace(a.groups, 0, n, waiting...)
	return fired, past, tied
}

// takeChanged returns the groups whose timers are to be set, as set in this
// bundle.
func (a *agenda) takeChanged(bundle int64) []*group {
	set := a.changed
	a.changed = nil
	for _, g := range set {
		g.bundle = bundle
	}
	return set
}
