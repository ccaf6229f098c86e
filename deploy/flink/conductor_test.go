//go:build flink

package flink

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"tidemark/connectors/sink"
	jobs "tidemark/internal/cluster"
	"tidemark/internal/flow"
	"tidemark/internal/halt"
	"tidemark/internal/tally"
	"tidemark/pipelines"
	"tidemark/testing/streamtest"
)

// conductor lets a job play a timeline: its source takes a step when the one before
// has gone through. For elements that is so when all of their (element, window) pairs
// are assigned, and each is added or late, by the counts of the job's workers, which
// are in this process. For a watermark it is so when Flink's metrics say so of all
// parts of the step that makes the rows.
type conductor struct {
	metrics  *metrics
	assigned []int64 // how many pairs elements come to: of the first, the first two ...
	counts   *tally.Tally
	rows     *lines

	// besides says, unless it is nil, what else has to be there: so many rows after so
	// many elements.
	besides func(elements, rows int) bool

	mu     sync.Mutex
	played streamtest.Progress
	asked  int
	err    error // the last one
}

const (
	// rest is how long is waited between two questions, and patient how long a bundle
	// goes on asking.
	rest    = 20 * time.Millisecond
	patient = 2 * time.Second
)

// ready reports whether what has been played has gone through. It waits for that up to
// patient, while [streamtest.Timeline.Stepped] says that it must not: what needs the end of a
// bundle would never come. Elements do not, they have left with the bundle before; a watermark
// can, and comes when the wait is over and the bundle ends without a step. After that the
// source rests for a second, which most steps are spared by the wait.
func (d *conductor) ready(p streamtest.Progress) bool {
	for end := time.Now().Add(patient); !d.ask(p); time.Sleep(rest) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func (d *conductor) ask(p streamtest.Progress) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.played, d.asked = p, d.asked+1
	return d.through(p)
}

func (d *conductor) through(p streamtest.Progress) bool {
	n := d.pairs(p.Elements)
	if d.counts.Get(tally.Assigned) != n || d.counts.Get(tally.Added)+d.counts.Get(tally.Late) != n {
		return false
	}
	if d.besides != nil && !d.besides(p.Elements, d.rows.len()) {
		return false
	}
	if p.WatermarkMs == math.MinInt64 {
		return true
	}
	at, err := d.metrics.watermark()
	d.err = err
	return err == nil && at >= wholeSecond(p.WatermarkMs)
}

func (d *conductor) progress() streamtest.Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.played
}

func (d *conductor) pairs(elements int) int64 {
	if elements == 0 {
		return 0
	}
	return d.assigned[elements-1]
}

// wholeSecond is the watermark that Flink's runner makes of one.
func wholeSecond(ms int64) int64 {
	return time.UnixMilli(ms).Truncate(time.Second).UnixMilli() // rounds down, before 1970 too
}

// String says how far the timeline has come.
func (d *conductor) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.metrics.watermark()
	return fmt.Sprintf("%d elements, watermark %d; asked %d times; assigned %d of %d, added %d, late %d; watermark of the step %d, error %v, last error %v",
		d.played.Elements, d.played.WatermarkMs, d.asked, d.counts.Get(tally.Assigned), d.pairs(d.played.Elements),
		d.counts.Get(tally.Added), d.counts.Get(tally.Late), at, err, d.err)
}

// lines are those of an output of a job, in the order in which they have come.
type lines struct {
	mu  sync.Mutex
	all []string
}

// AddBatch implements sink.Receiver.
func (l *lines) AddBatch(b sink.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return b.Each(func(_, line []byte) error {
		l.all = append(l.all, string(line))
		return nil
	})
}

func (l *lines) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// builder adds a pipeline whose source is a timeline.
type builder func(s beam.Scope, p pipelines.Player, out pipelines.Outputs) error

// played is what has come of a timeline.
type played struct {
	rows, late, bad []string
	counts          *tally.Tally
}

// play plays a timeline to the pipeline that build makes. A watermark has gone
// through when it is the given one of the step that makes the rows.
func (c *cluster) play(t *testing.T, metric string, assigned []int64, besides func(elements, rows int) bool, build builder) played {
	t.Helper()
	name := c.configure(t)
	d := &conductor{
		metrics:  &metrics{base: c.rest(), name: name, metric: metric},
		assigned: assigned, counts: tally.Start(), besides: besides,
	}
	halt.Start()
	flow.Start(0)
	dir := t.TempDir()
	var rows, late, bad lines
	d.rows = &rows
	outlet := func(what string, to *lines) (o pipelines.Outlet) {
		o.ID, o.Done = name+" "+what, filepath.Join(dir, what)
		sink.Open(o.ID, to)
		t.Cleanup(func() { sink.Forget(o.ID) })
		return o
	}
	out := pipelines.Outputs{Rows: outlet("rows", &rows), Late: outlet("late", &late), Bad: outlet("bad", &bad)}
	p, s := beam.NewPipelineWithRoot()
	player := func(s beam.Scope, script *streamtest.Timeline) (beam.PCollection, error) {
		return script.TryStepped(s, time.Second, d.ready) // less is nothing on Flink
	}
	if err := build(s, player, out); err != nil {
		t.Fatal(err)
	}
	on := submit(t, p)
	last, since := d.progress(), time.Now()
	for !exist(out.Rows.Done, out.Late.Done, out.Bad.Done) {
		select {
		case err := <-on.ended:
			t.Fatalf("the job has ended before its timeline: %v; %v", err, d)
		case <-time.After(rest):
		}
		if p := d.progress(); p != last {
			last, since = p, time.Now()
		}
		if time.Since(since) > patience {
			t.Errorf("for %v nothing has gone through: %v\n%s", patience, d, d.metrics.report())
			_ = on.Cancel(context.WithoutCancel(t.Context()))
			t.FailNow()
		}
	}
	on.cancelled(t)
	return played{rows.all, late.all, bad.all, d.counts}
}

// submitted is a job that a test waits for.
type submitted struct {
	*jobs.Job
	ended <-chan error // how, once it has
}

// submit submits a pipeline.
func submit(t *testing.T, p *beam.Pipeline) submitted {
	t.Helper()
	on, err := jobs.Submit(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	ended := make(chan error, 1)
	go func() { ended <- on.Wait(context.WithoutCancel(t.Context())) }()
	return submitted{on, ended}
}

// cancelled cancels the job, which has to end by that.
func (s submitted) cancelled(t *testing.T) {
	t.Helper()
	if err := s.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; !errors.Is(err, jobs.ErrCancelled) {
		t.Errorf("the job has ended with %v, want %v", err, jobs.ErrCancelled)
	}
}

// configure says how the next job of these tests is to run, and returns its name. There are
// only global flags to say it by.
func (c *cluster) configure(t *testing.T) (name string) {
	t.Helper()
	name = fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	*jobopts.Endpoint = fmt.Sprintf("localhost:%d", c.jobPort)
	*jobopts.EnvironmentType = "LOOPBACK"
	*jobopts.Parallelism = 2
	*jobopts.JobName = name
	// Without checkpoints its sources would end, and one that failed is not to begin anew.
	beam.PipelineOptions.Set("checkpointing_interval", fmt.Sprint((24 * time.Hour).Milliseconds()))
	beam.PipelineOptions.Set("flink_options", "number_of_execution_retries=0")
	return name
}

func exist(paths ...string) bool {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}
