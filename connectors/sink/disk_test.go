package sink

import (
	"bytes"
	"io"
	"testing"
)

// A run that is cut off inside a line must not pass for a shorter one.
func TestRunCutOff(t *testing.T) {
	var run []byte
	ends := map[int]int{0: 0} // where lines end, and how many do up to there
	for i, line := range []string{"", "one", "two and more"} {
		run = appendLine(run, bytes.Repeat([]byte{'k'}, i), []byte(line))
		ends[len(run)] = i + 1
	}
	for n := range len(run) + 1 {
		src := runSource(bytes.NewReader(run[:n]))
		lines, err := 0, src.next()
		for ; err == nil; err = src.next() {
			lines++
		}
		want, whole := ends[n]
		switch {
		case whole && (err != io.EOF || lines != want):
			t.Errorf("%d bytes of a run: %d lines, then %v, want %d", n, lines, err, want)
		case !whole && err != io.ErrUnexpectedEOF:
			t.Errorf("%d bytes of a run: %v after %d lines, want an unexpected end", n, err, lines)
		}
	}
}
