package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

// orderedBatch is a batch of lines whose order is the first letter.
func orderedBatch(lines ...string) Batch {
	var p Packer
	for _, l := range lines {
		p.Add([]byte(l[:1]), []byte(l))
	}
	return p.Bytes()
}

func linesOf(t *testing.T, sp *Spool) (lines []string) {
	t.Helper()
	must(t, sp.Each(func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	}))
	return lines
}

// TestWriteTo runs a pipeline whose workers open places by themselves, twice, as
// a runner does that repeats bundles.
func TestWriteTo(t *testing.T) {
	dir := t.TempDir()
	target := parse(t, filepath.Join(dir, "rows.csv"))
	file, err := AppendPlace(target, Layout{Header: "h"})
	must(t, err)
	parts := Parts{Dir: dir, Name: "late"}
	shared, err := parts.Place()
	must(t, err)
	for range 2 {
		p, s := beam.NewPipelineWithRoot()
		WriteTo(s, To{Place: file}, beam.Create(s, []byte(orderedBatch("b 1", "a 2"))))
		WriteTo(s, To{Place: shared, Done: filepath.Join(dir, "done")}, beam.Create(s, []byte(orderedBatch("b 1", "a 2", "a 1"))))
		must(t, ptest.Run(p))
	}
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		t.Errorf("nothing says that all is written: %v", err)
	}
	text, err := os.ReadFile(target.uri)
	must(t, err)
	if want := "h\nb 1\na 2\nb 1\na 2\n"; string(text) != want {
		t.Errorf("appended %q, want %q", text, want)
	}
	sp := NewSpool(dir, true).Once()
	must(t, parts.CopyTo(sp))
	if got, want := linesOf(t, sp), []string{"a 1", "a 2", "b 1"}; !slices.Equal(got, want) {
		t.Errorf("gathered %q, want %q", got, want)
	}
}

// TestDoneWithinReach checks that a job whose workers cannot say that all is written
// fails when it begins, and that one does not which nobody waits for any more.
func TestDoneWithinReach(t *testing.T) {
	dir := t.TempDir()
	place, err := Parts{Dir: dir, Name: "rows"}.Place()
	must(t, err)
	p, s := beam.NewPipelineWithRoot()
	WriteTo(s, To{Place: place, Done: filepath.Join(dir, "elsewhere", "done")}, beam.Create(s, []byte(orderedBatch("a 1"))))
	if err := ptest.Run(p); err == nil || !strings.Contains(err.Error(), "the folder for word that all is written") {
		t.Errorf("%v, want that the folder is not there", err)
	}
	must(t, (&doneFn{Path: filepath.Join(dir, "gone", "done")}).ProcessElement(0, nil))
}

func TestPlaceTravels(t *testing.T) {
	p, err := AppendPlace(parse(t, "/a/b.csv"), Layout{Header: "x\ty", Right: []bool{true}})
	must(t, err)
	doc, err := json.Marshal(&writeFn{Place: p})
	must(t, err)
	var got writeFn
	must(t, json.Unmarshal(doc, &got))
	if got != (writeFn{Place: p}) || got.Place.IsZero() {
		t.Errorf("got %+v from %s", got, doc)
	}
}

// TestAppendPlaceIsTheTarget has a path that cleaned would be another file's.
func TestAppendPlaceIsTheTarget(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "there", "inner"), 0o777))
	must(t, os.Symlink(filepath.Join("there", "inner"), filepath.Join(dir, "link")))
	t.Chdir(dir)
	place, err := AppendPlace(parse(t, "link/../rows.csv"), Layout{})
	must(t, err)
	t.Chdir(t.TempDir())
	r, err := openAppender([]byte(place.Config))
	must(t, err)
	must(t, r.AddBatch(orderedBatch("one")))
	must(t, r.(*Appender).Close())
	if text, err := os.ReadFile(filepath.Join(dir, "there", "rows.csv")); err != nil || string(text) != "one\n" {
		t.Errorf("the file that the path leads to holds %q, %v", text, err)
	}
}

func TestPlaceErrors(t *testing.T) {
	if _, err := AppendPlace(parse(t, "-"), Layout{}); err == nil || !strings.Contains(err.Error(), `output "-", want a file`) {
		t.Errorf("standard output: %v", err)
	}
	for _, c := range []struct {
		place Place
		want  string
	}{
		{Place{Opener: "nobody"}, `no opener "nobody" in this worker`},
		{Place{Opener: "append", Config: `{"URI": "/nowhere/at/all.csv"}`}, "no such file"},
		{Place{Opener: "parts", Config: `{"Dir": "/nowhere/at/all"}`}, "no such file"},
		{Place{Opener: "append", Config: `{`}, "JSON"},
		{Place{Opener: "parts", Config: `{`}, "JSON"},
	} {
		if _, err := c.place.open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.place, err, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two openers of one name")
		}
	}()
	RegisterOpener("parts", nil)
}

