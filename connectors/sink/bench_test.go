package sink

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// BenchmarkSpool adds and releases 1,000,000 lines of 150 bytes with orders of
// 40 bytes that share their first 16, as those of one window do.
func BenchmarkSpool(b *testing.B) {
	const n = 1_000_000
	for _, sorted := range []bool{true, false} {
		for _, batched := range []bool{false, true} {
			b.Run(fmt.Sprintf("lines=1m/sorted=%v/batched=%v", sorted, batched), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(n * 150)
				for b.Loop() {
					benchSpool(b, n, sorted, batched)
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			})
		}
	}
}

func benchSpool(b *testing.B, n int, sorted, batched bool) {
	sp := NewSpool(b.TempDir(), sorted)
	rng := rand.New(rand.NewPCG(1, 2))
	var p Packer
	order, line := make([]byte, 40), make([]byte, 150)
	for i := range line {
		line[i] = 'x'
	}
	for range n {
		binary.BigEndian.PutUint64(order[16:], rng.Uint64())
		var err error
		switch {
		case !batched:
			err = sp.Add(order, line)
		case p.Len() < 1<<20:
			p.Add(order, line)
		default:
			p.Add(order, line)
			err = sp.AddBatch(p.Bytes())
			p.Reset()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := sp.AddBatch(p.Bytes()); err != nil {
		b.Fatal(err)
	}
	if err := releaseTo(sp, io.Discard); err != nil {
		b.Fatal(err)
	}
	if err := sp.Close(); err != nil {
		b.Fatal(err)
	}
}
