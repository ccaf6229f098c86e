package routing

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/windowfns"
)

// judged is an element with the verdicts on its windows: the first late ones of
// those that were probed are missed, because lateness is monotone in the end.
type judged struct {
	nonce, seq uint64
	rec        LateRecord
	windows    int
	probed     []windowfns.Window
	late       int
}

func judgements() *rapid.Generator[[]judged] {
	return rapid.Custom(func(t *rapid.T) []judged {
		var all []judged
		for i := range rapid.IntRange(1, 6).Draw(t, "elements") {
			j := judged{
				nonce:   rapid.Uint64Range(1, 2).Draw(t, "nonce"),
				seq:     uint64(i),
				windows: rapid.IntRange(2, 5).Draw(t, "windows"),
			}
			probes := rapid.IntRange(2, j.windows).Draw(t, "probes")
			for k := range probes {
				j.probed = append(j.probed, windowfns.Window{StartMs: int64(10 * k), EndMs: int64(10*k + 50)})
			}
			j.late = rapid.IntRange(0, probes).Draw(t, "late")
			j.rec = LateRecord{
				TimeMs: rapid.Int64().Draw(t, "time"),
				Missed: j.probed[:j.late],
				All:    j.late == j.windows,
				Raw:    append([]byte{byte(i)}, blobs().Draw(t, "raw")...),
			}
			all = append(all, j)
		}
		return all
	})
}

// packed are the verdicts on an element, one message each.
func (j judged) packed() [][]byte {
	var out [][]byte
	for k, w := range j.probed {
		late := k < j.late
		it := Item{TimeMs: j.rec.TimeMs, Seq: j.seq, Probes: len(j.probed), Windows: j.windows}
		if k == 0 {
			it.Raw = j.rec.Raw // only the copy for the earliest end carries it
		}
		out = append(out, appendVerdicts(nil, j.nonce, w, late, appendVerdict(nil, &it, 1, late)))
	}
	return out
}

// TestCollector brings verdicts in any order, with the collector packed and
// unpacked anywhere in between. Each element that missed a window comes out once,
// when its last verdict is in, and nothing is left.
func TestCollector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elems := judgements().Draw(t, "elements")
		var messages [][]byte
		var want []LateRecord
		for _, j := range elems {
			messages = append(messages, j.packed()...)
			if j.late > 0 {
				want = append(want, j.rec)
			}
		}
		c := collector{}
		var records []byte
		oldest := int64(math.MaxInt64)
		messages = rapid.Permutation(messages).Draw(t, "order")
		for len(messages) > 0 {
			// Groups travel one by one or joined.
			n := rapid.IntRange(1, len(messages)).Draw(t, "joined")
			m := slices.Concat(messages[:n]...)
			messages = messages[n:]
			var err error
			if records, oldest, err = c.add(m, records, oldest); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "pack") {
				b := c.encode()
				if c, err = readCollector(b); err != nil {
					t.Fatal(err)
				}
				if again := c.encode(); string(again) != string(b) {
					t.Fatalf("%x packed, unpacked and packed is %x", b, again)
				}
			}
		}
		if len(c) > 0 {
			t.Fatalf("%d elements are left", len(c))
		}
		got := unpackLate(t, records)
		byRaw := func(a, b LateRecord) int { return slices.Compare(a.Raw, b.Raw) }
		slices.SortFunc(got, byRaw)
		slices.SortFunc(want, byRaw)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
		first := int64(math.MaxInt64)
		for _, r := range want {
			first = min(first, r.TimeMs)
		}
		if oldest != first {
			t.Fatalf("oldest %d, want %d", oldest, first)
		}
	})
}

func unpackLate(t interface{ Fatal(...any) }, records []byte) []LateRecord {
	var got []LateRecord
	err := ReadLate(records, func(rec *LateRecord) error {
		c := *rec
		c.Missed = slices.Clone(rec.Missed)
		got = append(got, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCollectorCutShort cuts verdicts and packed collectors anywhere.
func TestCollectorCutShort(t *testing.T) {
	j := judged{
		nonce: 7, seq: 300, windows: 3, late: 1, rec: LateRecord{TimeMs: -1, Raw: []byte("raw")},
		probed: []windowfns.Window{{StartMs: 0, EndMs: 5}, {StartMs: 3, EndMs: 9}},
	}
	verdicts := j.packed()[0]
	c := collector{}
	if _, _, err := c.add(verdicts, nil, 0); err != nil {
		t.Fatal(err)
	}
	for cut := range verdicts {
		if _, _, err := (collector{}).add(verdicts[:cut], nil, 0); (err == nil) != (cut == 0) {
			t.Errorf("verdicts cut at %d of %d: %v", cut, len(verdicts), err)
		}
	}
	packed := c.encode()
	for cut := range packed {
		if _, err := readCollector(packed[:cut]); (err == nil) != (cut == 0) {
			t.Errorf("collector cut at %d of %d: %v", cut, len(packed), err)
		}
	}
}
