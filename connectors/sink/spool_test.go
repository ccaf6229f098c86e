package sink

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

type row struct{ order, line string }

// released is what rows come out as, in the order that they should have.
func released(rows []row, sorted bool) string {
	rows = slices.Clone(rows)
	if sorted {
		slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.line, b.line)) })
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.line + "\n")
	}
	return b.String()
}

func release(t rapid.TB, sp *Spool) string {
	t.Helper()
	var b bytes.Buffer
	if err := releaseTo(sp, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSpoolProperty adds random lines, singly and in batches, to spools of
// little memory and fan-in, and releases them twice, with more lines in between.
func TestSpoolProperty(t *testing.T) {
	dir := t.TempDir()
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00\u00ff")), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		sp := NewSpool(dir, rapid.Bool().Draw(t, "sorted"))
		defer sp.Close() //nolint:errcheck // checked by TestSpoolClose
		sp.memory = rapid.IntRange(0, 300).Draw(t, "memory")
		sp.fanIn = rapid.IntRange(2, 4).Draw(t, "fan-in")
		var rows []row
		for range 2 {
			var p Packer
			for range rapid.IntRange(0, 60).Draw(t, "rows") {
				r := row{text.Draw(t, "order"), text.Draw(t, "line")}
				rows = append(rows, r)
				if rapid.Bool().Draw(t, "packed") || p.Len() > 0 {
					p.Add([]byte(r.order), []byte(r.line))
				} else if err := sp.Add([]byte(r.order), []byte(r.line)); err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "flush") {
					if err := sp.AddBatch(p.Bytes()); err != nil {
						t.Fatal(err)
					}
					p.Reset()
				}
			}
			if err := sp.AddBatch(p.Bytes()); err != nil {
				t.Fatal(err)
			}
			if n := sp.Lines(); n != int64(len(rows)) {
				t.Fatalf("Lines() = %d, want %d", n, len(rows))
			}
			if got, want := release(t, sp), released(rows, sp.sorted); got != want {
				t.Fatalf("released %q, want %q", got, want)
			}
		}
	})
}

func TestSpoolCopies(t *testing.T) {
	sp := NewSpool(t.TempDir(), true)
	defer sp.Close() //nolint:errcheck // checked by TestSpoolClose
	buf := []byte("b1")
	must(t, sp.Add(buf[:1], buf))
	copy(buf, "a2")
	must(t, sp.Add(buf[:1], buf))
	copy(buf, "zz")
	if got := release(t, sp); got != "a2\nb1\n" {
		t.Errorf("released %q", got)
	}
}

func TestSpoolStaysInMemory(t *testing.T) {
	sp := NewSpool("/nonexistent", true)
	for i := range 1000 {
		must(t, sp.Add(nil, fmt.Append(nil, i)))
	}
	if got := strings.Count(release(t, sp), "\n"); got != 1000 {
		t.Errorf("%d lines", got)
	}
	must(t, sp.Close())
}

// TestSpoolManyRuns makes some thousand runs and looks at what is kept of them:
// fewer than the fan-in on each level, on few levels, and no more on disk than
// the lines take, with their lengths.
func TestSpoolManyRuns(t *testing.T) {
	const n, line = 20_000, 100
	sp := NewSpool(t.TempDir(), true)
	defer sp.Close() //nolint:errcheck // checked by TestSpoolClose
	sp.memory, sp.fanIn = 1000, 8
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{fmt.Sprintf("%05d", i/2), fmt.Sprintf("%0*d", line, i)}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, r := range rows {
		must(t, sp.Add([]byte(r.order), []byte(r.line)))
		for i, l := range sp.disk.levels {
			if i > 4 || len(l.runs) >= sp.fanIn {
				t.Fatalf("%d runs on level %d", len(l.runs), i)
			}
		}
	}
	var size int64
	for _, l := range sp.disk.levels {
		info, err := l.file.Stat()
		must(t, err)
		if info.Size() != l.file.size {
			t.Errorf("file of %d bytes, want %d", info.Size(), l.file.size)
		}
		size += info.Size()
	}
	if least, most := int64(n-100)*(line+7), int64(n)*(line+7); size < least || size > most {
		t.Errorf("%d bytes on disk, want %d to %d", size, least, most)
	}
	if held := cap(sp.data) + entryBytes*cap(sp.held); held > 4*sp.memory {
		t.Errorf("%d bytes in memory, want at most %d or so", held, sp.memory)
	}
	if release(t, sp) != released(rows, true) {
		t.Error("lines are not those that were added, sorted")
	}
}