// TestPlaceOpensOnce checks that a process has one receiver at a place, and that
// what could not be opened is tried again.
func TestPlaceOpensOnce(t *testing.T) {
	calls := 0
	RegisterOpener("sometimes", func(config []byte) (Receiver, error) {
		if calls++; calls == 1 {
			return nil, errors.New("not yet")
		}
		return NewSpool(string(config), false), nil
	})
	defer delete(openers, "sometimes")
	at := Place{Opener: "sometimes", Config: t.Name()}
	if _, err := at.open(); err == nil {
		t.Error("no error")
	}
	first, err := at.open()
	must(t, err)
	again, err := at.open()
	must(t, err)
	other, err := Place{Opener: "sometimes", Config: "other"}.open()
	must(t, err)
	if first != again || first == other || calls != 3 {
		t.Errorf("opened %d times: %p, %p, %p", calls, first, again, other)
	}
}

// TestTornPart reads what a worker has left that was killed.
func TestTornPart(t *testing.T) {
	parts := Parts{Dir: t.TempDir(), Name: "rows"}
	place, err := parts.Place()
	must(t, err)
	r, err := place.open()
	must(t, err)
	must(t, r.AddBatch(orderedBatch("whole")))
	must(t, r.AddBatch(orderedBatch("torn")))
	files, err := filepath.Glob(filepath.Join(parts.Dir, "*"))
	must(t, err)
	info, err := os.Stat(files[0])
	must(t, err)
	for cut := int64(1); cut < 6; cut++ {
		must(t, os.Truncate(files[0], info.Size()-cut))
		sp := NewSpool(t.TempDir(), true)
		must(t, parts.CopyTo(sp))
		if got := linesOf(t, sp); !slices.Equal(got, []string{"whole"}) {
			t.Errorf("without the last %d bytes: %q", cut, got)
		}
	}
}

// TestOnce checks that what is dropped is the same line at the same place, in
// memory and on disk.
func TestOnce(t *testing.T) {
	for _, memory := range []int{1, memoryBytes} {
		for _, once := range []bool{false, true} {
			sp := NewSpool(t.TempDir(), true)
			sp.memory = memory
			want := []string{"x", "x", "x", "y"}
			if once {
				sp.Once()
				want = []string{"x", "x", "y"}
			}
			for _, l := range [][2]string{{"1", "x"}, {"2", "x"}, {"1", "x"}, {"2", "y"}} {
				must(t, sp.Add([]byte(l[0]), []byte(l[1])))
			}
			if got := linesOf(t, sp); !slices.Equal(got, want) {
				t.Errorf("memory %d, once %v: %q, want %q", memory, once, got, want)
			}
		}
	}
}

// TestOnceBehind has lines whose orders begin with a time, which can be another one
// when they come again: the first stays, in memory and on disk.
func TestOnceBehind(t *testing.T) {
	for _, memory := range []int{1, 100, memoryBytes} {
		sp := NewSpool(t.TempDir(), true).OnceBehind(1)
		sp.memory, sp.fanIn = memory, 2
		for _, l := range [][2]string{{"5k", "k at 5"}, {"2j", "j at 2"}, {"3k", "k at 3"}, {"9", "none at 9"}, {"3k", "k at 3"}, {"1kk", "kk at 1"}, {"2j", "j at 2"}, {"4j", "j at 4"}, {"7", "none at 7"}} {
			must(t, sp.Add([]byte(l[0]), []byte(l[1])))
		}
		want := []string{"kk at 1", "j at 2", "k at 3", "none at 7"}
		for range 2 {
			if got := linesOf(t, sp); !slices.Equal(got, want) {
				t.Errorf("memory %d: %q, want %q", memory, got, want)
			}
		}
		must(t, sp.Add([]byte("0k"), []byte("k at 0")))
		if got, want := linesOf(t, sp), []string{"k at 0", "kk at 1", "j at 2", "none at 7"}; !slices.Equal(got, want) {
			t.Errorf("memory %d, one more: %q, want %q", memory, got, want)
		}
		if err := sp.Add(nil, []byte("x")); err == nil || !strings.Contains(err.Error(), "order of 0 bytes, want at least 1") {
			t.Errorf("an order without a time: %v", err)
		}
		must(t, sp.Close())
		left, err := os.ReadDir(sp.dir)
		must(t, err)
		if len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// TestAppendersShare lets two appenders of one file write at the same time, as two
// processes do: a file is locked by whoever has opened it.
func TestAppendersShare(t *testing.T) {
	target := parse(t, filepath.Join(t.TempDir(), "rows.csv"))
	var all sync.WaitGroup
	const batches, lines = 50, 40
	for writer := range 3 {
		a, err := NewAppender(target, Layout{Header: "h"}, nil)
		must(t, err)
		all.Go(func() {
			for b := range batches {
				batch := make([]string, lines)
				for i := range batch {
					batch[i] = fmt.Sprintf("%d-%d %s", writer, b, strings.Repeat("x", 4000))
				}
				if err := a.AddBatch(batchOf(batch...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(target.uri)
	must(t, err)
	got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(got) != 1+3*batches*lines || got[0] != "h" {
		t.Fatalf("%d lines, the first is %.20q", len(got), got[0])
	}
	for i := 1; i < len(got); i += lines {
		for _, l := range got[i : i+lines] {
			if l != got[i] {
				t.Fatalf("a batch is torn at line %d: %.20q, %.20q", i, got[i], l)
			}
		}
	}
}
