package oracle

import "math"

// joiner is the state of a script that is being played. It forgets nothing: each
// element is compared with all of the other side that were not late.
type joiner struct {
	cfg          JoinConfig
	lower, upper int64 // both inclusive

	watermark   int64
	left, right []*joined
	step        int
	out         JoinResult
}

// joined is an element that was not late.
type joined struct {
	JoinElement
	deadlineMs int64 // the last watermark at which it can get a partner
	partners   int
	settled    bool // the watermark is past the deadline, and its row is out
}

// Play plays steps and, after them, a watermark at infinity. It panics if
// [JoinConfig.Validate] has an objection.
//
//   - A pair comes with its second element, at the later of both times.
//   - A left element of a semi join comes with its first partner, without it, at the
//     later of both times. If several partners are there before it, that of the
//     earliest.
//   - A left element without a partner comes when WM > TimeMs + UpperMs + L, a right
//     one when WM > TimeMs - LowerMs + L, at its own time. WM is the watermark and
//     the bounds are inclusive here. If that holds when the element comes, though it
//     is not late, its row comes with it.
func (cfg JoinConfig) Play(steps []JoinStep) JoinResult {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	j := joiner{cfg: cfg, watermark: math.MinInt64}
	j.lower, j.upper = cfg.interval()
	for i, st := range append(steps[:len(steps):len(steps)], JoinWatermark(math.MaxInt64)) {
		j.step = i
		switch {
		case st.Left != nil:
			j.addLeft(*st.Left)
		case st.Right != nil:
			j.addRight(*st.Right)
		default:
			j.watermark = max(j.watermark, st.WatermarkMs)
		}
		j.settle()
		j.out.Held = append(j.out.Held, j.held())
	}
	j.out.Left.add(j.left)
	j.out.Right.add(j.right)
	return j.out
}

// late reports, and notes, that e is too late.
func (j *joiner) late(side string, e JoinElement, counts *JoinCounts) bool {
	counts.Assigned++
	if j.watermark <= e.TimeMs+j.cfg.LatenessMs {
		return false
	}
	counts.Late++
	j.out.Late = append(j.out.Late, JoinLate{Side: side, Element: e, Step: j.step})
	return true
}

func (j *joiner) addLeft(e JoinElement) {
	if j.late("left", e, &j.out.Left) {
		return
	}
	l := &joined{JoinElement: e, deadlineMs: e.TimeMs + j.upper + j.cfg.LatenessMs}
	j.left = append(j.left, l)
	var earliest *joined
	for _, r := range j.right {
		if !j.match(l, r) {
			continue
		}
		j.pair(l, r)
		if earliest == nil || r.TimeMs < earliest.TimeMs {
			earliest = r
		}
	}
	if earliest != nil && j.cfg.Type == "left_semi" {
		j.row(l, nil, max(l.TimeMs, earliest.TimeMs))
	}
}

func (j *joiner) addRight(e JoinElement) {
	if j.late("right", e, &j.out.Right) {
		return
	}
	r := &joined{JoinElement: e, deadlineMs: e.TimeMs - j.lower + j.cfg.LatenessMs}
	j.right = append(j.right, r)
	for _, l := range j.left {
		if !j.match(l, r) {
			continue
		}
		first := l.partners == 0
		j.pair(l, r)
		if first && j.cfg.Type == "left_semi" {
			j.row(l, nil, max(l.TimeMs, r.TimeMs))
		}
	}
}

func (j *joiner) match(l, r *joined) bool {
	return l.Key == r.Key && l.TimeMs+j.lower <= r.TimeMs && r.TimeMs <= l.TimeMs+j.upper
}

// leftOnly reports whether rows say of a left element only whether it has a
// partner.
func (j *joiner) leftOnly() bool { return j.cfg.Type == "left_semi" || j.cfg.Type == "left_anti" }

// pair makes partners of l and r, which match.
func (j *joiner) pair(l, r *joined) {
	l.partners++
	r.partners++
	if !j.leftOnly() {
		j.row(l, r, max(l.TimeMs, r.TimeMs))
	}
}

// settle emits the elements without a partner that can get none any more.
func (j *joiner) settle() {
	for _, l := range j.left {
		if j.due(l) && (j.cfg.Type == "left" || j.cfg.Type == "full" || j.cfg.Type == "left_anti") {
			j.row(l, nil, l.TimeMs)
		}
	}
	for _, r := range j.right {
		if j.due(r) && (j.cfg.Type == "right" || j.cfg.Type == "full") {
			j.row(nil, r, r.TimeMs)
		}
	}
}

// due reports whether x turns out now to stay without a partner.
func (j *joiner) due(x *joined) bool {
	if x.settled || j.watermark <= x.deadlineMs {
		return false
	}
	x.settled = true
	return x.partners == 0
}

func (j *joiner) row(l, r *joined, timeMs int64) {
	row := JoinRow{TimeMs: timeMs, Step: j.step}
	if l != nil {
		row.Key, row.Left = l.Key, l.ID
	}
	if r != nil {
		row.Key, row.Right = r.Key, r.ID
	}
	j.out.Rows = append(j.out.Rows, row)
}

func (j *joiner) held() (h JoinHeld) {
	for _, l := range j.left {
		if j.watermark <= l.deadlineMs && (l.partners == 0 || !j.leftOnly()) {
			h.Left++
		}
	}
	for _, r := range j.right {
		if j.watermark <= r.deadlineMs {
			h.Right++
		}
	}
	return h
}

// add counts the elements of a side that were not late.
func (counts *JoinCounts) add(side []*joined) {
	for _, x := range side {
		if x.partners > 0 {
			counts.Joined++
		} else {
			counts.Unmatched++
		}
	}
}
