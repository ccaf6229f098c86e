package intake

import (
	"bytes"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"tidemark/internal/portable"
	"tidemark/internal/routing"
	"tidemark/internal/tally"
	"tidemark/windowfns"
)

// Reader is the part of a packing DoFn that reads elements. Its exported fields
// travel to the workers.
type Reader struct {
	Type    beam.EncodedType
	Fn      portable.Value
	Shards  int
	Routing routing.Config

	MarksDecide bool

	// Tally is for the DoFn's counts.
	Tally *tally.Tally `json:"-"`

	fn  windowfns.Fn
	buf []windowfns.Window
	enc beam.ElementEncoder
}

// NewReader returns the Reader of a plan.
func NewReader(p Plan) Reader {
	return Reader{
		Type:    beam.EncodedType{T: p.Type},
		Fn:      p.Windows,
		Shards:  p.Shards,
		Routing: p.Routing,

		MarksDecide: p.MarksDecide,
	}
}

// Setup readies r on a worker.
func (r *Reader) Setup() (err error) {
	r.Tally = tally.Current()
	r.enc = beam.NewElementEncoder(r.Type.T)
	r.fn, err = portable.As[windowfns.Fn](r.Fn)
	return err
}

// The accepted times: the years 1900 to 2185, UTC. A gate that remembers for
// ever does so for 290 years; beyond that the runner would drop elements.
const (
	MinTimeMs = -2208988800000
	MaxTimeMs = 6816355199999
)

// maxSpanMs is the largest size of a window: 100 years of 365.25 days.
const maxSpanMs = 100 * 31557600000

// CheckTime refuses times that are not accepted.
func CheckTime(tMs int64) error {
	if tMs < MinTimeMs || tMs > MaxTimeMs {
		return fmt.Errorf("element with the timestamp %d ms, want a time of the years 1900 to 2185: has the pipeline set event times?", tMs)
	}
	return nil
}

// CheckMark refuses marks that cannot be a source's watermark. One below the
// accepted times is as good as none seen yet: nothing is late by it. One above
// them is not a watermark but a way to say "late", or "unknown", and would let
// the gate take its word for what only the runner can decide.
func CheckMark(markMs int64) error {
	if markMs > MaxTimeMs {
		return fmt.Errorf("element with the mark %d ms, want the watermark of its source, of the year 2185 at the latest: a source that does not know it sends elements without marks", markMs)
	}
	return nil
}

// Windows are the windows of an element with timestamp tMs, by ascending end.
// They are valid until the next call.
func (r *Reader) Windows(tMs int64) ([]windowfns.Window, error) {
	if err := CheckTime(tMs); err != nil {
		return nil, err
	}
	r.buf = r.fn.AppendWindows(r.buf[:0], tMs)
	if len(r.buf) == 0 {
		return nil, fmt.Errorf("%v gives no window to the time %d ms, want at least one", r.fn, tMs)
	}
	for i, w := range r.buf {
		switch {
		case !w.Contains(tMs):
			return nil, fmt.Errorf("%v gives the window %v to the time %d ms, want windows around it", r.fn, w, tMs)
		case w.StartMs < MinTimeMs-maxSpanMs || w.EndMs > MaxTimeMs+maxSpanMs:
			return nil, fmt.Errorf("%v gives the window %v to the time %d ms, want one that reaches no more than 100 years past the accepted times", r.fn, w, tMs)
		case i > 0 && w.Compare(r.buf[i-1]) <= 0:
			return nil, fmt.Errorf("%v gives the window %v after %v to the time %d ms, want distinct windows by ascending end", r.fn, w, r.buf[i-1], tMs)
		}
	}
	return r.buf, nil
}

// Ends are the ends of the first and the last window of an element with timestamp
// tMs in grid, the window function of r.
func (r *Reader) Ends(grid windowfns.Grid, tMs int64) (firstMs, lastMs int64, err error) {
	if err := CheckTime(tMs); err != nil {
		return 0, 0, err
	}
	firstMs, lastMs = grid.Ends(tMs)
	step := grid.StepMs()
	first, last := grid.EndingAt(firstMs), grid.EndingAt(lastMs)
	switch {
	case step <= 0 || lastMs < firstMs || (lastMs-firstMs)%step != 0:
		return 0, 0, fmt.Errorf("%v gives ends from %d to %d ms, %d ms apart, to the time %d ms, want a run", grid, firstMs, lastMs, step, tMs)
	case !first.Contains(tMs) || !last.Contains(tMs) || first.EndMs != firstMs || last.EndMs != lastMs:
		return 0, 0, fmt.Errorf("%v gives the windows %v to %v to the time %d ms, want windows around it", grid, first, last, tMs)
	case first.StartMs < MinTimeMs-maxSpanMs || last.EndMs > MaxTimeMs+maxSpanMs:
		return 0, 0, fmt.Errorf("%v gives the windows %v to %v to the time %d ms, want ones that reach no more than 100 years past the accepted times", grid, first, last, tMs)
	}
	return firstMs, lastMs, nil
}

// Encode appends the encoding of the element v to buf.
func (r *Reader) Encode(v any, buf *bytes.Buffer) error {
	return r.enc.Encode(v, buf)
}

// Gate puts the copies of an element for its doubtful windows into p and
// reports whether p is full. Those copies that need it carry it.Raw. Doubtful
// windows come by ascending end.
func (r *Reader) Gate(p *routing.Packer, shard int64, doubtful []windowfns.Window, it routing.Item) (full bool) {
	if grid, ok := r.fn.(windowfns.Grid); ok && r.Routing.Probe {
		return r.gateRuns(p, shard, grid.StepMs(), doubtful, it)
	}
	it.Probes = len(doubtful)
	if it.Windows > 1 {
		it.Seq = p.NextSeq()
	}
	raw := it.Raw
	for i, w := range doubtful {
		it.Raw = nil
		if i == 0 || r.Routing.Part(doubtful[i-1], w) {
			it.Raw = raw
		}
		if p.Add(shard, w, &it) {
			full = true
		}
	}
	return full
}

// gateRuns puts an element into p once for each run of its windows. There is one,
// unless a runner has torn the windows apart; see [Regrouper]. Then each run is an
// element.
func (r *Reader) gateRuns(p *routing.Packer, shard, stepMs int64, doubtful []windowfns.Window, it routing.Item) (full bool) {
	for len(doubtful) > 0 {
		n := 1
		for n < len(doubtful) && doubtful[n].EndMs == doubtful[n-1].EndMs+stepMs {
			n++
		}
		full = r.GateRun(p, shard, doubtful[0], n, doubtful[n-1].EndMs, it) || full
		doubtful = doubtful[n:]
	}
	return full
}

// GateRun is [Reader.Gate] for an element whose n windows, all doubtful, are a run
// from first to the one that ends at lastMs, where the routing probes.
func (r *Reader) GateRun(p *routing.Packer, shard int64, first windowfns.Window, n int, lastMs int64, it routing.Item) (full bool) {
	it.Probes, it.Windows, it.Run, it.OtherMs = 1, n, n > 1, lastMs
	return p.Add(shard, first, &it)
}

// FlushSuspects sends what p holds to the gate.
func (r *Reader) FlushSuspects(p *routing.Packer, emit routing.Emit) {
	p.FlushSuspects(r.Routing, emit)
}
