package routing

import (
	"encoding/binary"
	"fmt"

	"tidemark/windowfns"
)

// A batch is what travels through a gate: the elements of one shard and one
// window, packed. Its layout is
//
//	start varint | end varint | nonce 8 bytes | item*
//
// and an item's is
//
//	time varint | flags byte | [seq, probes, windows uvarint] | [other varint] |
//	len(body) uvarint | body | [len(raw) uvarint | raw]
//
// The bracketed numbers are there when the element has more than one probe or
// window, the other end when flagRun is set, and the raw part when flagRaw is.

const (
	flagMany      = 1 << iota // the element has several windows
	flagRaw                   // raw follows
	flagBodyIsRaw             // the body is the element as it came in
	flagRun                   // the item stands for several windows
)

// Item is one element in one of its windows.
type Item struct {
	TimeMs int64

	// Seq tells the elements of one nonce apart. Probes is how many copies of
	// the element pass a gate; Windows is how many windows it has in all.
	Seq     uint64
	Probes  int
	Windows int

	// Run says that the item stands for more windows than that of its batch: for
	// all between it and the one that ends at OtherMs, which can lie on either
	// side. See [Config.Probe]. Of items that are read and stand for one window,
	// OtherMs is its end.
	Run     bool
	OtherMs int64

	// Body is what goes on when the element is in time.
	Body []byte

	// Raw is the element as it came in, for its late record. Of copies that are
	// judged together only the one for the earliest end needs it: windows are
	// missed in the order of their ends. See [Config.Part].
	Raw []byte
}

func appendHeader(b []byte, w windowfns.Window, nonce uint64) []byte {
	b = appendWindow(b, w)
	return binary.LittleEndian.AppendUint64(b, nonce)
}

// appendItem appends it to the batch b. A nil Raw is left out; a Raw that is
// the same slice as Body is stored once.
func appendItem(b []byte, it *Item) []byte {
	b = binary.AppendVarint(b, it.TimeMs)
	many := it.Windows > 1
	same := len(it.Raw) > 0 && len(it.Raw) == len(it.Body) && &it.Raw[0] == &it.Body[0]
	var flags byte
	if many {
		flags |= flagMany
	}
	switch {
	case same:
		flags |= flagBodyIsRaw
	case it.Raw != nil:
		flags |= flagRaw
	}
	if it.Run {
		flags |= flagRun
	}
	b = append(b, flags)
	if many {
		b = binary.AppendUvarint(b, it.Seq)
		b = binary.AppendUvarint(b, uint64(it.Probes))
		b = binary.AppendUvarint(b, uint64(it.Windows))
	}
	if it.Run {
		b = binary.AppendVarint(b, it.OtherMs)
	}
	b = AppendPrefixed(b, it.Body)
	if flags&flagRaw != 0 {
		b = AppendPrefixed(b, it.Raw)
	}
	return b
}

// Batch reads a packed batch.
type Batch struct {
	Window windowfns.Window
	nonce  uint64
	r      Reader
}

// ReadBatch reads the header of a batch and leaves its items to [Batch.Next].
func ReadBatch(b []byte) (Batch, error) {
	r := Reader{b: b}
	w := r.window()
	n := r.Bytes(8)
	if r.err != nil {
		return Batch{}, r.err
	}
	return Batch{Window: w, nonce: binary.LittleEndian.Uint64(n), r: r}, nil
}

// Next reads the next item into it, whose slices then point into the batch. It
// returns false at the end of the batch or on an error; see [Batch.Err].
func (b *Batch) Next(it *Item) bool {
	if b.r.Done() {
		return false
	}
	it.TimeMs = b.r.Varint()
	flags := b.r.Byte()
	it.Seq, it.Probes, it.Windows = 0, 1, 1
	if flags&flagMany != 0 {
		it.Seq = b.r.Uvarint()
		it.Probes = int(b.r.Uvarint())
		it.Windows = int(b.r.Uvarint())
	}
	it.Run, it.OtherMs = flags&flagRun != 0, b.Window.EndMs
	if it.Run {
		it.OtherMs = b.r.Varint()
	}
	it.Body = b.r.Prefixed()
	it.Raw = nil
	switch {
	case flags&flagBodyIsRaw != 0:
		it.Raw = it.Body
	case flags&flagRaw != 0:
		it.Raw = b.r.Prefixed()
	}
	return b.r.err == nil
}

// Err is the first error that [Batch.Next] met.
func (b *Batch) Err() error { return b.r.err }

// LateRecord says that an element missed windows.
type LateRecord struct {
	TimeMs int64
	Missed []windowfns.Window // ascending by end
	All    bool               // it missed every window that it has
	Raw    []byte             // the element as it came in
}

// AppendLate appends the encoding of rec to b.
func AppendLate(b []byte, rec *LateRecord) []byte {
	b = binary.AppendVarint(b, rec.TimeMs)
	n := uint64(len(rec.Missed)) << 1
	if rec.All {
		n |= 1
	}
	b = binary.AppendUvarint(b, n)
	for _, w := range rec.Missed {
		b = appendWindow(b, w)
	}
	return AppendPrefixed(b, rec.Raw)
}

// ReadLate calls f for each record of b, which [AppendLate] made. The record is
// valid only during the call.
func ReadLate(b []byte, f func(*LateRecord) error) error {
	r := Reader{b: b}
	var rec LateRecord
	for !r.Done() {
		rec.TimeMs = r.Varint()
		n := r.Uvarint()
		rec.All = n&1 == 1
		rec.Missed = rec.Missed[:0]
		for range n >> 1 {
			if r.err != nil {
				break
			}
			rec.Missed = append(rec.Missed, r.window())
		}
		rec.Raw = r.Prefixed()
		if r.err != nil {
			return r.err
		}
		if err := f(&rec); err != nil {
			return err
		}
	}
	return r.err
}

// AppendPrefixed appends the length of p and p; see [Reader.Prefixed].
func AppendPrefixed[T ~string | ~[]byte](b []byte, p T) []byte {
	b = binary.AppendUvarint(b, uint64(len(p)))
	return append(b, p...)
}

func appendWindow(b []byte, w windowfns.Window) []byte {
	b = binary.AppendVarint(b, w.StartMs)
	return binary.AppendVarint(b, w.EndMs)
}

// Reader reads the primitives of the packed formats. After an error it returns
// zero values; check Err once, at the end.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Done reports whether everything was read or an error was met.
func (r *Reader) Done() bool { return len(r.b) == 0 || r.err != nil }

// Err is the first error that was met.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("routing: packed data cut short")
	}
	r.b = nil
}

// Varint reads a signed number.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Uvarint reads an unsigned number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// Bytes reads n bytes, which point into the input.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

// Prefixed reads a length and as many bytes, which point into the input.
func (r *Reader) Prefixed() []byte {
	n := r.Uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	return r.Bytes(int(n))
}

func (r *Reader) window() windowfns.Window {
	return windowfns.Window{StartMs: r.Varint(), EndMs: r.Varint()}
}

// Len is how many bytes are left.
func (r *Reader) Len() int { return len(r.b) }
