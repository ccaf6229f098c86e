package joins

import "fmt"

// Type is the type of a join: which rows come out.
type Type string

// The types. A pair is a left and a right row that match; an unmatched row is one
// that no acceptable row of the other side can match any more.
const (
	Inner    Type = "inner"     // pairs
	Left     Type = "left"      // pairs, and unmatched left rows
	Right    Type = "right"     // pairs, and unmatched right rows
	Full     Type = "full"      // pairs, and unmatched rows of both sides
	LeftSemi Type = "left_semi" // each left row that has a match, once
	LeftAnti Type = "left_anti" // unmatched left rows
)

// Types are all types.
var Types = []Type{Inner, Left, Right, Full, LeftSemi, LeftAnti}

// side is the side of a row.
type side byte

const (
	left side = iota
	right
)

func (s side) other() side { return 1 - s }

func (s side) String() string {
	if s == left {
		return "left"
	}
	return "right"
}

// traits are what a type means to the engine.
type traits struct {
	pairs     bool    // every pair comes out
	first     bool    // a left row comes out at its first match
	once      bool    // a left row is of no more use after its first match
	unmatched [2]bool // unmatched rows of the side come out
}

func (t Type) traits() (traits, error) {
	switch t {
	case "", Inner:
		return traits{pairs: true}, nil
	case Left:
		return traits{pairs: true, unmatched: [2]bool{left: true}}, nil
	case Right:
		return traits{pairs: true, unmatched: [2]bool{right: true}}, nil
	case Full:
		return traits{pairs: true, unmatched: [2]bool{true, true}}, nil
	case LeftSemi:
		return traits{first: true, once: true}, nil
	case LeftAnti:
		return traits{once: true, unmatched: [2]bool{left: true}}, nil
	default:
		return traits{}, fmt.Errorf("Type = %q, want one of %q", t, Types)
	}
}
