package files

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/connectors/records"
)

var fields = records.Fields{Key: []string{"k"}, Time: "t", TimeUnit: "ms", Amount: "m", Value: "m"}

// record is the text of a record with the key k, at 1000 ms.
func record(k string) string { return fmt.Sprintf(`{"k":%q,"t":1000,"m":5}`, k) }

// seen is a line that was read: a record's key, or a bad record's text and
// reason.
type seen struct {
	Position int64
	Key      string
	Raw      string
	Reason   string
}

// fataler is what rapid.T and testing.T have in common here.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// reopen makes every bundle open its file again, as another worker would.
var reopen bool

// process reads one span as a worker does: until the source stops, with a
// checkpoint wherever it asks for one.
func process(t fataler, fn *readFn, file File, s span) (items []seen, checkpoints int) {
	t.Helper()
	items, checkpoints, err := tryProcess(t, fn, file, s, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return items, checkpoints
}

// tryProcess is process with the error returned. It calls between behind the
// first checkpoint.
func tryProcess(t fataler, fn *readFn, file File, s span, between func()) (items []seen, checkpoints int, err error) {
	t.Helper()
	in := func(et beam.EventTime, mark int64, r Record) {
		if et != 1000 || mark != math.MinInt64 || r.Amount != 5 || r.Source != file.Name || len(r.Raw) > 0 {
			t.Fatalf("%+v at %v, mark %d", r, et, mark)
		}
		items = append(items, seen{Position: r.Position, Key: r.Key})
	}
	bad := func(b Bad) {
		if b.Source != file.Name {
			t.Fatalf("%+v", b)
		}
		items = append(items, seen{Position: b.Position, Raw: string(b.Raw), Reason: b.Reason})
	}
	for {
		if reopen {
			parked.clear()
		}
		rt := fn.CreateTracker(s)
		next, err := fn.ProcessElement(context.Background(), rt, file, in, bad)
		if err != nil {
			return items, checkpoints, err
		}
		if !next.ShouldResume() {
			if !rt.IsDone() {
				t.Fatalf("%+v: stopped and not done", s)
			}
			return items, checkpoints, nil
		}
		_, residual, err := rt.TrySplit(0)
		if err != nil || !rt.IsDone() {
			t.Fatalf("%+v: checkpoint, error %v, done %v", s, err, rt.IsDone())
		}
		if residual == nil {
			return items, checkpoints, nil
		}
		if checkpoints++; checkpoints == 1 {
			between()
		}
		s = residual.(span)
	}
}

// expected is what is to be read of text, with line numbers or offsets.
func expected(text string, limit int, offsets bool) []seen {
	var items []seen
	for i, p := range cutUp(text, 0, limit) {
		raw := p.Text
		if p.Start == 0 {
			raw = strings.TrimPrefix(raw, "\ufeff")
		}
		raw = strings.TrimSuffix(raw, "\r")
		it := seen{Position: int64(i + 1), Raw: raw}
		if offsets {
			it.Position = p.Start
		}
		switch {
		case p.Long:
			it.Reason = fmt.Sprintf("longer than %d bytes, the limit on records", limit)
		case strings.TrimSpace(raw) == "":
			continue
		case strings.HasPrefix(raw, `{"k":"`):
			it.Raw, it.Key = "", raw[len(`{"k":"`):strings.Index(raw, `","t"`)]
		default:
			it.Reason = "invalid JSON: unexpected 'x' at byte offset 0"
		}
		items = append(items, it)
	}
	return items
}

func setup(t fataler, limit int) *readFn {
	t.Helper()
	fn := &readFn{Fields: fields, MaxRecordBytes: limit}
	if err := fn.Setup(); err != nil {
		t.Fatal(err)
	}
	return fn
}

// TestRanges cuts any file into ranges of any size: each line is read once, by
// the range that it begins in, and in order.
func TestRanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.ndjson")
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(
			rapid.Map(rapid.StringMatching(`[a-z]{0,9}`), record),
			rapid.StringMatching(`x[a-z ]{0,50}`),                               // not a record, at times too long
			rapid.SampledFrom([]string{"", " ", "\t", strings.Repeat(" ", 70)}), // the last one is too long to be blank
		)
		ends := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"})
		var text strings.Builder
		text.WriteString(rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark"))
		for range rapid.IntRange(0, 20).Draw(t, "lines") {
			text.WriteString(line.Draw(t, "line") + ends.Draw(t, "end"))
		}
		text.WriteString(line.Draw(t, "last line")) // without an end
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(30, 60).Draw(t, "limit")
		fn, file := setup(t, limit), File{Path: path, Name: "in"}
		whole, err := fn.CreateInitialRestriction(file)
		if err != nil || whole != (span{End: int64(text.Len()), Line: 1}) {
			t.Fatalf("%+v, %v", whole, err)
		}

		got, _ := process(t, fn, file, whole)
		if diff := cmp.Diff(expected(text.String(), limit, false), got); diff != "" {
			t.Fatalf("whole: mismatch (-want +got):\n%s", diff)
		}

		spans := split(whole, rapid.Int64Range(1, 200).Draw(t, "size"))
		got = nil
		for _, s := range spans {
			items, _ := process(t, fn, file, s)
			for _, it := range items {
				if len(spans) > 1 && (it.Position < s.Start || it.Position >= s.End) {
					t.Fatalf("%+v in %+v", it, s)
				}
			}
			got = append(got, items...)
		}
		if diff := cmp.Diff(expected(text.String(), limit, len(spans) > 1), got); diff != "" {
			t.Fatalf("in %d ranges: mismatch (-want +got):\n%s", len(spans), diff)
		}
	})
}

