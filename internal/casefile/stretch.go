package casefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/connectors/records"
	"tidemark/testing/oracle"
	"tidemark/windowfns"
)

// Some runners have watermarks in whole seconds only, and fire a timer when the
// watermark is past its time, not when it is there. So cases are stretched for them:
// there are seconds for each millisecond of the times of elements, watermarks and
// windows, of bounds and of the allowed lateness. What a case has to come to is the
// same, on the longer scale.

// scale is the times of a stretched case: by for each millisecond from an origin on,
// which is 1970 there. The zero scale is that of others.
type scale struct{ originMs, by int64 }

// up is a time of the stretched case.
func (s scale) up(ms int64) (int64, error) {
	// No accepted time is so far away that this overflows.
	to := (ms - s.originMs) * s.by
	if ms < records.MinTimeMs || ms > records.MaxTimeMs || to < records.MinTimeMs || to > records.MaxTimeMs {
		return 0, fmt.Errorf("casefile: %s is too far from %s to be stretched", clock(ms), clock(s.originMs))
	}
	return to, nil
}

// down is the time of which up has made ms.
func (s scale) down(ms int64) int64 {
	if s.by == 0 {
		return ms
	}
	if ms%s.by != 0 {
		panic(fmt.Errorf("casefile: %s in what a stretched case puts out, want a multiple of %d ms", clock(ms), s.by))
	}
	return ms/s.by + s.originMs
}

// upWatermark is up for watermarks, moved by a bit. They can be at infinity.
func (s scale) upWatermark(ms, by int64) (int64, error) {
	if ms == math.MaxInt64 {
		return ms, nil
	}
	to, err := s.up(ms)
	return to + by, err
}

const second = 1000 // ms

// wholeSecond is a watermark as runners have it that take whole seconds.
func wholeSecond(ms int64) int64 {
	if ms == math.MaxInt64 {
		return ms
	}
	return ms - (ms%second+second)%second
}

// Coarse is the case for runners whose watermarks are whole seconds and have to be
// past the time of a timer. It is stretched, such that a watermark is a second past
// the milliseconds that it stands for and a second in front of the next ones. Where
// days of a calendar, or times too far apart, allow no stretching, watermarks of whole
// seconds are a second later, and others the second before, if the case comes to the
// same. An error says that it does not.
func (c *Case) Coarse() (*Case, error) {
	out, err := c.stretched()
	if err == nil {
		return out, nil
	}
	later := *c
	later.Steps = append(c.Steps[:0:0], c.Steps...)
	for i := range later.Steps {
		if st := &later.Steps[i]; isWatermark(*st) && st.WatermarkMs != math.MaxInt64 {
			if before := wholeSecond(st.WatermarkMs); before < st.WatermarkMs {
				st.WatermarkMs = before
			} else {
				st.WatermarkMs += second
			}
		}
	}
	if lines := later.Oracle(); !slices.Equal(lines, c.Want) {
		return nil, fmt.Errorf("%w, and other watermarks come to something else: %q", err, lines)
	}
	return &later, nil
}

func isWatermark(st oracle.Step) bool { return st.Element == nil && st.Elapsed == 0 }

// Oracle is what the oracle says of the case, as lines. Times of a case that was
// stretched are those that it had before.
func (c *Case) Oracle() []string {
	if c.Command == "average" {
		res := c.Config.PlayAverage(c.Steps)
		for i := range res.Rows {
			r := &res.Rows[i]
			r.StartMs, r.EndMs, r.MaxTimeMs = c.down(r.StartMs), c.down(r.EndMs), c.downIf(r.MaxTimeMs)
		}
		return c.AverageLines(res.Rows, c.downLate(res.Late))
	}
	res := c.Config.Play(c.Steps)
	for i := range res.Rows {
		r := &res.Rows[i]
		r.StartMs, r.EndMs, r.MaxTimeMs = c.down(r.StartMs), c.down(r.EndMs), c.downIf(r.MaxTimeMs)
	}
	for i := range res.Overflows {
		o := &res.Overflows[i]
		o.StartMs, o.EndMs = c.down(o.StartMs), c.down(o.EndMs)
	}
	return c.Lines(res.Rows, res.Overflows, c.downLate(res.Late))
}

func (s scale) downIf(ms *int64) *int64 {
	if ms == nil {
		return nil
	}
	return new(s.down(*ms))
}

func (s scale) downLate(late []oracle.Late) []oracle.Late {
	for i := range late {
		l := &late[i]
		l.Element.TimeMs = s.down(l.Element.TimeMs)
		for j, w := range l.Missed {
			l.Missed[j] = windowfns.Window{StartMs: s.down(w.StartMs), EndMs: s.down(w.EndMs)}
		}
	}
	return late
}

