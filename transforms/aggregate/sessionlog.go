package aggregate

import (
	"encoding/binary"
	"slices"

	"tidemark/internal/routing"
	"tidemark/windowfns"
)

// The log of a session cell says what is there, not what has come: after each
// message and timer the watermark, the sessions that have changed, and, of their
// keys, all that is gone or waits. A session takes the place of those that it
// overlaps. What follows from the watermark alone is not logged: that what was
// there before is shown and forgotten when it is due.

// appendBlocks implements [cell]. All is in the state.
func (c *sessionCell) appendBlocks(dst []byte) []byte { return dst }

// appendState implements [cell].
func (c *sessionCell) appendState(dst []byte, whole bool) []byte {
	dst = binary.AppendVarint(dst, c.watermark)
	if whole {
		keys := make([]*sessionKey, 0, len(c.keys))
		for _, k := range c.keys {
			keys = append(keys, k)
		}
		byKey(keys)
		for _, k := range keys {
			dst = c.appendKey(dst, k, k.live)
		}
	} else {
		for _, k := range c.touched {
			if c.keys[k.key] == k {
				k.changed = slices.DeleteFunc(k.changed, func(s *session) bool { return s.swallowed })
				dst = c.appendKey(dst, k, k.changed)
			}
		}
	}
	c.untouch()
	return dst
}

// untouch notes that all is logged.
func (c *sessionCell) untouch() {
	for _, k := range c.touched {
		for _, s := range k.changed {
			s.touched = false
		}
		k.touched, k.changed = false, nil
	}
	clear(c.touched)
	c.touched = c.touched[:0]
}

func (c *sessionCell) appendKey(dst []byte, k *sessionKey, live []*session) []byte {
	dst = routing.AppendPrefixed(dst, k.key)
	dst = binary.AppendUvarint(dst, uint64(len(live)))
	for _, s := range live {
		dst = c.appendSession(dst, s)
	}
	dst = binary.AppendUvarint(dst, uint64(len(k.gone)))
	for _, s := range k.gone {
		dst = binary.AppendVarint(dst, s.StartMs)
		dst = binary.AppendUvarint(dst, uint64(s.EndMs-s.StartMs))
		dst = binary.AppendUvarint(dst, uint64(s.rows))
	}
	dst = binary.AppendUvarint(dst, uint64(len(k.waiting)))
	for _, w := range k.waiting {
		dst = w.append(dst)
		dst = binary.AppendUvarint(dst, w.id)
	}
	return dst
}

func (c *sessionCell) appendSession(dst []byte, s *session) []byte {
	st := stretch{s.StartMs, s.EndMs, s.elements, s.total}
	dst = st.append(dst)
	var flags byte
	if s.ever {
		flags |= stateRows
		if string(s.shown) == string(s.total) {
			flags |= stateSame
		}
	}
	unshown := s.unshown > 0 && c.early && s.EndMs > c.watermark
	if unshown {
		flags |= stateUnshown
	}
	dst = append(dst, flags)
	if s.ever {
		dst = binary.AppendUvarint(dst, uint64(s.rows))
		if flags&stateSame == 0 {
			dst = routing.AppendPrefixed(dst, s.shown)
		}
	}
	if unshown {
		dst = appendUnshown(dst, s.unshown, s.ids)
	}
	return dst
}

func readSession(r *routing.Reader, k *sessionKey) *session {
	st := readStretch(r)
	s := &session{
		k: k, Window: windowfns.Window{StartMs: st.startMs, EndMs: st.endMs},
		elements: st.elements, total: st.acc, shared: true,
	}
	flags := r.Byte()
	if flags&stateRows != 0 {
		s.rowState = rowState{rows: int64(r.Uvarint()), shown: s.total, ever: true}
		if flags&stateSame == 0 {
			s.shown = r.Prefixed()
		}
	}
	if flags&stateUnshown != 0 {
		s.unshown, s.ids = readUnshown(r)
	}
	return s
}

// restore implements [cell].
func (c *sessionCell) restore(kind byte, r *routing.Reader) error {
	if kind == logBlocks {
		return nil
	}
	if err := c.settle(r.Varint(), nowhere{}); err != nil {
		return err
	}
	for !r.Done() {
		if err := c.restoreKey(r); err != nil {
			return err
		}
	}
	c.untouch()
	return r.Err()
}

func (c *sessionCell) restoreKey(r *routing.Reader) error {
	k := c.of(r.Prefixed())
	for range r.Uvarint() {
		s := readSession(r, k)
		if r.Err() != nil {
			return r.Err()
		}
		c.put(s)
	}
	for _, s := range k.gone {
		s.over = true
	}
	k.gone = nil
	for range r.Uvarint() {
		s := &session{k: k, swallowed: true}
		s.StartMs = r.Varint()
		s.EndMs = s.StartMs + int64(r.Uvarint())
		s.rowState = rowState{rows: int64(r.Uvarint()), ever: true}
		if r.Err() != nil {
			return r.Err()
		}
		k.gone = append(k.gone, s)
		c.finals.add(s.EndMs+c.latenessMs, s)
	}
	for _, w := range k.waiting {
		w.over = true
	}
	k.waiting = nil
	for range r.Uvarint() {
		w := &waiting{stretch: readStretch(r), id: r.Uvarint()}
		if r.Err() != nil {
			return r.Err()
		}
		c.wait(k, w)
	}
	c.release(k)
	return r.Err()
}

// put puts s in the place of what it overlaps.
func (c *sessionCell) put(s *session) {
	i, j := s.k.overlapping(s.StartMs, s.EndMs)
	for _, old := range s.k.live[i:j] {
		old.swallowed, old.over = true, true
	}
	s.k.live = slices.Replace(s.k.live, i, j, s)
	if s.EndMs > c.watermark {
		c.fires.add(s.EndMs, s)
		return
	}
	if c.final && s.EndMs+c.latenessMs > c.watermark {
		c.finals.add(s.EndMs+c.latenessMs, s)
	}
	c.forgets.add(s.EndMs+c.gapMs+c.latenessMs, s)
}
