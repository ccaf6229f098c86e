package joins

import (
	"cmp"
	"container/heap"
	"fmt"
	"strconv"
	"strings"
)

// agenda is the rows of a cell by their timers.
type agenda struct {
	byTimer map[timerID]*group
	groups  groupHeap // the next one first
	changed []*group  // whose timers are to be set
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
	if g = a.byTimer[t]; g != nil {
		return g, false
	}
	if a.byTimer == nil {
		a.byTimer = map[timerID]*group{}
	}
	g = &group{timerID: t}
	a.byTimer[t] = g
	heap.Push(&a.groups, g)
	return g, true
}

// due takes out the group of a timer that fires, nil if there is none, and those
// whose timers have fired without this agenda: all that fire before it, but for
// those that were set in this bundle and are still to come. Others says that there are
// such ones, or some that fire at the same time.
func (a *agenda) due(t timerID, bundle int64) (fired *group, past []*group, others bool) {
	var waiting []*group
	for len(a.groups) > 0 && a.groups[0].ms <= t.ms {
		g := heap.Pop(&a.groups).(*group)
		switch {
		case g.timerID == t:
			fired = g
		case g.ms == t.ms || g.bundle == bundle:
			waiting = append(waiting, g)
			continue
		default:
			past = append(past, g)
		}
		delete(a.byTimer, g.timerID)
	}
	for _, g := range waiting {
		heap.Push(&a.groups, g)
	}
	return fired, past, len(waiting) > 0
}

// groupHeap implements heap.Interface.
type groupHeap []*group

func (h groupHeap) Len() int           { return len(h) }
func (h groupHeap) Less(i, j int) bool { return h[i].compare(h[j].timerID) < 0 }
func (h groupHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *groupHeap) Push(g any)        { *h = append(*h, g.(*group)) }

func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return g
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
