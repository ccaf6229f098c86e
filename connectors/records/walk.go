package records

import (
	"bytes"
	"strconv"
	"strings"
)

// The walk works on records that are known to be valid JSON, which is what
// makes it short: it never has to look for errors, and the first byte of
// a value tells its type.

// node is a place in a record that paths lead to or through.
type node struct {
	name  string  // of the member
	index int     // of the array element, negative if name is not an index
	slots []int   // where to put the value; several paths may be equal
	kids  []*node // the places inside it
}

// add makes path, below n, lead to the slot.
func (n *node) add(path string, slot int) {
	for name := range strings.SplitSeq(path, ".") {
		kid := n.named([]byte(name))
		if kid == nil {
			kid = &node{name: name, index: -1}
			if i, err := strconv.Atoi(name); err == nil && strconv.Itoa(i) == name {
				kid.index = i
			}
			n.kids = append(n.kids, kid)
		}
		n = kid
	}
	n.slots = append(n.slots, slot)
}

// named returns the place below n with the given name, or nil.
func (n *node) named(name []byte) *node {
	for _, kid := range n.kids {
		if kid.name == string(name) {
			return kid
		}
	}
	return nil
}

// indexed returns the place below n with the given array index, or nil.
func (n *node) indexed(index int) *node {
	for _, kid := range n.kids {
		if kid.index == index {
			return kid
		}
	}
	return nil
}

// span is the part raw[start:end] of a record, or nothing if end is 0. Offsets
// in place of slices keep the walker on the stack.
type span struct{ start, end int }

// walker finds values in one record.
type walker struct {
	raw   []byte
	found []span // by slot
	left  int    // number of slots that are not found
}

// at returns the value found for a slot as written, empty if there is none.
func (w *walker) at(slot int) []byte {
	s := w.found[slot]
	return w.raw[s.start:s.end]
}

// object walks the object that starts at raw[i] and returns the offset of its
// end, or any offset once nothing is left to find.
func (w *walker) object(i int, n *node) int {
	i++
	for w.left > 0 {
		i = skipSpace(w.raw, i)
		switch w.raw[i] {
		case '}':
			return i + 1
		case ',':
			i++
			continue
		}
		end := skipString(w.raw, i)
		kid := n.named(unquoted(w.raw[i:end]))
		i = skipSpace(w.raw, end) + 1 // the colon
		i = w.value(skipSpace(w.raw, i), kid)
	}
	return i
}

// array walks the array that starts at raw[i] and returns as object does.
func (w *walker) array(i int, n *node) int {
	i++
	for index := 0; w.left > 0; {
		i = skipSpace(w.raw, i)
		switch w.raw[i] {
		case ']':
			return i + 1
		case ',':
			i++
			index++
			continue
		}
		i = w.value(i, n.indexed(index))
	}
	return i
}

// value takes the value that starts at raw[i] and returns as object does. The
// node is nil if no path leads to the value.
func (w *walker) value(i int, n *node) int {
	if n == nil {
		return skipValue(w.raw, i)
	}
	if len(n.slots) > 0 {
		end := skipValue(w.raw, i)
		for _, slot := range n.slots {
			if w.found[slot].end == 0 {
				w.found[slot] = span{i, end}
				w.left--
			}
		}
		if len(n.kids) == 0 {
			return end
		}
	}
	switch w.raw[i] {
	case '{':
		return w.object(i, n)
	case '[':
		return w.array(i, n)
	default:
		return skipValue(w.raw, i)
	}
}

// skipSpace returns the offset of the first byte at or after i that is not
// JSON white space, or the length of raw.
func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset after the string that starts at raw[i].
func skipString(raw []byte, i int) int {
	for {
		i++
		i += bytes.IndexByte(raw[i:], '"')
		escapes := 0 // backslashes before the quote; the opening quote ends them
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the offset after the value that starts at raw[i].
func skipValue(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	}
	for {
		switch raw[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
}

// skipNested returns the offset after the object or array that starts at
// raw[i].
func skipNested(raw []byte, i int) int {
	depth := 0
	for {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}
