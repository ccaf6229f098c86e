package joins

import "slices"

// agenda is the rows of a cell by the times of their timers.
type agenda struct {
	groups  []*group // ascending by ms, one for each time
	changed []*group // whose timers are to be set
}

// group is the rows of a timer.
type group struct {
	ms     int64 // when it fires
	holdMs int64 // where it holds the output watermark
	rows   []*row
	bundle int64 // in which the timer was set last; 0 if before there was this agenda
}

// add puts a row down. If it may come out, at its own time, its timer holds the
// output watermark there.
func (a *agenda) add(r *row, mayComeOut bool) {
	g, isNew := a.at(r.fireMs)
	g.rows = append(g.rows, r)
	hold := g.ms - 1
	if mayComeOut {
		hold = min(hold, r.timeMs)
	}
	if isNew || hold < g.holdMs {
		g.holdMs = hold
		if n := len(a.changed); n == 0 || a.changed[n-1] != g {
			a.changed = append(a.changed, g)
		}
	}
}

// at returns the group of a time.
func (a *agenda) at(ms int64) (g *group, isNew bool) {
	i := len(a.groups)
	if i > 0 && a.groups[i-1].ms >= ms {
		var found bool
		i, found = slices.BinarySearchFunc(a.groups, ms, func(g *group, ms int64) int {
			return int(min(max(g.ms-ms, -1), 1))
		})
		if found {
			return a.groups[i], false
		}
	}
	g = &group{ms: ms}
	a.groups = slices.Insert(a.groups, i, g)
	return g, true
}

// due takes out the groups whose timers have fired, at a timer for ms: all up to
// there, but for those whose timers were set in this bundle and are still to come.
func (a *agenda) due(ms, bundle int64) []*group {
	n := 0
	for n < len(a.groups) && a.groups[n].ms <= ms {
		n++
	}
	var due, waiting []*group
	for _, g := range a.groups[:n] {
		if g.ms < ms && g.bundle == bundle {
			waiting = append(waiting, g)
		} else {
			due = append(due, g)
		}
	}
	a.groups = slices.Replace(a.groups, 0, n, waiting...)
	return due
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