func TestSpoolLargeLine(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		sp := NewSpool(t.TempDir(), sorted)
		defer sp.Close() //nolint:errcheck // checked by TestSpoolClose
		sp.memory = 1000
		var rows []row
		for i, size := range []int{10, 100_000, 10, 0, 5000, 10} {
			r := row{fmt.Sprint(9 - i), strings.Repeat(fmt.Sprint(i), size)}
			rows = append(rows, r)
			must(t, sp.Add([]byte(r.order), []byte(r.line)))
		}
		if cap(sp.data) > 10_000 {
			t.Errorf("holds on to %d bytes", cap(sp.data))
		}
		if release(t, sp) != released(rows, sorted) {
			t.Errorf("sorted %v: lines are not those that were added", sorted)
		}
	}
}

func TestSpoolConcurrently(t *testing.T) {
	const workers, each = 8, 2000
	for _, sorted := range []bool{true, false} {
		sp := NewSpool(t.TempDir(), sorted)
		defer sp.Close() //nolint:errcheck // checked by TestSpoolClose
		sp.memory = 10_000
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					if err := sp.Add(fmt.Appendf(nil, "%04d", i), fmt.Appendf(nil, "%04d-%d", i, w)); err != nil {
						t.Error(err)
					}
					sp.Lines()
				}
			})
		}
		wg.Wait()
		got := strings.Split(strings.TrimSuffix(release(t, sp), "\n"), "\n")
		if !sorted {
			slices.Sort(got)
		}
		for i := range workers * each {
			if want := fmt.Sprintf("%04d-%d", i/workers, i%workers); i >= len(got) || got[i] != want {
				t.Fatalf("sorted %v: %d lines, line %d is not %s", sorted, len(got), i, want)
			}
		}
		if len(got) != workers*each {
			t.Errorf("%d lines, want %d", len(got), workers*each)
		}
	}
}

func TestSpoolClose(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		dir := t.TempDir()
		sp := NewSpool(dir, sorted)
		sp.memory, sp.fanIn = 100, 3
		for i := range 200 {
			must(t, sp.Add(fmt.Append(nil, i), fmt.Append(nil, i)))
		}
		if len(sp.disk.levels) == 0 {
			t.Error("nothing went to disk")
		}
		must(t, sp.Close())
		if got := names(t, dir); got != "" {
			t.Errorf("files after Close: %s", got)
		}
		if err := sp.Add(nil, nil); !errors.Is(err, errClosed) {
			t.Errorf("Add: %v", err)
		}
		if err := releaseTo(sp, &bytes.Buffer{}); !errors.Is(err, errClosed) {
			t.Errorf("Release: %v", err)
		}
		if n := sp.Lines(); n != 200 {
			t.Errorf("Lines() = %d", n)
		}
		must(t, sp.Close())
	}
}

// Where files cannot be removed while they are open, Close does it.
func TestSpoolCloseRemovesNames(t *testing.T) {
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "")
	must(t, err)
	must(t, (&tempFile{File: f, named: true}).Close())
	if got := names(t, dir); got != "" {
		t.Errorf("files after Close: %s", got)
	}
}

// TestSpoolFailure takes the disk away. The spool remembers: lines are missing
// now, and nobody may take the rest for all of them.
func TestSpoolFailure(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		for _, name := range []string{"no folder", "no file"} {
			sp := NewSpool(t.TempDir(), sorted)
			sp.memory = 100
			if name == "no folder" {
				sp.dir = "/nonexistent"
			} else {
				for len(sp.disk.levels) == 0 {
					must(t, sp.Add(nil, []byte("0123456789")))
				}
				must(t, sp.disk.levels[0].file.File.Close())
			}
			var first error
			for i := 0; first == nil && i < 100; i++ {
				first = sp.Add(nil, []byte("0123456789"))
			}
			if first == nil || !strings.HasPrefix(first.Error(), "sink: spooling lines to disk: ") || !errors.Is(first, map[string]error{
				"no folder": os.ErrNotExist, "no file": os.ErrClosed,
			}[name]) {
				t.Errorf("sorted %v, %s: Add: %v", sorted, name, first)
			}
			sp.dir = t.TempDir()
			var p Packer
			p.Add(nil, nil)
			var out bytes.Buffer
			for _, err := range []error{sp.Add(nil, nil), sp.AddBatch(p.Bytes()), releaseTo(sp, &out)} {
				if err != first {
					t.Errorf("sorted %v, %s: %v, want %v", sorted, name, err, first)
				}
			}
			if out.Len() > 0 {
				t.Errorf("sorted %v, %s: lines of a broken spool came out", sorted, name)
			}
		}
	}
}

// releaseTo writes the lines of sp as they are.
func releaseTo(sp *Spool, w io.Writer) error { return Layout{}.release(sp, w) }