func (c *Case) stretched() (*Case, error) {
	const by = 2 * second
	out := *c
	out.scale, out.events = scale{by: by}, c.Raw
	out.Steps, out.Raw = append(c.Steps[:0:0], c.Steps...), append(c.Raw[:0:0], c.Raw...)
	out.Config.AllowedLateness *= by
	var err error
	var period time.Duration
	if out.Config.Windows, period, err = stretched(c.Config.Windows, by); err != nil {
		return nil, err
	}
	for _, st := range c.Steps {
		if st.Element != nil {
			// What windows are aligned to is 1970 again.
			out.originMs = st.Element.TimeMs / period.Milliseconds() * period.Milliseconds()
			break
		}
	}
	for i := range out.Steps {
		st := &out.Steps[i]
		if e := st.Element; e != nil {
			longer := *e
			st.Element = &longer
			longer.TimeMs, out.Raw[i], err = out.retimed(out.Raw[i], c.fields.time, e.TimeMs)
		} else if isWatermark(*st) {
			st.WatermarkMs, err = out.upWatermark(st.WatermarkMs, second)
		}
		if err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// stretched is windows of a stretched case, and what the original ones are aligned to.
func stretched(fn windowfns.Fn, by int64) (windowfns.Fn, time.Duration, error) {
	long := func(d time.Duration) time.Duration { return time.Duration(d.Nanoseconds() * by) }
	switch fn := fn.(type) {
	case windowfns.Tumbling:
		return windowfns.Tumbling{Size: long(fn.Size), Offset: long(fn.Offset)}, fn.Size, nil
	case windowfns.Sliding:
		return windowfns.Sliding{Size: long(fn.Size), Period: long(fn.Period), Offset: long(fn.Offset)}, fn.Period, nil
	case windowfns.Cumulative:
		return windowfns.Cumulative{Step: long(fn.Step), Size: long(fn.Size), Offset: long(fn.Offset)}, fn.Size, nil
	case windowfns.Session:
		return windowfns.Session{Gap: long(fn.Gap)}, time.Millisecond, nil
	default:
		return nil, 0, fmt.Errorf("casefile: %T cannot be stretched", fn)
	}
}

// retimed is an event of a stretched case, and its time.
func (s scale) retimed(event, field string, ms int64) (int64, string, error) {
	to, err := s.up(ms)
	if err != nil {
		return 0, "", err
	}
	var members map[string]any
	if err := unmarshal([]byte(event), &members); err != nil {
		return 0, "", err
	}
	doc, err := json.Marshal(retimedMember(members, strings.Split(field, "."), to))
	return to, string(doc), err
}

// Coarse is [Case.Coarse] of a join. An element is late when the watermark is above
// its time: watermarks are the seconds that they stand for. Where a join cannot be
// stretched, they are the seconds before.
func (c *JoinCase) Coarse() (*JoinCase, error) {
	out, err := c.stretched()
	if err == nil {
		return out, nil
	}
	before := *c
	before.Steps = append(c.Steps[:0:0], c.Steps...)
	for i := range before.Steps {
		if st := &before.Steps[i]; st.Left == nil && st.Right == nil {
			st.WatermarkMs = wholeSecond(st.WatermarkMs)
		}
	}
	if lines := before.Oracle(); !slices.Equal(lines, c.Want) {
		return nil, fmt.Errorf("%w, and other watermarks come to something else: %q", err, lines)
	}
	return &before, nil
}

// Oracle is [Case.Oracle] of a join.
func (c *JoinCase) Oracle() []string {
	res := c.Config.Play(c.Steps)
	for i := range res.Rows {
		res.Rows[i].TimeMs = c.down(res.Rows[i].TimeMs)
	}
	for i := range res.Late {
		res.Late[i].Element.TimeMs = c.down(res.Late[i].Element.TimeMs)
	}
	return c.Lines(res)
}

func (c *JoinCase) stretched() (*JoinCase, error) {
	out := *c
	out.scale = scale{by: second}
	out.Steps, out.Raw = append(c.Steps[:0:0], c.Steps...), append(c.Raw[:0:0], c.Raw...)
	out.Config.LowerMs *= second
	out.Config.UpperMs *= second
	out.Config.LatenessMs *= second
	for _, st := range c.Steps {
		if e := cmp.Or(st.Left, st.Right); e != nil {
			out.originMs = e.TimeMs
			break
		}
	}
	var err error
	for i := range out.Steps {
		st := &out.Steps[i]
		switch {
		case st.Left != nil:
			longer := *st.Left
			longer.TimeMs, out.Raw[i], err = out.retimed(out.Raw[i], c.left.time, longer.TimeMs)
			st.Left = &longer
		case st.Right != nil:
			longer := *st.Right
			longer.TimeMs, out.Raw[i], err = out.retimed(out.Raw[i], c.right.time, longer.TimeMs)
			st.Right = &longer
		default:
			st.WatermarkMs, err = out.upWatermark(st.WatermarkMs, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// retimedMember is members with another time at a path, which is there.
func retimedMember(members map[string]any, path []string, ms int64) map[string]any {
	if len(path) == 1 {
		members[path[0]] = ms
	} else {
		members[path[0]] = retimedMember(members[path[0]].(map[string]any), path[1:], ms)
	}
	return members
}