// TestCheckpoints reads a file that takes several bundles: line numbers and
// offsets go on where they were.
func TestCheckpoints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for i := 0; b.Len() < 4*bundleBytes; i++ {
		switch random.IntN(50) {
		case 0:
			b.WriteString("x" + strings.Repeat("y", random.IntN(300_000)) + "\n")
		case 1:
			b.WriteString("\r\n")
		default:
			b.WriteString(record(fmt.Sprintf("%d-%s", i, strings.Repeat("k", random.IntN(1000)))) + "\n")
		}
	}
	text := b.String()
	path := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const limit = 200_000
	fn, file := setup(t, limit), File{Path: path, Name: "in"}

	got, checkpoints := process(t, fn, file, span{End: int64(len(text)), Line: 1})
	if diff := cmp.Diff(expected(text, limit, false), got); diff != "" {
		t.Errorf("whole: mismatch (-want +got):\n%.2000s", diff)
	}
	if checkpoints < 3 {
		t.Errorf("%d checkpoints, want 3 or more: a bundle is not to grow with the file", checkpoints)
	}

	got, checkpoints = nil, 0
	for _, s := range split(span{End: int64(len(text)), Line: 1}, 5<<20) {
		items, n := process(t, fn, file, s)
		got, checkpoints = append(got, items...), checkpoints+n
	}
	if diff := cmp.Diff(expected(text, limit, true), got); diff != "" {
		t.Errorf("in ranges: mismatch (-want +got):\n%.2000s", diff)
	}
	if checkpoints < 2 {
		t.Errorf("%d checkpoints in ranges, want 2 or more", checkpoints)
	}
}

// TestBundleEndsWithTheFile has files that end where a bundle does, before, at
// and after the byte: there is nothing to be resumed.
func TestBundleEndsWithTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.ndjson")
	line := record(strings.Repeat("k", 1000)) + "\n"
	for _, size := range []int{bundleBytes - 1, bundleBytes, bundleBytes + 1, 2 * bundleBytes, 2*bundleBytes + 1} {
		for _, final := range []string{"\n", ""} {
			text := strings.Repeat(line, size/len(line)-1)
			pad := size - len(text) - len(record("")) - len(final)
			text += record(strings.Repeat("p", pad)) + final
			if len(text) != size {
				t.Fatalf("%d bytes, want %d", len(text), size)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			got, _ := process(t, setup(t, 1<<20), File{Path: path, Name: "in"}, span{End: int64(size), Line: 1})
			if want := expected(text, 1<<20, false); !cmp.Equal(want, got) {
				t.Errorf("%d bytes, final %q: %d lines, want %d", size, final, len(got), len(want))
			}
		}
	}
}
