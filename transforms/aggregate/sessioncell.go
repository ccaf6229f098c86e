package aggregate

import (
	"fmt"
	"slices"
	"sort"

	"tidemark/windowfns"
)

// sessionCell is the cell of the sessions of a shard.
//
// A session that reaches further than before is another window. What it swallows
// is gone, but for the row that withdraws it, if it had one, and its FINAL row.
//
// A correction waits until the watermark of the cell has reached the end of its
// own window, so that it never shows in an ON_TIME row that was due before. So a
// session whose end the watermark has not reached ends with an element on time.
type sessionCell struct {
	rules
	gapMs int64

	watermark int64
	keys      map[string]*sessionKey
	dirty     []*sessionKey // have something to show
	touched   []*sessionKey // have something to log

	fires   agenda[*session]   // ends of what has not ended
	finals  agenda[*session]   // ends + L, where FINAL rows are asked for
	forgets agenda[*session]   // when no element in time can reach it any more
	waits   agenda[*waitingOf] // own ends of corrections
}

// sessionKey is what the cell holds of one key.
type sessionKey struct {
	key     string
	live    []*session // by start; they do not overlap
	gone    []*session // swallowed, and have their FINAL rows to come
	waiting []*waiting

	news     []*session // live ones that have something to show
	withdraw []*session // swallowed ones that had a row
	changed  []*session // not logged as they are

	dirty, touched bool
}

// session is a window, and what was shown of it.
type session struct {
	rowState
	windowfns.Window
	k *sessionKey

	elements int64
	total    []byte
	shared   bool // somebody else has total

	unshown int64    // elements that no row of this window has shown
	ids     []uint64 // and their blocks, where EARLY rows can be asked for

	swallowed     bool
	over          bool // nothing is due for it any more
	withdrawn     Pane // of the row that withdraws it
	news, touched bool
}

// waiting is a correction that waits, or, without elements, what asks for an EARLY
// row.
type waiting struct {
	stretch
	id   uint64
	over bool
}

type waitingOf struct {
	k *sessionKey
	w *waiting
}

// askedFor is the id of a waiting block whose EARLY row was asked for. Others are
// odd.
const askedFor = 2

func newSessionCell(ru rules, gapMs int64) *sessionCell {
	return &sessionCell{rules: ru, gapMs: gapMs, watermark: noWatermark, keys: map[string]*sessionKey{}}
}

func (c *sessionCell) empty() bool { return len(c.keys) == 0 }

// busy is always so: new sessions join the cell.
func (c *sessionCell) busy() bool { return true }

func (c *sessionCell) reached() int64 { return c.watermark }

// absolute implements [cell].
func (c *sessionCell) absolute() bool { return true }

func (c *sessionCell) of(key []byte) *sessionKey {
	k := c.keys[string(key)]
	if k == nil {
		k = &sessionKey{key: string(key)}
		c.keys[k.key] = k
	}
	return k
}

// take implements [cell]. Messages are not logged.
func (c *sessionCell) take(h header, entries []byte, _ bool) error {
	return eachStretch(entries, func(key []byte, s stretch) error {
		switch h.kind {
		case blockShow:
			if k := c.keys[string(key)]; k != nil {
				c.askEarly(k, s, h.id)
			}
			return nil
		case blockOnTime:
		case blockCorrection:
			if s.endMs > c.watermark {
				k := c.of(key)
				s.acc = slices.Clone(s.acc)
				c.wait(k, &waiting{stretch: s, id: h.id})
				c.touch(k)
				return nil
			}
		default:
			return fmt.Errorf("aggregate: block of unknown kind %q", h.kind)
		}
		_, err := c.add(c.of(key), s, h.id)
		return err
	})
}

func (c *sessionCell) wait(k *sessionKey, w *waiting) {
	k.waiting = append(k.waiting, w)
	c.waits.add(w.endMs, &waitingOf{k, w})
}

// overlapping are the live sessions [i, j) of k that overlap [start, end).
func (k *sessionKey) overlapping(startMs, endMs int64) (i, j int) {
	i = sort.Search(len(k.live), func(i int) bool { return k.live[i].EndMs > startMs })
	for j = i; j < len(k.live) && k.live[j].StartMs < endMs; j++ {
	}
	return i, j
}

