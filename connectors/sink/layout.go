package sink

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"
)

// Layout is what stands around the lines of an output. The zero Layout adds
// nothing.
type Layout struct {
	// Header is the first line of a file or of standard output; a file that is
	// appended to has it already. None where it is empty.
	Header string

	// Right makes a table of the lines, where it is not nil: their cells are
	// separated by tabs, and these columns are aligned to the right.
	Right []bool
}

// writer writes lines in a layout.
type writer struct {
	layout Layout
	out    *bufio.Writer
	widths []int // of a table's columns, as far as is known
	cells  [][]byte
}

func newWriter(l Layout, out io.Writer) *writer {
	return &writer{layout: l, out: bufio.NewWriterSize(out, bufferBytes)}
}

// measure makes room for a line in a table.
func (w *writer) measure(line []byte) {
	if w.layout.Right == nil {
		return
	}
	w.cut(line)
	for i, c := range w.cells {
		if i == len(w.widths) {
			w.widths = append(w.widths, 0)
		}
		w.widths[i] = max(w.widths[i], utf8.RuneCount(c))
	}
}

func (w *writer) cut(line []byte) {
	w.cells = w.cells[:0]
	for c := range bytes.SplitSeq(line, []byte("\t")) {
		w.cells = append(w.cells, c)
	}
}

func (w *writer) header() error {
	if w.layout.Header == "" {
		return nil
	}
	return w.line([]byte(w.layout.Header))
}

// line writes a line and a newline. A line of a table is measured first.
func (w *writer) line(line []byte) error {
	if w.layout.Right == nil {
		if _, err := w.out.Write(line); err != nil {
			return err
		}
		return w.out.WriteByte('\n')
	}
	w.measure(line)
	for i, c := range w.cells {
		pad := w.widths[i] - utf8.RuneCount(c)
		right := i < len(w.layout.Right) && w.layout.Right[i]
		if i > 0 {
			w.spaces(2)
		}
		if right {
			w.spaces(pad)
		}
		if _, err := w.out.Write(c); err != nil {
			return err
		}
		if !right && i < len(w.cells)-1 {
			w.spaces(pad)
		}
	}
	return w.out.WriteByte('\n')
}

// spaces leaves its error to the next write, as a bufio.Writer does.
func (w *writer) spaces(n int) {
	for range n {
		_ = w.out.WriteByte(' ')
	}
}

// release writes all lines of a spool, with the header in front.
func (l Layout) release(sp *Spool, out io.Writer) error {
	w := newWriter(l, out)
	if l.Right != nil {
		w.measure([]byte(l.Header))
		if err := sp.Each(func(line []byte) error { w.measure(line); return nil }); err != nil {
			return err
		}
	}
	if err := w.header(); err != nil {
		return err
	}
	if err := sp.Each(w.line); err != nil {
		return err
	}
	return w.out.Flush()
}
