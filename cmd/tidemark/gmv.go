package main

import (
	"tidemark/connectors/mart"
	"tidemark/connectors/rows"
	"tidemark/connectors/sink"
	"tidemark/pipelines"
	"tidemark/transforms/aggregate"
)

// gmvCommand sums money.
var gmvCommand = kind{
	name: "gmv",
	usage: `Sums money per key, currency and window, exactly: in minor units, in 128 bits.
Prints a row when a window is complete, and a corrected one when a late record
comes within the allowed lateness. What comes later goes to --late_output.

usage: tidemark gmv --input FILE --window 1h [flags]
       tidemark gmv --timeline FILE --window 1h [flags]`,
	work: mart.GMV,
	pipe: true,

	define: func(g *aggregateFlags, fs *flagSet) {
		fs.section("", func() {
			fs.StringVar(&g.fields.Amount, "amount_field", "amount_cents", "the amount's `field`: a number or a string")
		})
		fs.section("", func() {
			fs.IntVar(&g.fields.AmountScale, "amount_scale", 0, "amounts have at most `N` decimals, and sums are in units of 10^-N (default 0: amounts are whole minor units)")
		})
		fs.section("", func() {
			fs.StringVar(&g.fields.Currency, "currency_field", "", "the currency's `field`; with it there is a sum for each currency")
		})
	},

	check: func(g *aggregateFlags, fs *flagSet) error {
		switch {
		case fs.given("currency_field") && g.fields.Currency == "":
			return usagef("--currency_field is empty, want the name of a field: without one, amounts of all currencies are added")
		case g.fields.Amount == "":
			return usagef("--amount_field is empty, want the name of a field")
		case g.format == string(rows.Pipe) && g.fields.Currency != "":
			return usagef("--format pipe with --currency_field, want json or table: it has no place for the currency")
		default:
			return nil
		}
	},

	layout: func(f rows.Format, g *aggregateFlags) sink.Layout {
		return rows.GMVLayout(f, g.fields.Currency != "")
	},

	build: func(s scope, src pipelines.Source, out pipelines.Outputs, cfg aggregate.Config) error {
		return pipelines.GMV{Source: src, Outputs: out, Config: cfg}.Build(s)
	},
}
