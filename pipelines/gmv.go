package pipelines

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"tidemark/connectors/files"
	"tidemark/connectors/rows"
	"tidemark/internal/tally"
	"tidemark/transforms/gmv"
)

func init() {
	register.Function1x1(entryOf)
}

// GMV says what a GMV pipeline reads, computes and writes. Its counts are by
// window and currency.
type GMV struct {
	Source
	Outputs

	// Config sets the windows. Watermarked and MarksDecide are set as the source
	// needs them.
	Config gmv.Config
}

// Build adds the pipeline to s.
func (g GMV) Build(s beam.Scope) error {
	cfg := g.Config
	in, bad, err := g.read(s)
	if err != nil {
		return err
	}
	cfg.Watermarked, cfg.MarksDecide = g.marked(), g.marked()
	var totals, overflows, late beam.PCollection
	if !g.counted() {
		totals, overflows, late, err = gmv.TryPerKey(s, cfg, entryOf, in)
	} else {
		var counts beam.PCollection
		if totals, overflows, counts, late, err = gmv.TryPerKeyWithCounts(s, cfg, entryOf, in); err == nil {
			c := windowCounts{counts, true, rows.GMVCountLines, rows.GMVDeltas}
			g.writeCounts(s, cfg.Windows, c, in, bad, rows.CountAs(s.Scope("account"), overflows, tally.Overflowed))
		}
	}
	if err != nil {
		return err
	}
	currency := g.Fields.Currency != ""
	if o := g.Rows; o.Wanted() {
		s := s.Scope("rows")
		o.write(s, rows.GMVLines(s, o.Format, currency, g.Config.AllowedLateness, totals))
	}
	g.writeLate(s, late)
	if o := g.Bad; o.Wanted() {
		s := s.Scope("bad")
		refused := rows.OverflowLines(s.Scope("overflow"), o.Format, currency, overflows)
		o.write(s, beam.Flatten(s, rows.BadLines(s, o.Format, bad), refused))
	}
	return nil
}

func entryOf(r files.Record) gmv.Entry {
	return gmv.Entry{Key: r.Key, Currency: r.Currency, Minor: r.Amount}
}
