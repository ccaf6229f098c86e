package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// entrant is one of the pipelines that are compared.
type entrant struct {
	name   string
	events int64 // what it reads
	want   int64 // what its amounts have to come to
	run    func() (outcome, error)
}

// outcome is what a run comes to.
type outcome struct {
	rows, late int64
	minor      int64 // the sum of the amounts of all rows and late records

	took time.Duration
	live uint64 // bytes that a collection of garbage found in use, at most
	held uint64 // bytes that the process had from the system, at most
}

func (r outcome) rate(e entrant) float64 { return float64(e.events) / r.took.Seconds() }

func (r outcome) memory() string {
	return fmt.Sprintf("%4d MB in use, %4d MB held", r.live>>20, r.held>>20)
}

// contest runs the entrants in turn, some rounds of it, and prints what each did
// and the ratios of their medians to that of the first. It returns the medians by
// name, of each number for itself.
func contest(o options, entrants ...entrant) (map[string]outcome, error) {
	if o.only != "" {
		entrants = slices.DeleteFunc(entrants, func(e entrant) bool { return e.name != o.only })
	}
	if len(entrants) == 0 {
		return nil, fmt.Errorf("-only %q: there is no such pipeline", o.only)
	}
	runs := map[string][]outcome{}
	for range o.rounds {
		for _, e := range entrants {
			r, err := measure(e.run)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			if r.minor != e.want {
				return nil, fmt.Errorf("%s: the sum of all rows and late records is %d, want %d", e.name, r.minor, e.want)
			}
			runs[e.name] = append(runs[e.name], r)
			fmt.Printf("%-24s %9.0f events/s  %s  %d rows, %d late\n", e.name, r.rate(e), r.memory(), r.rows, r.late)
		}
	}
	medians := map[string]outcome{}
	base := 0.0
	for _, e := range entrants {
		r := runs[e.name]
		m := r[0]
		m.took = median(r, func(r outcome) time.Duration { return r.took })
		m.live, m.held = median(r, func(r outcome) uint64 { return r.live }), median(r, func(r outcome) uint64 { return r.held })
		medians[e.name] = m
		base = cmp.Or(base, m.rate(e))
		fmt.Printf("%-24s %9.0f events/s  %s, the median of %d", e.name, m.rate(e), m.memory(), o.rounds)
		if len(entrants) > 1 {
			fmt.Printf(": %.2f x %s", m.rate(e)/base, entrants[0].name)
		}
		fmt.Println()
	}
	return medians, nil
}

func median[T cmp.Ordered](runs []outcome, of func(outcome) T) T {
	var all []T
	for _, r := range runs {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// measure runs f and adds to its outcome what it took. Every run begins without
// the garbage of the one before.
func measure(f func() (outcome, error)) (outcome, error) {
	debug.FreeOSMemory()
	stop := watchMemory()
	begin := time.Now()
	r, err := f()
	r.took = time.Since(begin)
	r.live, r.held = stop()
	return r, err
}

// watchMemory follows the memory of the process until stop is called, which
// returns the peaks.
func watchMemory() (stop func() (live, held uint64)) {
	done, peaks := make(chan struct{}), make(chan [2]uint64)
	go func() {
		samples := []metrics.Sample{
			{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		}
		var peak [2]uint64
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for more := true; more; {
			select {
			case <-tick.C:
			case <-done:
				more = false
			}
			metrics.Read(samples)
			peak[0] = max(peak[0], samples[0].Value.Uint64())
			peak[1] = max(peak[1], samples[1].Value.Uint64()-samples[2].Value.Uint64())
		}
		peaks <- peak
	}()
	return func() (live, held uint64) {
		close(done)
		p := <-peaks
		return p[0], p[1]
	}
}