// add adds a stretch to the session that it is part of, or makes one of it and of
// all that it overlaps, and notes what there is to show.
func (c *sessionCell) add(k *sessionKey, s stretch, id uint64) (*session, error) {
	into, err := c.sessionFor(k, s)
	if err != nil {
		return nil, err
	}
	switch {
	case into.elements == 0:
		into.total = slices.Clone(s.acc) // which lies in a message
	case into.shared:
		into.total, err = c.merge(into.total, s.acc)
		into.shared = false
	default:
		into.total, err = c.mergeInto(slices.Clip(into.total), s.acc)
	}
	if err != nil {
		return nil, err
	}
	into.elements += s.elements
	into.unshown += s.elements
	if id != 0 && into.EndMs > c.watermark {
		into.ids = append(into.ids, id)
	}
	if into.EndMs <= c.watermark || c.earlyCount > 0 && into.unshown >= c.earlyCount {
		c.tell(into)
	}
	c.change(into)
	return into, nil
}

// sessionFor is the session of k that the own windows of s make.
func (c *sessionCell) sessionFor(k *sessionKey, s stretch) (*session, error) {
	i, j := k.overlapping(s.startMs, s.endMs)
	if i == j {
		fresh := &session{k: k, Window: windowfns.Window{StartMs: s.startMs, EndMs: s.endMs}}
		k.live = slices.Insert(k.live, i, fresh)
		c.schedule(fresh)
		return fresh, nil
	}
	parts := k.live[i:j]
	whole := windowfns.Window{StartMs: min(s.startMs, parts[0].StartMs), EndMs: max(s.endMs, parts[len(parts)-1].EndMs)}
	if parts[0].Window == whole {
		return parts[0], nil
	}
	if len(parts) == 1 && !parts[0].ever {
		// It had no row: it can be the new one. What was due at its end has no point
		// any more.
		p := parts[0]
		longer := p.EndMs < whole.EndMs
		p.Window, p.unshown = whole, p.elements
		if longer {
			c.schedule(p)
		}
		return p, nil
	}
	merged := &session{k: k, Window: whole}
	for n, p := range parts {
		if n == 0 {
			merged.total, merged.shared = p.total, p.shared
		} else {
			total, err := c.merge(merged.total, p.total)
			if err != nil {
				return nil, err
			}
			merged.total, merged.shared = total, false
		}
		merged.elements += p.elements
		merged.ids = append(merged.ids, p.ids...)
		c.swallow(p)
	}
	merged.unshown = merged.elements
	k.live = slices.Replace(k.live, i, j, merged)
	c.schedule(merged)
	return merged, nil
}

// swallow ends a session that is part of another one.
func (c *sessionCell) swallow(s *session) {
	s.swallowed, s.total, s.ids = true, nil, nil
	if !s.ever {
		return
	}
	s.withdrawn = Late
	if c.watermark < s.EndMs {
		s.withdrawn = Early
	}
	s.k.withdraw = append(s.k.withdraw, s)
	c.soil(s.k)
	if c.final && s.EndMs+c.latenessMs > c.watermark {
		s.k.gone = append(s.k.gone, s)
		if s.EndMs > c.watermark {
			c.finals.add(s.EndMs+c.latenessMs, s)
		}
	}
}

// schedule notes when something is due for s.
func (c *sessionCell) schedule(s *session) {
	if s.EndMs > c.watermark {
		c.fires.add(s.EndMs, s)
		return
	}
	c.ended(s)
}

// ended notes what is due for s behind its end.
func (c *sessionCell) ended(s *session) {
	if c.final {
		c.finals.add(s.EndMs+c.latenessMs, s)
	}
	c.forgets.add(s.EndMs+c.gapMs+c.latenessMs, s)
}

// What is on an agenda, and has no point any more.

func (c *sessionCell) noFire(d due[*session]) bool { return d.of.swallowed || d.of.EndMs != d.at }

func (c *sessionCell) noFinal(d due[*session]) bool {
	return d.of.over || d.of.EndMs+c.latenessMs != d.at || d.of.swallowed && !d.of.ever
}

func (c *sessionCell) noForget(d due[*session]) bool {
	return d.of.swallowed || d.of.EndMs+c.gapMs+c.latenessMs != d.at
}

func (c *sessionCell) noWait(d due[*waitingOf]) bool { return d.of.w.over }

// change notes that s is not logged as it is.
func (c *sessionCell) change(s *session) {
	if !s.touched {
		s.touched = true
		s.k.changed = append(s.k.changed, s)
	}
	c.touch(s.k)
}

func (c *sessionCell) touch(k *sessionKey) {
	if !k.touched {
		k.touched = true
		c.touched = append(c.touched, k)
	}
}
