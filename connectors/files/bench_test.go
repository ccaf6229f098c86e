package files

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// benchSide is a file of n records for each side.
func benchSide(b *testing.B, n int, text func(int64) string) File {
	var lines strings.Builder
	for i := range n {
		lines.WriteString(text(int64(1_718_089_200_000+i)) + "\n")
	}
	return fileOf(b, b.TempDir(), "in.ndjson", []byte(lines.String()))
}

const benchRecords = 200_000

// BenchmarkReadRows reads one file in batch, on one core, up to the emitter.
func BenchmarkReadRows(b *testing.B) {
	in := benchSide(b, benchRecords, rightEvent)
	fn := &readRowsFn{newReadFn(Config{Fields: pairFields, MaxRecordBytes: 1 << 20})}
	if err := fn.Setup(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s, err := fn.CreateInitialRestriction(in)
		if err != nil {
			b.Fatal(err)
		}
		for {
			rt := fn.CreateTracker(s)
			next, err := fn.ProcessElement(context.Background(), rt, in, func(_ beam.EventTime, _ string, r Row) { n += len(encodeRow(r)) }, nil)
			if err != nil {
				b.Fatal(err)
			}
			_, rest, _ := rt.TrySplit(0)
			if !next.ShouldResume() || rest == nil {
				break
			}
			s = rest.(span)
		}
	}
	b.ReportMetric(float64(b.N*benchRecords)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkStreamPair reads two files as one stream, up to the emitters.
func BenchmarkStreamPair(b *testing.B) {
	in := PairInput{[]File{benchSide(b, benchRecords, event)}, []File{benchSide(b, benchRecords, rightEvent)}}
	fn := newRig(b, bundleBytes).fn
	b.ReportAllocs()
	n := 0
	emit := func(_ beam.EventTime, _ string, r Row) { n += len(encodeRow(r)) }
	for b.Loop() {
		s, j := fn.CreateInitialRestriction(in), newJoint()
		for {
			rt := fn.CreateTracker(s)
			next, err := fn.ProcessElement(context.Background(), &j, rt, in, emit, emit, func(r Bad) { panic(fmt.Sprint(r)) })
			if err != nil {
				b.Fatal(err)
			}
			if !next.ShouldResume() {
				break
			}
			_, rest, _ := rt.TrySplit(0)
			s = rest.(pairSpan)
		}
	}
	b.ReportMetric(float64(b.N*2*benchRecords)/b.Elapsed().Seconds(), "records/s")
}
