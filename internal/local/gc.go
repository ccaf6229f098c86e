package local

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// Collecting less often trades memory for time: a pipeline's live heap is
	// small beside what it allocates. Where it is not, memory counts.
	rareGC     = 200 // percent
	usualGC    = 100
	smallBytes = 64 << 20 // the largest live heap that is small
)

// collector starts the tuning of a process once.
var collector sync.Once

// tuner sets how often the heap is collected, by how large it is.
type tuner struct {
	usual  bool
	sample [1]metrics.Sample
}

// tune is called after each collection.
func (t *tuner) tune() {
	t.sample[0].Name = "/gc/heap/live:bytes"
	metrics.Read(t.sample[:])
	usual := t.sample[0].Value.Kind() != metrics.KindUint64 || t.sample[0].Value.Uint64() > smallBytes
	if usual == t.usual {
		return
	}
	t.usual = usual
	if usual {
		debug.SetGCPercent(usualGC)
	} else {
		debug.SetGCPercent(rareGC)
	}
}

// afterGC lets t tune after every collection, by means of garbage.
func afterGC(t *tuner) {
	type garbage struct{ _ [16]byte }
	runtime.AddCleanup(new(garbage), func(t *tuner) {
		t.tune()
		afterGC(t)
	}, t)
}
