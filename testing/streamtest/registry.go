package streamtest

import "sync"

// registry hands out ids for values that DoFns of the same process look up: a
// DoFn is shipped as JSON and cannot point to a test's memory itself. Entries
// stay for the life of the process, because a job that has failed may still be
// running.
type registry[T any] struct {
	mu     sync.Mutex
	values []T
}

func (r *registry[T]) add(v T) (id int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, v)
	return len(r.values) - 1
}

func (r *registry[T]) get(id int) (v T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 0 || id >= len(r.values) {
		return v, false
	}
	return r.values[id], true
}
