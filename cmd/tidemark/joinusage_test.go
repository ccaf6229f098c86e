package main

import "testing"

func TestRefusedJoins(t *testing.T) {
	const inputs = "join --left in.ndjson --right old.ndjson "
	const join = inputs + "--lower 0s --upper 1m "
	const play = "join --timeline play.ndjson --upper 1m "
	refuse(t, []usageCase{
		{"no interval", inputs, []string{"no interval, want --lower and --upper, as in --lower -1s --upper 1m"}},
		{"crossed bounds", inputs + "--lower 2s --upper 1s", []string{"--lower = 2s and --upper = 1s: no whole millisecond is in [2s, 1s], want an interval that holds one"}},
		{"one bound above the other's default", inputs + "--lower 2s", []string{"--lower = 2s and --upper = 0s: no whole millisecond is in [2s, 0s], want an interval that holds one"}},
		{"nothing between", inputs + "--lower 1s --upper 1s --exclusive_upper", []string{"--lower = 1s and --upper = 1s: no whole millisecond is in [1s, 1s), want an interval that holds one"}},
		{"nothing between neighbours", inputs + "--upper 1ms --exclusive_lower --exclusive_upper", []string{"no whole millisecond is in (0s, 1ms), want an interval that holds one"}},
		{"a fine bound", inputs + "--upper 1500us", []string{"--upper = 1.5ms, want a whole number of milliseconds"}},
		{"a bound too far", inputs + "--lower -2540000h", []string{"--lower = -2540000h0m0s, want a whole number of milliseconds from -2505360h0m0s to 2505360h0m0s"}},
		{"a bound without a unit", inputs + "--upper 5", []string{`"5"`, "--upper", "see tidemark join --help"}},
		{"unknown type", join + "--type outer", []string{`--type = "outer", want one of ["inner" "left" "right" "full" "left_semi" "left_anti"]`}},
		{"empty type", join + "--type=''", []string{"--type is empty, want one of"}},
		{"negative lateness", join + "--allowed_lateness -1s", []string{"--allowed_lateness = -1s, want a whole number of milliseconds from 0s"}},
		{"fine lateness", join + "--allowed_lateness 1us", []string{"--allowed_lateness = 1µs, want a whole number of milliseconds from 0s"}},
		{"a limit of none", join + "--max_rows_per_key 0", []string{"--max_rows_per_key = 0, want at least 1"}},
		{"a limit below none", join + "--max_rows_per_key -1", []string{"--max_rows_per_key = -1, want at least 1"}},
		{"no shards", join + "--shards -1", []string{"--shards = -1, want 1 to 65536"}},

		{"no input", "join --upper 1m", []string{"no input for one side or both, want --left FILE and --right FILE, or --timeline FILE"}},
		{"no left", "join --upper 1m --right in.ndjson", []string{"no input for one side or both, want --left FILE and --right FILE"}},
		{"no right", "join --upper 1m --left in.ndjson", []string{"no input for one side or both, want --left FILE and --right FILE"}},
		{"the input of other commands", "join --upper 1m --input in.ndjson", []string{"--input", "see tidemark join --help"}},
		{"no such left", "join --upper 1m --left gone.ndjson --right in.ndjson", []string{"--left gone.ndjson: no such file"}},
		{"no such right", "join --upper 1m --left in.ndjson --right gone*.csv", []string{"--right gone*.csv: no file matches"}},
		{"a folder", "join --upper 1m --left in.ndjson --right folder.ndjson", []string{"--right folder.ndjson: is a directory, want a file"}},
		{"unknown kind", "join --upper 1m --left in.xml --right in.ndjson", []string{`--left in.xml`, `kind ".xml"`, "want .ndjson or .csv"}},
		{"unknown scheme", "join --upper 1m --left in.ndjson --right tcp://localhost:9", []string{`--right tcp://localhost:9: unknown scheme "tcp", want a file, a pattern or -`}},
		{"standard input twice", "join --upper 1m --left - --right -", []string{"--left and --right: -: on both sides, and can be read only once, want a file"}},
		{"standard input twice, as a stream", "join --upper 1m --left - --right - --stream", []string{"-: on both sides, and can be read only once"}},
		{"standard input twice, by its path", "join --upper 1m --left /dev/stdin --right -", []string{"/dev/stdin: on both sides, and can be read only once"}},
		{"a timeline and a left input", play + "--left in.ndjson", []string{"--timeline with --left or --right, want one or the other"}},
		{"a timeline and a right input", play + "--right in.ndjson", []string{"--timeline with --left or --right, want one or the other"}},
		{"a timeline as a stream", play + "--stream", []string{"--stream with --timeline, want one of them"}},
		{"no such timeline", "join --upper 1m --timeline gone.ndjson", []string{"--timeline gone.ndjson: no such file"}},
		{"the timeline of other commands", play, []string{"--timeline play.ndjson", "step 1", `field "event", want one of {"left": {...}}, {"right": {...}}`}},
		{"unknown format", join + "--input_format xml", []string{`--input_format = "xml", want ndjson or csv`}},
		{"disorder in batch", join + "--max_out_of_orderness 1s", []string{"--max_out_of_orderness without --stream"}},
		{"idleness in batch", join + "--idle_timeout 1s", []string{"--idle_timeout without --stream"}},
		{"a future limit in batch", join + "--future_limit 1h", []string{"--future_limit without --stream"}},
		{"drain in batch", join + "--drain", []string{"--drain without --stream"}},
		{"negative idleness", join + "--stream --idle_timeout -1s", []string{"--idle_timeout = -1s, want a whole number of milliseconds"}},

		{"no key", join + "--key_field=''", []string{"--key_field is empty, want a path"}},
		{"no key on the left", join + "--left_key_field=''", []string{"--left_key_field is empty, want the name of a field"}},
		{"no time on the right", join + "--right_time_field=''", []string{"--right_time_field is empty, want the name of a field"}},
		{"half a path", join + "--right_key_field a..b", []string{`--right_key_field = "a..b" has an empty component`}},
		{"half a path of both", join + "--key_field a..b", []string{`--key_field = "a..b" has an empty component`}},
		{"unit of time", join + "--time_unit h", []string{`--time_unit = "h", want s, ms, us or ns`}},
		{"no room for records", join + "--max_record_bytes 0", []string{"--max_record_bytes = 0, want at least 1"}},
		{"windows", join + "--window 1h", []string{"--window", "see tidemark join --help"}},

		{"pipe", join + "--format pipe", []string{"--format pipe, want json or table"}},
		{"format", join + "--format xml", []string{`--format = "xml", want json or table`}},
		{"a format for a file", join + "--format table --output out.ndjson", []string{"--format table with --output out.ndjson, want it for standard output"}},
		{"output is the left input", join + "--output ./in.ndjson", []string{"--output is the input in.ndjson, want another file"}},
		{"output is the right input", join + "--bad_output old.ndjson", []string{"--bad_output is the input old.ndjson, want another file"}},
		{"output is a link to the left input", join + "--late_output link.ndjson", []string{"--late_output is the input in.ndjson, want another file"}},
		{"output is the timeline", "join --timeline play.ndjson --upper 1s --output play.ndjson", []string{"play.ndjson"}},
		{"a mart of standard input", "join --upper 1m --left - --right in.ndjson --output sqlite:m.db", []string{"standard input without --job, want a name"}},
		{"a timeline behind a server", play + "--endpoint localhost:1", []string{"--timeline with --endpoint localhost:1, want prism"}},
		{"a timeline on flink", play + "--runner flink", []string{"--timeline with --runner flink, want prism"}},
	})
}
