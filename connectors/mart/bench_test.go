package mart

import (
	"fmt"
	"path/filepath"
	"testing"

	"tidemark/connectors/rows"
	"tidemark/transforms/gmv"
)

// benchRows is how many rows a benchmark loads: 100 keys in each of 1000 windows,
// sorted as package rows sorts them.
const benchRows = 100_000

// sorted makes benchRows lines, whose sums are shifted.
func sorted(shift int64) Lines {
	var text []byte
	var ends []int
	for i := range int64(benchRows) {
		start := 1_718_000_000_000 + i/100*3_600_000
		text = rows.AppendGMV(text, &gmv.Row{
			Key: fmt.Sprintf("company-%04d", i%100), StartMs: start, EndMs: start + 3_600_000, Pane: "ON_TIME",
			Minor: 1000*i + shift, Count: 7, MaxTimeMs: new(int64(start + 1_234_567)),
		}, false)
		ends = append(ends, len(text))
	}
	return func(emit func([]byte) error) error {
		at := 0
		for _, end := range ends {
			if err := emit(text[at:end]); err != nil {
				return err
			}
			at = end
		}
		return nil
	}
}

func BenchmarkParse(b *testing.B) {
	lines := sorted(0)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		var args []any
		err := lines(func(line []byte) (err error) {
			args, err = gmvTable.values(args[:0], line)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		n += benchRows
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkReplace loads a mart that is new, and then one that has all the rows,
// the same or others.
func BenchmarkReplace(b *testing.B) {
	for _, c := range []struct {
		name          string
		before, after Lines
	}{
		{"first", nil, sorted(0)}, {"same", sorted(0), sorted(0)}, {"changed", sorted(0), sorted(1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				b.StopTimer()
				m, err := Open(filepath.Join(b.TempDir(), "mart.db"))
				if err != nil {
					b.Fatal(err)
				}
				if c.before != nil {
					load(b, m, c.before)
				}
				b.StartTimer()
				load(b, m, c.after)
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
				n += benchRows
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkInsert has batches of 1000 rows, a transaction each.
func BenchmarkInsert(b *testing.B) {
	lines := sorted(0)
	n := 0
	for b.Loop() {
		b.StopTimer()
		m, err := Open(filepath.Join(b.TempDir(), "mart.db"))
		if err != nil {
			b.Fatal(err)
		}
		run, err := m.Begin(RunInfo{Job: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		var batch [][]byte
		err = lines(func(line []byte) error {
			if batch = append(batch, line); len(batch) < 1000 {
				return nil
			}
			defer func() { batch = batch[:0] }()
			return run.Insert(Rows, func(emit func([]byte) error) error {
				for _, l := range batch {
					if err := emit(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
		n += benchRows
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

func load(b *testing.B, m *Mart, lines Lines) {
	b.Helper()
	run, err := m.Begin(RunInfo{Job: "bench", Command: "gmv"})
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Replace(map[Kind]Lines{Rows: lines}, Summary{}); err != nil {
		b.Fatal(err)
	}
}
