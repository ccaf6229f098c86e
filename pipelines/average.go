package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/rows"
	"tidemark/transforms/average"
)

func init() {
	register.Function1x1(valueOf)
}

// Average says what a pipeline of averages reads, computes and writes. Its counts
// are by window, in elements.
type Average struct {
	Source
	Outputs

	// Config sets the windows. Watermarked and MarksDecide are set as the source
	// needs them.
	Config average.Config
}

// Build adds the pipeline to s.
func (a Average) Build(s beam.Scope) error {
	in, bad, err := a.read(s)
	if err != nil {
		return err
	}
	cfg := a.Config
	cfg.Watermarked, cfg.MarksDecide = a.marked(), a.marked()
	var averages, late beam.PCollection
	if !a.counted() {
		averages, late, err = average.TryPerKey(s, cfg, valueOf, in)
	} else {
		var counts beam.PCollection
		if averages, counts, late, err = average.TryPerKeyWithCounts(s, cfg, valueOf, in); err == nil {
			c := windowCounts{counts, false, rows.AverageCountLines, rows.AverageDeltas}
			a.writeCounts(s, cfg.Windows, c, in, bad)
		}
	}
	if err != nil {
		return err
	}
	if o := a.Rows; o.Wanted() {
		s := s.Scope("rows")
		o.write(s, rows.AverageLines(s, o.Format, a.Config.AllowedLateness, averages))
	}
	a.writeLate(s, late)
	if o := a.Bad; o.Wanted() {
		s := s.Scope("bad")
		o.write(s, rows.BadLines(s, o.Format, bad))
	}
	return nil
}

func valueOf(r files.Record) average.Entry {
	return average.Entry{Key: r.Key, Value: r.Value}
}
