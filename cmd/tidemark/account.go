package main

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"tidemark/connectors/sink"
	"tidemark/internal/tally"
)

// accountOutput names the output of counts that a job on a cluster has for the command.
const accountOutput = "account"

// account takes the lines of rows.AccountLines: the counts of a job on a cluster, which
// are right also where it has gone back to a checkpoint. Those of the workers are not.
type account struct {
	parts sink.Parts // of workers elsewhere

	mu     sync.Mutex
	counts map[string]int64
	all    int64 // their sum
}

// openAccount readies the account, if the job is for a cluster and the command waits.
func (o *outlets) openAccount(dir string) error {
	if !onCluster() || *jobopts.Async {
		return nil
	}
	o.account = &account{}
	if !workersElsewhere() {
		sink.Open(o.id(accountOutput), o.account)
		return nil
	}
	// A stream goes on without its command.
	o.account.parts = sink.Parts{Dir: dir, Name: accountOutput, Optional: o.how.streamed()}
	p, err := o.account.parts.Place()
	if err != nil {
		return err
	}
	o.places[accountOutput] = p
	return nil
}

// AddBatch implements sink.Receiver. The line with the most is the last one.
func (a *account) AddBatch(b sink.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return b.Each(func(_, line []byte) error {
		var counts map[string]int64
		if err := json.Unmarshal(line, &counts); err != nil {
			return fmt.Errorf("the account of the job: %w: %.200s", err, line)
		}
		var all int64
		for _, n := range counts {
			all += n
		}
		if a.counts == nil || all >= a.all {
			a.counts, a.all = counts, all
		}
		return nil
	})
}

// read are the counts of the job by name; none where it has not counted anything since
// it was started.
func (a *account) read() (map[string]int64, error) {
	if a.parts.Dir != "" {
		if err := a.parts.CopyTo(a); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts, nil
}

// settle puts the counts of the account in place of those of workers in this process.
// Without any, nil is returned for a job that has gone on from a savepoint: what was
// counted before is not known.
func (a *account) settle(counts *tally.Tally, wentOn bool) (*tally.Tally, error) {
	known, err := a.read()
	switch {
	case err != nil:
		return nil, err
	case known == nil && wentOn:
		return nil, nil
	}
	counts.Set(known)
	return counts, nil
}
