package joins

import "sort"

// shelf holds the rows of one side and key in the order of their times; rows of
// one time stand in the order in which they came. Searching and adding take
// logarithmic time, but for a constant that a block of rows is moved in.
type shelf struct {
	blocks [][]slotted // none is empty
	n      int
	spare  []slotted // memory of a block that is gone
}

// slotted is a row with its time, at hand for searching.
type slotted struct {
	ms int64
	*row
}

// blockRows is the most rows of a block.
const blockRows = 512

func (s *shelf) len() int { return s.n }

// add puts r behind the rows of its time and before.
func (s *shelf) add(r *row) {
	e := slotted{r.timeMs, r}
	s.n++
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, append(s.spare[:0], e))
		s.spare = nil
		return
	}
	// The last block that begins at or before the time, or the first.
	i := len(s.blocks) - 1
	if s.blocks[i][0].ms > e.ms {
		i = max(0, sort.Search(i, func(i int) bool { return s.blocks[i][0].ms > e.ms })-1)
	}
	b := s.blocks[i]
	at := len(b)
	if b[at-1].ms > e.ms {
		at = after(b, e.ms)
	}
	if len(b) < blockRows {
		b = append(b, e)
		copy(b[at+1:], b[at:])
		b[at] = e
		s.blocks[i] = b
		return
	}
	// Rows mostly come in order: a full last block is left full.
	cut := blockRows / 2
	if i == len(s.blocks)-1 && at == len(b) {
		cut = len(b)
	}
	tail := append(make([]slotted, 0, blockRows), b[cut:]...)
	clear(b[cut:])
	b = b[:cut:cut]
	if at >= cut {
		tail = append(tail, e)
		copy(tail[at-cut+1:], tail[at-cut:])
		tail[at-cut] = e
	} else {
		b = append(b, e)
		copy(b[at+1:], b[at:])
		b[at] = e
	}
	s.blocks[i] = b
	s.blocks = append(s.blocks, nil)
	copy(s.blocks[i+2:], s.blocks[i+1:])
	s.blocks[i+1] = tail
}

// after is the number of rows of b up to ms, and before that of the rows below it.
func after(b []slotted, ms int64) int {
	return sort.Search(len(b), func(i int) bool { return b[i].ms > ms })
}

func before(b []slotted, ms int64) int {
	return sort.Search(len(b), func(i int) bool { return b[i].ms >= ms })
}

// from is the index of the block that holds the first row at or after ms, or the
// number of blocks.
func (s *shelf) from(ms int64) int {
	if len(s.blocks) == 1 && s.blocks[0][len(s.blocks[0])-1].ms >= ms {
		return 0
	}
	return sort.Search(len(s.blocks), func(i int) bool {
		b := s.blocks[i]
		return b[len(b)-1].ms >= ms
	})
}

// scan calls f for the rows from fromMs to toMs, both inclusive, in order, until f
// returns false.
func (s *shelf) scan(fromMs, toMs int64, f func(*row) bool) {
	for i := s.from(fromMs); i < len(s.blocks); i++ {
		b := s.blocks[i]
		at := 0
		if b[0].ms < fromMs {
			at = before(b, fromMs)
		}
		for ; at < len(b); at++ {
			if b[at].ms > toMs || !f(b[at].row) {
				return
			}
		}
	}
}

// remove takes the rows from fromMs to toMs, both inclusive, off the shelf. It
// calls f for each, in order, unless f is nil.
func (s *shelf) remove(fromMs, toMs int64, f func(*row)) {
	first := s.from(fromMs)
	i := first
	for ; i < len(s.blocks) && s.blocks[i][0].ms <= toMs; i++ {
		b := s.blocks[i]
		low, high := before(b, fromMs), after(b, toMs)
		if f != nil {
			for _, e := range b[low:high] {
				f(e.row)
			}
		}
		s.n -= high - low
		rest := b[high:]
		if low > 0 {
			rest = append(b[:low], rest...)
			clear(b[len(rest):]) // let go of the rows
		} else {
			clear(b[:high])
		}
		s.blocks[i] = rest
	}
	if s.n == 0 {
		if len(s.blocks) > 0 {
			s.spare = s.blocks[0][:0]
		}
		s.blocks = s.blocks[:0]
		return
	}
	kept := s.blocks[:first]
	for _, b := range s.blocks[first:i] {
		if len(b) > 0 {
			kept = append(kept, b)
		}
	}
	kept = append(kept, s.blocks[i:]...)
	clear(s.blocks[len(kept):])
	s.blocks = kept
}

// replace puts r where old is, a row of the same time.
func (s *shelf) replace(old, r *row) {
	for i := s.from(old.timeMs); i < len(s.blocks); i++ {
		b := s.blocks[i]
		for at := before(b, old.timeMs); at < len(b) && b[at].ms == old.timeMs; at++ {
			if b[at].row == old {
				b[at].row = r
				return
			}
		}
	}
}

// drop takes the rows up to toMs off the shelf.
func (s *shelf) drop(toMs int64) {
	if len(s.blocks) > 0 && s.blocks[0][0].ms <= toMs {
		s.remove(s.blocks[0][0].ms, toMs, nil)
	}
}
