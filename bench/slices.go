package main

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/transforms/average"
	"tidemark/windowfns"
)

func init() {
	register.Function2x0(countRow)
}

// countRow is a sink in the stage that makes the rows, which the runner does not
// hold then. It emits nothing; see quiet.
func countRow(r average.Row, _ func(int64, int64)) {
	sunkRows.Add(1)
	sunkMinor.Add(minorOfAverage(r))
}

// longAgainstShort compares averages over long windows with averages over short
// ones, of the same elements and at the same period, and with o.growth times the
// elements of the same keys and event time. Where windows share what they have in
// common, an element costs the same, however many windows it is in, and memory
// grows with the keys and the periods, not with elements or windows.
func longAgainstShort(ctx context.Context, o options) error {
	enter := func(size time.Duration, times int64) (entrant, error) {
		each, err := windowsEach(size, o.period)
		if err != nil {
			return entrant{}, err
		}
		o := o
		o.events *= times
		src := ordersOf(o)
		cfg := average.Config{Windows: windowfns.Sliding{Size: size, Period: o.period}, Watermarked: true, Shards: o.shards}
		e := entrant{name: fmt.Sprintf("%v/%d", size, o.events), events: src.Orders, want: src.minor() * each}
		e.run = func() (outcome, error) {
			return play(ctx, func(s beam.Scope) {
				rows, late := average.PerKey(s, cfg, valueOf, src.read(s))
				quiet(s, beam.ParDo(s, countRow, rows))
				beam.ParDo0(s, countLate, late)
			})
		}
		return e, nil
	}
	counts := []int64{1}
	if o.growth > 1 {
		counts = append(counts, o.growth)
	}
	var pairs [][2]entrant // of short and long windows, by the number of elements
	var all []entrant
	for _, times := range counts {
		short, err := enter(o.short, times)
		if err != nil {
			return err
		}
		long, err := enter(o.window, times)
		if err != nil {
			return err
		}
		pairs, all = append(pairs, [2]entrant{short, long}), append(all, short, long)
	}
	medians, err := contest(o, all...)
	if err != nil || o.only != "" {
		return err
	}

	fmt.Printf("%d keys, %v of event time, windows every %v; the time of a run over its elements:\n", o.keys, o.span, o.period)
	for _, pair := range pairs {
		printCosts(pair, medians, func(k int) (time.Duration, int64) {
			return medians[pair[k].name].took, pair[k].events
		})
	}
	if o.growth > 1 {
		// Both have the same rows, if every key has elements in every period.
		fmt.Println("the time of a larger run less that of the smaller, over the further elements:")
		few, many := pairs[0], pairs[1]
		printCosts(many, medians, func(k int) (time.Duration, int64) {
			return medians[many[k].name].took - medians[few[k].name].took, many[k].events - few[k].events
		})
	}
	return nil
}

// printCosts prints what an element costs with short windows and with long ones,
// and the memory. Of both in a pair costs says how long how many elements took.
func printCosts(pair [2]entrant, medians map[string]outcome, costs func(k int) (time.Duration, int64)) {
	var each [2]float64
	for k, e := range pair {
		took, events := costs(k)
		each[k] = float64(took.Nanoseconds()) / float64(events)
		fmt.Printf("%-24s %7.0f ns an element  %s\n", e.name, each[k], medians[e.name].memory())
	}
	memory := float64(medians[pair[1].name].live) / float64(medians[pair[0].name].live)
	fmt.Printf("%-24s %7.2f x             %.2f x the memory in use\n", "long to short", each[1]/each[0], memory)
}
