package aggregate

// part is what one key has in the elements of one run of windows: a slice, or
// what is left of one.
type part struct {
	first, last int32 // windows of the cell
	acc         []byte
}

func (p *part) covers(i int32) bool { return p.first <= i && i <= p.last }

// queue puts the totals of ascending windows together from parts whose first and
// last windows ascend, at a few merges a part however many parts a window has:
// parts enter at the back, whose total grows with them, and leave at the front,
// for which the total of each part and those behind it is kept. When the front
// has run out, the back becomes the front.
type queue struct {
	head, mid, tail int      // parts[head:mid] are the front, parts[mid:tail] the back
	front           [][]byte // by part from mid - len(front)
	back            []byte
	total           []byte
	valid           bool // total is that of parts[head:tail]
}

// at returns the total of the parts that cover window i, nil if there are none.
// Windows are asked for in ascending order. Nothing ever changes the total.
func (q *queue) at(ru *rules, parts []part, i int32) (_ []byte, err error) {
	for q.tail < len(parts) && parts[q.tail].first <= i {
		if q.back, err = ru.merge(q.back, parts[q.tail].acc); err != nil {
			return nil, err
		}
		q.tail++
		q.valid = false
	}
	for q.head < q.tail && parts[q.head].last < i {
		if q.head == q.mid {
			if err := q.flip(ru, parts); err != nil {
				return nil, err
			}
		}
		q.head++
		q.valid = false
	}
	if q.valid {
		return q.total, nil
	}
	q.total, q.valid = nil, true
	if q.head < q.mid {
		q.total = q.front[len(q.front)-(q.mid-q.head)]
	}
	if q.mid < q.tail {
		if q.head == q.mid {
			q.total = q.back
		} else if q.total, err = ru.merge(q.total, q.back); err != nil {
			return nil, err
		}
	}
	return q.total, nil
}

// flip makes the back the front.
func (q *queue) flip(ru *rules, parts []part) (err error) {
	n := q.tail - q.mid
	if cap(q.front) < n {
		q.front = make([][]byte, n)
	}
	q.front = q.front[:n]
	var total []byte
	for j := n - 1; j >= 0; j-- {
		if total, err = ru.merge(total, parts[q.mid+j].acc); err != nil {
			return err
		}
		q.front[j] = total
	}
	q.mid, q.back = q.tail, nil
	return nil
}

// dropped tells q that the first n parts are gone.
func (q *queue) dropped(n int) {
	if n > q.head {
		*q = queue{front: q.front[:0]} // some were still in: begin anew
		return
	}
	q.head, q.mid, q.tail = q.head-n, q.mid-n, q.tail-n
}
