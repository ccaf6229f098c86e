package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"pgregory.net/rapid"
)

func init() {
	register.Function2x0(emptyOr)
	register.Function1x2(keyed)
	register.Function1x2(text)
	register.Function2x0(onlyLast)
	register.Emitter1[int]()
	register.Emitter1[string]()
}

func TestMain(m *testing.M) {
	log.LogLevel = "error"
	ptest.Main(m)
}

// say is an amount as text.
func say(key []byte, a *Amount) string { return fmt.Sprintf("%q %d %v", key, a.N, &a.Sum) }

func entries(t interface{ Fatal(...any) }, packed []byte) (all []string) {
	if err := Each(packed, func(key []byte, a *Amount) error {
		all = append(all, say(key, a))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

var amounts = rapid.MapOf(rapid.StringN(0, 5, -1), rapid.Custom(func(t *rapid.T) *Amount {
	a := &Amount{N: rapid.Int64().Draw(t, "n")}
	a.Sum.Lsh(big.NewInt(rapid.Int64().Draw(t, "sum")), uint(rapid.IntRange(0, 200).Draw(t, "shift")))
	return a
}))

// TestPack packs amounts of all sizes and both signs, and reads them again, in the order
// of their keys.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := amounts.Draw(t, "amounts")
		var want []string
		for _, key := range slices.Sorted(maps.Keys(all)) {
			want = append(want, say([]byte(key), all[key]))
		}
		packed := book(all).pack([]byte("x"))[1:]
		if got := entries(t, packed); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		for cut := range packed {
			// What is cut off is an error, or fewer whole entries.
			n := 0
			err := Each(packed[:cut], func([]byte, *Amount) error { n++; return nil })
			if err == nil && n >= len(want) {
				t.Fatalf("%d of %d bytes, and all entries", cut, len(packed))
			}
		}
	})
}

func TestEachStops(t *testing.T) {
	packed := book{"a": {N: 1}, "b": {N: 2}}.pack(nil)
	n := 0
	stop := fmt.Errorf("enough")
	if err := Each(packed, func([]byte, *Amount) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d entries, want %v after one", err, n, stop)
	}
}

// TestAddUp checks that a page comes to the sum of all deltas, however these are cut,
// and that what is put out are the totals of what a delta has, or of all.
func TestAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := book{}
		var page []byte
		for range rapid.IntRange(1, 5).Draw(t, "deltas") {
			delta := book(amounts.Draw(t, "delta"))
			for key, a := range delta {
				want.add([]byte(key), a)
			}
			for _, whole := range []bool{true, false} {
				now, out, err := addUp(page, delta.pack(nil), whole)
				if err != nil {
					t.Fatal(err)
				}
				expect := book{}
				for key, a := range want {
					if delta[key] != nil || whole {
						expect[key] = a
					}
				}
				if !bytes.Equal(now, want.pack(nil)) || !bytes.Equal(out, expect.pack(nil)) {
					t.Fatalf("whole %v: page %q, out %q, want %q and %q", whole, entries(t, now), entries(t, out), entries(t, want.pack(nil)), entries(t, expect.pack(nil)))
				}
				if !whole {
					page = now
				}
			}
		}
	})
}

func TestDamaged(t *testing.T) {
	good := book{"key": {N: 1}}.pack(nil)
	for _, bad := range [][]byte{{0x80}, {9, 'a'}, good[:len(good)-1], append(slices.Clone(good[:len(good)-1]), 0x7f)} {
		if _, _, err := addUp(bad, good, false); err == nil {
			t.Errorf("no error for the page %q", bad)
		}
		if _, _, err := addUp(good, bad, false); err == nil {
			t.Errorf("no error for the deltas %q", bad)
		}
	}
}

// TestDeltas gathers more than a bundle holds.
func TestDeltas(t *testing.T) {
	got := map[int64]book{}
	batches := 0
	emit := func(_ beam.EventTime, page int64, packed []byte) {
		batches++
		if got[page] == nil {
			got[page] = book{}
		}
		if err := Each(packed, func(key []byte, a *Amount) error { got[page].add(key, a); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var d Deltas
	for i := range 2*maxEntries + 10 {
		d.Add(int64(i%3), fmt.Append(nil, i), 1, big.NewInt(-5), emit)
		d.Add(int64(i%3), []byte("all"), 2, nil, emit)
	}
	if batches == 0 {
		t.Error("nothing is sent on before the end")
	}
	d.Flush(emit)
	d.Flush(emit) // there is nothing left
	keys, all := 0, int64(0)
	for _, b := range got {
		keys += len(b) - 1
		all += b["all"].N
	}
	if keys != 2*maxEntries+10 || all != 2*(2*maxEntries+10) || got[0]["0"].Sum.Int64() != -5 {
		t.Errorf("%d keys and %d in all, want %d and twice as many", keys, all, 2*maxEntries+10)
	}
}

func emptyOr(n int, emit func(int)) {
	if n >= 0 {
		emit(n)
	}
}

func keyed(n int) (string, int) { return "k", n }

func text(packed []byte) (string, error) {
	s := ""
	err := Each(packed, func(key []byte, a *Amount) error {
		s += say(key, a) + ";"
		return nil
	})
	return s, err
}

// onlyLast lets through what all counts come to.
func onlyLast(line string, emit func(string)) {
	if line == allCounts {
		emit(line)
	}
}

const allCounts = `"all" 8 0;"ints" 4 0;`

// TestTotals counts elements of two kinds of collections on one page. The last line has
// everything.
func TestTotals(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	ints := beam.Create(s, 0, 1, 2, 3)
	none := beam.ParDo(s, emptyOr, beam.Create(s, -1, -2))
	totals := Totals(s, true,
		Count(s.Scope("ints"), ints, "ints", "all"),
		Count(s.Scope("keyed"), beam.ParDo(s, keyed, ints), "all"),
		Count(s.Scope("none"), none, "none"))
	lines := beam.ParDo(s, text, totals)
	passert.EqualsList(s, beam.ParDo(s, onlyLast, lines), []string{allCounts})
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
}
