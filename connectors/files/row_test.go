package files

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestRowsTravelWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Row{
			MarkMs: rapid.Int64().Draw(t, "mark"), Position: rapid.Int64().Draw(t, "position"),
			Source: rapid.String().Draw(t, "source"), Raw: rapid.SliceOf(rapid.Byte()).Draw(t, "raw"),
		}
		b := encodeRow(want)
		got, err := decodeRow(b)
		if err != nil || got.MarkMs != want.MarkMs || got.Position != want.Position || got.Source != want.Source || !bytes.Equal(got.Raw, want.Raw) {
			t.Fatalf("decoded %+v, %v; want %+v", got, err, want)
		}
		cut := rapid.IntRange(0, len(b)-len(want.Raw)-1).Draw(t, "cut")
		if _, err := decodeRow(b[:cut]); err == nil {
			t.Fatalf("decoding the first %d of %d bytes: no error", cut, len(b))
		}
	})
}
