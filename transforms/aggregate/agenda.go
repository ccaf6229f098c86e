package aggregate

import (
	"cmp"
	"math"
	"slices"
)

// agenda is things that fall due, in the order of their times. They are never
// removed: what has become pointless is skipped when its turn comes.
type agenda[T any] struct {
	items []due[T] // by time
	fresh []due[T] // in no order
}

type due[T any] struct {
	at int64
	of T
}

// never is when nothing is due.
const never = math.MaxInt64

func (a *agenda[T]) add(at int64, of T) {
	if n := len(a.items); n == 0 || a.items[n-1].at <= at {
		a.items = append(a.items, due[T]{at, of})
		return
	}
	a.fresh = append(a.fresh, due[T]{at, of})
}

// order makes items all that there is.
func (a *agenda[T]) order() {
	if len(a.fresh) == 0 {
		return
	}
	byTime := func(x, y due[T]) int { return cmp.Compare(x.at, y.at) }
	slices.SortStableFunc(a.fresh, byTime)
	// What comes before all that is fresh stays where it is.
	from, _ := slices.BinarySearchFunc(a.items, a.fresh[0], byTime)
	later := slices.Clone(a.items[from:])
	a.items = a.items[:from]
	i := 0
	for _, f := range a.fresh {
		for ; i < len(later) && later[i].at <= f.at; i++ {
			a.items = append(a.items, later[i])
		}
		a.items = append(a.items, f)
	}
	a.items = append(a.items, later[i:]...)
	clear(a.fresh)
	a.fresh = a.fresh[:0]
}

// next is when the next thing is due that still has a point.
func (a *agenda[T]) next(pointless func(due[T]) bool) int64 {
	a.order()
	for len(a.items) > 0 && pointless(a.items[0]) {
		a.drop()
	}
	if len(a.items) == 0 {
		return never
	}
	return a.items[0].at
}

// pop removes what is due at ms, if anything is.
func (a *agenda[T]) pop(ms int64) (d due[T], ok bool) {
	a.order()
	if len(a.items) == 0 || a.items[0].at > ms {
		return d, false
	}
	d = a.items[0]
	a.drop()
	return d, true
}

func (a *agenda[T]) drop() {
	a.items[0] = due[T]{}
	a.items = a.items[1:]
}

// last is the latest time that there is, or before.
func (a *agenda[T]) last() int64 {
	a.order()
	if n := len(a.items); n > 0 {
		return a.items[n-1].at
	}
	return noWatermark
}

// spareDue is how much pointless things may be in the way of times.
const spareDue = 256

// times appends the first distinct times, at most of them.
func (a *agenda[T]) times(dst []int64, most int, pointless func(due[T]) bool) []int64 {
	a.order()
	n, skipped := 0, 0
	for _, d := range a.items {
		if n == most {
			break
		}
		switch {
		case n > 0 && dst[len(dst)-1] == d.at:
		case pointless(d):
			skipped++
		default:
			dst = append(dst, d.at)
			n++
		}
	}
	if skipped > spareDue {
		a.items = slices.DeleteFunc(a.items, pointless)
	}
	return dst
}
