package main

import (
	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/pipelines"
	"tidemark/transforms/aggregate"
)

// averageCommand averages values.
var averageCommand = kind{
	name: "average",
	usage: `Averages values per key and window: the mean, rounded once from an exact sum.
Prints a row when a window is complete, and a corrected one when a late record
comes within the allowed lateness. What comes later goes to --late_output.

usage: tidemark average --input FILE --window 3m --every 1m [flags]
       tidemark average --timeline FILE --window 3m --every 1m [flags]`,
	work: mart.Average,

	define: func(g *aggregateFlags, fs *flagSet) {
		fs.section("", func() {
			fs.StringVar(&g.fields.Value, "value_field", "value", "the value's `field`: a finite number, or a string that holds one")
		})
	},

	check: func(g *aggregateFlags, _ *flagSet) error {
		switch {
		case g.fields.Value == "":
			return usagef("--value_field is empty, want the name of a field")
		case g.format == string(rows.Pipe):
			return usagef("--format pipe, want json or table: pipe is for sums of money")
		default:
			return nil
		}
	},

	layout: func(f rows.Format, _ *aggregateFlags) sink.Layout { return rows.AverageLayout(f) },

	build: func(s scope, src pipelines.Source, out pipelines.Outputs, cfg aggregate.Config) error {
		return pipelines.Average{Source: src, Outputs: out, Config: cfg}.Build(s)
	},
}
