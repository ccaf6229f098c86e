package routing

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/windowfns"
)

// TestPacker packs elements of two shards and two windows. A flush emits one
// batch for each, stamped with the deadline, and starts anew.
func TestPacker(t *testing.T) {
	w1, w2 := windowfns.Window{StartMs: 0, EndMs: 10}, windowfns.Window{StartMs: 10, EndMs: 20}
	var p Packer
	var nonces []uint64
	for range 2 {
		seqs := []uint64{p.NextSeq(), p.NextSeq()}
		if seqs[0] == seqs[1] {
			t.Errorf("two elements have the number %d", seqs[0])
		}
		for _, k := range []batchKey{{1, w1}, {2, w1}, {1, w2}, {1, w1}} {
			if p.Add(k.shard, k.w, &Item{TimeMs: k.w.StartMs, Windows: 1, Body: []byte("body")}) {
				t.Error("full after some bytes")
			}
		}
		var out []sent
		p.Flush(100, into(&out))
		got := map[batchKey]int{}
		for _, s := range out {
			batch, err := ReadBatch(s.B)
			if err != nil {
				t.Fatal(err)
			}
			if s.At != batch.Window.EndMs-1+100 {
				t.Errorf("a batch of %v is stamped %d", batch.Window, s.At)
			}
			for it := (Item{}); batch.Next(&it); {
				got[batchKey{s.Shard, batch.Window}]++
			}
			if !slices.Contains(nonces, batch.nonce) {
				nonces = append(nonces, batch.nonce)
			}
		}
		want := map[batchKey]int{{1, w1}: 2, {2, w1}: 1, {1, w2}: 1}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(batchKey{})); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
		out = nil
		if p.Flush(0, into(&out)); len(out) > 0 {
			t.Errorf("a second flush emits %d batches", len(out))
		}
	}
	if len(nonces) != 2 {
		t.Errorf("%d nonces in two flushes, want one each: numbers begin again", len(nonces))
	}
}

// A packer is full after some megabytes, so that a bundle as large as a file
// does not have to fit in memory.
func TestPackerGetsFull(t *testing.T) {
	var p Packer
	it := Item{Windows: 1, Body: make([]byte, 1<<20)}
	n := 1
	for !p.Add(int64(n%3), windowfns.Window{EndMs: 1}, &it) {
		if n++; n > 100 {
			t.Fatal("not full after 100 MiB")
		}
	}
	if n < 4 {
		t.Errorf("full after %d MiB already", n)
	}
	p.Flush(0, into(new([]sent)))
	if p.Add(0, windowfns.Window{EndMs: 1}, &it) {
		t.Error("full after a flush and 1 MiB")
	}
}

// TestDoFnsTravel sends every DoFn the way that workers get it: as JSON.
func TestDoFnsTravel(t *testing.T) {
	windows := ship(t, windowfns.Sliding{Size: millis(30), Period: millis(10)})
	for _, fn := range []any{
		&coarseFn{BeyondMs: 1, GrainMs: 2},
		&splitFn{PassDelayMs: 1, RestDelayMs: 2, Last: true, Final: true, Many: true},
		&splitFn{Final: true, Many: true, Windows: windows},
		&layerFn{Routing: Config{LatenessMs: 1, Layered: true, Many: true}, NextGrainMs: 2},
		&layerFn{Routing: Config{LatenessMs: 1, Probe: true, Windows: windows}},
		&expandFn{Windows: windows, Runs: true},
		&turnFn{Windows: windows, DelayMs: 3},
		newCollectFn(),
	} {
		doc, err := json.Marshal(fn)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(fn).Elem()).Interface()
		if err := json.Unmarshal(doc, back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fn, back) {
			t.Errorf("%+v came back as %+v", fn, back)
		}
		if s, ok := back.(interface{ Setup() error }); ok {
			if err := s.Setup(); err != nil {
				t.Errorf("%T: %v", back, err)
			}
		}
	}
}
