package sink

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPackerKeepsWhatItHandedOut(t *testing.T) {
	var p Packer
	if p.Len() != 0 || len(p.Bytes()) != 0 {
		t.Errorf("zero Packer holds %q", p.Bytes())
	}
	p.Add([]byte("o"), []byte("line"))
	first := p.Bytes()
	want := bytes.Clone(first)
	p.Reset()
	if p.Len() != 0 || len(p.Bytes()) != 0 {
		t.Errorf("after Reset: %q", p.Bytes())
	}
	p.Add([]byte("x"), []byte("other"))
	if !bytes.Equal(first, want) {
		t.Errorf("a batch became %q, want %q", first, want)
	}
}

// TestBatches cuts what was packed, and finds fault with every cut-off batch.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 200)
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2][]byte {
			return [2][]byte{text.Draw(t, "order"), text.Draw(t, "line")}
		}), 1, 5).Draw(t, "lines")
		var p Packer
		last := 0
		for _, l := range lines {
			last = p.Len()
			p.Add(l[0], l[1])
		}
		rest := p.Bytes()
		for _, l := range lines {
			order, line, next, err := cutLine(rest)
			if err != nil || !bytes.Equal(order, l[0]) || !bytes.Equal(line, l[1]) {
				t.Fatalf("cutLine(%q) = %q, %q, %v, want %q", rest, order, line, err, l)
			}
			rest = next
		}
		if len(rest) > 0 {
			t.Fatalf("%q is left", rest)
		}
		short := p.Bytes()[last:rapid.IntRange(last, p.Len()-1).Draw(t, "length")]
		if _, _, _, err := cutLine(short); err == nil {
			t.Fatalf("cutLine(%q) finds a line", short)
		}
	})
}

func TestMalformedBatches(t *testing.T) {
	huge := strings.Repeat("\xff", 9) + "\x01" // 2^64 - 1
	for _, batch := range []string{
		"\x80", "\x01", "\x00\x05abcd", "\x05\x00abcd", huge + huge, "\x01" + huge + "a", huge + "\x02abc",
		strings.Repeat("\xff", 10) + "\x00",
	} {
		sp := NewSpool(t.TempDir(), true)
		if err := sp.AddBatch([]byte(batch)); err != errBatch {
			t.Errorf("AddBatch(%q): %v, want %v", batch, err, errBatch)
		}
		if sp.Lines() != 0 {
			t.Errorf("AddBatch(%q) added %d lines", batch, sp.Lines())
		}
	}
}
