// Package flow keeps sources from running far ahead of the joins that take their
// elements in the same process. The embedded runner holds all that has been read and not been
// taken, and hands it on in ever larger bundles: it never slows a source down.
package flow

import "sync/atomic"

// Meter follows what is on its way in one run. It is safe for concurrent use.
type Meter struct {
	limit int64 // in bytes; 0 is none
	bytes atomic.Int64
}

var current atomic.Pointer[Meter]

func init() { Start(0) }

// Start begins a run in which sources wait while more bytes than limit are on their
// way; 0 is no limit, and right where elements leave the process.
func Start(limit int64) *Meter {
	m := &Meter{limit: limit}
	current.Store(m)
	return m
}

// Current is the meter of the run that was started last. A DoFn asks for it in Setup
// and keeps it.
func Current() *Meter { return current.Load() }

// Sent says that so many bytes are on their way.
func (m *Meter) Sent(bytes int) { m.bytes.Add(int64(bytes)) }

// Taken says that they have arrived.
func (m *Meter) Taken(bytes int) { m.bytes.Add(-int64(bytes)) }

// Full reports whether sources should wait.
func (m *Meter) Full() bool { return m.limit > 0 && m.bytes.Load() > m.limit }
