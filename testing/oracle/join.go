package oracle

import (
	"fmt"
	"slices"
)

// JoinConfig says which elements of two sides match, and which rows are asked
// for. A left element l and a right element r match if they have one key and
//
//	l.TimeMs + LowerMs <= r.TimeMs <= l.TimeMs + UpperMs
//
// A bound that is exclusive has < in place of <=. All is event time in ms.
type JoinConfig struct {
	LowerMs        int64
	UpperMs        int64
	ExclusiveLower bool
	ExclusiveUpper bool

	// Type is one of [JoinTypes].
	//
	//	inner       pairs
	//	left        pairs, and left elements without a partner
	//	right       pairs, and right elements without a partner
	//	full        pairs, and elements without a partner
	//	left_semi   left elements that have a partner, once
	//	left_anti   left elements that have none
	Type string

	// LatenessMs is the allowed lateness L, 0 or more. An element at t is late
	// if the watermark is above t + L when it comes.
	LatenessMs int64
}

// JoinTypes are the types of joins.
var JoinTypes = []string{"inner", "left", "right", "full", "left_semi", "left_anti"}

// Validate reports what is wrong with cfg: an unknown type, a negative lateness,
// or bounds that no two times in whole ms can keep.
func (cfg JoinConfig) Validate() error {
	lower, upper := cfg.interval()
	switch {
	case !slices.Contains(JoinTypes, cfg.Type):
		return fmt.Errorf("Type = %q, want one of %q", cfg.Type, JoinTypes)
	case cfg.LatenessMs < 0:
		return fmt.Errorf("LatenessMs = %d, want 0 or more", cfg.LatenessMs)
	case lower > upper:
		return fmt.Errorf("LowerMs = %d (exclusive: %t), UpperMs = %d (exclusive: %t), want an interval that is not empty",
			cfg.LowerMs, cfg.ExclusiveLower, cfg.UpperMs, cfg.ExclusiveUpper)
	}
	return nil
}

// interval is the bounds, both inclusive.
func (cfg JoinConfig) interval() (lower, upper int64) {
	lower, upper = cfg.LowerMs, cfg.UpperMs
	if cfg.ExclusiveLower {
		lower++
	}
	if cfg.ExclusiveUpper {
		upper--
	}
	return lower, upper
}

// JoinElement is an element of one side. Elements that are equal are as many as
// there are steps that bring them.
type JoinElement struct {
	Key    string
	ID     string // what rows call it; not empty
	TimeMs int64
}

// JoinStep is one step of a script: a left element; or, where that is nil, a
// right one; or, where both are nil, a watermark of the join, which is the lower
// of its inputs'. A watermark that is not higher than the one before has no
// effect.
type JoinStep struct {
	Left, Right *JoinElement
	WatermarkMs int64
}

// Left is the step that brings e on the left.
func Left(e JoinElement) JoinStep { return JoinStep{Left: &e} }

// Right is the step that brings e on the right.
func Right(e JoinElement) JoinStep { return JoinStep{Right: &e} }

// JoinWatermark is the step that advances the watermark to ms.
func JoinWatermark(ms int64) JoinStep { return JoinStep{WatermarkMs: ms} }

// JoinRow is a row. A pair has two IDs, every other row has one.
type JoinRow struct {
	Key    string
	Left   string // the ID, empty where there is none
	Right  string
	TimeMs int64
	Step   int // what brings it, from 0; the number of steps for the end
}

// JoinLate is an element that came too late. It is in no row.
type JoinLate struct {
	Side    string // left or right
	Element JoinElement
	Step    int
}

// JoinHeld is how many elements of each side a join has to remember: of those
// that were not late, those that an element which would not be late could still
// match; without the left ones of semi and anti joins that have a partner. A join
// may hold more, for as long as it says.
type JoinHeld struct {
	Left, Right int
}

// JoinCounts are the elements of one side: Assigned = Joined + Unmatched + Late.
type JoinCounts struct {
	Assigned int64

	// Joined have at least one partner, Unmatched have none, whether there is a
	// row of them or not. A semi or anti join that forgets left elements once they
	// have a partner cannot know which it is for right elements that come after
	// that; of its right side, compare the sum of both.
	Joined    int64
	Unmatched int64
	Late      int64
}

// JoinResult is the outcome of a script. Rows are in the order of the steps that
// bring them, and in no certain order within a step.
type JoinResult struct {
	Rows  []JoinRow
	Late  []JoinLate
	Held  []JoinHeld // after each step, and after the end
	Left  JoinCounts
	Right JoinCounts
}
