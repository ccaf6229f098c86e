package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// usageCase is a command line that is refused.
type usageCase struct {
	name string
	args string   // separated by spaces
	want []string // what was given, and what is wanted
}

// refuse runs cases in a folder with
//
//	in.ndjson        an order
//	link.ndjson      a symbolic link to it
//	hard.ndjson      a hard link to it
//	in.xml, in.xml.gz files of other kinds
//	play.ndjson      a timeline
//	old.ndjson       somebody's file
//	folder.ndjson/   a folder
func refuse(t *testing.T, cases []usageCase) {
	dir := t.TempDir()
	const step = `{"event": {"key": "a", "time": 1000, "amount_cents": 1}}` + "\n"
	for name, text := range map[string]string{
		"in.ndjson": order("a", "08:00:00", 1), "in.xml": "<a/>\n", "in.xml.gz": "", "play.ndjson": step, "old.ndjson": "old\n",
	} {
		write(t, dir, name, text)
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "folder.ndjson"), 0o777),
		os.Symlink("in.ndjson", filepath.Join(dir, "link.ndjson")),
		os.Link(filepath.Join(dir, "in.ndjson"), filepath.Join(dir, "hard.ndjson")),
		os.Symlink("loop.ndjson", filepath.Join(dir, "loop.ndjson")),
		os.Symlink("out.ndjson", filepath.Join(dir, "ahead.ndjson")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, dir)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var args []string
			for _, a := range strings.Fields(c.args) {
				args = append(args, strings.ReplaceAll(a, "''", ""))
			}
			r := tidemark(t, dir, order("a", "08:00:00", 1), args...)
			if r.status != exitUsage {
				t.Errorf("status %d, want 2", r.status)
			}
			if r.stdout != "" {
				t.Errorf("standard output: %q, want nothing", r.stdout)
			}
			if said := lines(t, r.stderr); len(said) != 1 || !strings.HasPrefix(said[0], "tidemark: ") {
				t.Errorf("standard error: %q, want one line that begins with the program's name", r.stderr)
			}
			for _, w := range c.want {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("standard error: %q, want %q in it", r.stderr, w)
				}
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Fatalf("files before: %v\nand after: %v", before, after)
			}
		})
	}
}

func TestRefusedWindows(t *testing.T) {
	const gmv = "gmv --input in.ndjson "
	refuse(t, []usageCase{
		{"none", gmv, []string{"no windows, want --window, as in --window 1h, or --calendar"}},
		{"zero", gmv + "--window 0s", []string{"--window = 0s, want a positive whole number of milliseconds"}},
		{"plain zero", gmv + "--window 0", []string{"0s", "want a positive whole number of milliseconds"}},
		{"negative", gmv + "--window -5m", []string{"--window = -5m0s, want a positive whole number of milliseconds"}},
		{"not whole milliseconds", gmv + "--window 1500us", []string{"--window = 1.5ms, want a positive whole number of milliseconds"}},
		{"too long", gmv + "--window 900000h", []string{"--window = 900000h0m0s, want at most 876600h0m0s"}},
		{"no unit", gmv + "--window 5", []string{`"5"`, "-window", "tidemark gmv --help"}},
		{"no duration", gmv + "--window hour", []string{`"hour"`, "-window", "tidemark gmv --help"}},
		{"no value", gmv + "--window", []string{"needs an argument: --window", "tidemark gmv --help"}},

		{"period above size", gmv + "--window 1m --every 1h", []string{"--every = 1h0m0s, want at most --window = 1m0s"}},
		{"period of zero", gmv + "--window 1m --every 0s", []string{"--every = 0s, want a positive whole number of milliseconds"}},
		{"period without size", gmv + "--every 1m", []string{"no windows, want --window"}},
		{"too many windows", gmv + "--window 24h --every 1ms", []string{"86400000 windows, want at most 100000"}},
		{"step that does not divide", gmv + "--window 1h --cumulative_step 7m", []string{"--cumulative_step = 7m0s, want a divisor of --window = 1h0m0s"}},
		{"step above size", gmv + "--window 1h --cumulative_step 2h", []string{"--cumulative_step = 2h0m0s, want a divisor of --window = 1h0m0s"}},
		{"step without size", gmv + "--cumulative_step 1m", []string{"no windows, want --window"}},
		{"offset without size", gmv + "--window_offset 1m", []string{"no windows, want --window"}},
		{"offset of a size", gmv + "--window 1h --window_offset -1h", []string{"--window_offset = -1h0m0s, want more than -1h0m0s and less than 1h0m0s (--window = 1h0m0s)"}},
		{"offset not whole", gmv + "--window 1h --window_offset 1us", []string{"--window_offset = 1µs, want a whole number of milliseconds"}},
		{"unknown unit", gmv + "--calendar year", []string{`--calendar = "year", want "day", "week" or "month"`}},
		{"empty unit", gmv + "--calendar=''", []string{`--calendar = "", want "day", "week" or "month"`}},
		{"unknown zone", gmv + "--calendar day --time_zone Mars/Olympus", []string{`--time_zone = "Mars/Olympus", want an IANA name`}},
		{"the machine's zone", gmv + "--calendar day --time_zone Local", []string{`--time_zone = "Local", want an IANA name`}},
		{"zone without calendar", gmv + "--window 24h --time_zone UTC", []string{"--time_zone without --calendar, want both"}},
		{"zone alone", gmv + "--time_zone UTC", []string{"--time_zone without --calendar, want both"}},

		{"tumbling and calendar", gmv + "--window 1h --calendar day", []string{"--window and --calendar together, want one kind of window"}},
		{"sliding and calendar", gmv + "--window 1h --every 1m --calendar day", []string{"--every and --calendar together, want one kind"}},
		{"period and calendar", gmv + "--every 1m --calendar day", []string{"--every and --calendar together, want one kind"}},
		{"cumulative and calendar", gmv + "--window 1h --cumulative_step 1m --calendar day", []string{"--cumulative_step and --calendar together, want one kind"}},
		{"step and calendar", gmv + "--cumulative_step 1m --calendar day", []string{"--cumulative_step and --calendar together, want one kind"}},
		{"sessions of zero", gmv + "--session_gap 0s", []string{"--session_gap = 0s, want a positive whole number of milliseconds"}},
		{"sessions of less than nothing", gmv + "--session_gap -10m", []string{"--session_gap = -10m0s, want a positive whole number of milliseconds"}},
		{"sessions not whole", gmv + "--session_gap 1500us", []string{"--session_gap = 1.5ms, want a positive whole number of milliseconds"}},
		{"sessions too long", gmv + "--session_gap 900000h", []string{"--session_gap = 900000h0m0s, want at most 876600h0m0s"}},
		{"sessions without a unit", gmv + "--session_gap 10", []string{`"10"`, "-session_gap", "tidemark gmv --help"}},
		{"tumbling and sessions", gmv + "--window 1h --session_gap 10m", []string{"--window and --session_gap together, want one kind of window"}},
		{"sliding and sessions", gmv + "--window 1h --every 1m --session_gap 10m", []string{"--every and --session_gap together, want one kind"}},
		{"cumulative and sessions", gmv + "--window 1h --cumulative_step 1m --session_gap 10m", []string{"--cumulative_step and --session_gap together, want one kind"}},
		{"calendar and sessions", gmv + "--calendar day --session_gap 10m", []string{"--calendar and --session_gap together, want one kind"}},
		{"offset and sessions", gmv + "--window_offset 1m --session_gap 10m", []string{"--window_offset with --session_gap, want it with --window: a session starts with its first record"}},
		{"zone and sessions", gmv + "--time_zone UTC --session_gap 10m", []string{"--time_zone without --calendar, want both"}},
		{"lateness and sessions", gmv + "--session_gap 10m --allowed_lateness -1s", []string{"--allowed_lateness = -1s, want a whole number of milliseconds"}},
		{"three kinds", gmv + "--every 1m --calendar day --session_gap 10m", []string{"--every and --calendar and --session_gap together, want one kind"}},

		{"sliding and cumulative", gmv + "--window 1h --every 1m --cumulative_step 1m", []string{"--every and --cumulative_step together, want one kind"}},
		{"all", gmv + "--window 1h --every 1m --cumulative_step 1m --calendar day", []string{"--every and --cumulative_step and --calendar together, want one kind"}},
		{"offset and calendar", gmv + "--calendar day --window_offset 1h", []string{"--window_offset with --calendar, want it with --window"}},

		{"negative lateness", gmv + "--window 1h --allowed_lateness -1s", []string{"--allowed_lateness = -1s", "want a whole number of milliseconds, 0s or more"}},
		{"lateness not whole", gmv + "--window 1h --allowed_lateness 1us", []string{"--allowed_lateness = 1µs", "want a whole number of milliseconds, 0s or more"}},
	})
}

func TestRefusedInputs(t *testing.T) {
	const gmv = "gmv --window 1h "
	refuse(t, []usageCase{
		{"none", gmv, []string{"no input, want --input FILE, --input - or --timeline FILE"}},
		{"empty", gmv + "--input=''", []string{"no input, want --input FILE"}},
		{"two", gmv + "--input in.ndjson --timeline play.ndjson", []string{"--input and --timeline together, want one of them"}},
		{"no such file", gmv + "--input gone.ndjson", []string{"--input gone.ndjson: no such file"}},
		{"no such folder", gmv + "--input gone/in.ndjson", []string{"--input gone/in.ndjson: no such file"}},
		{"a file for a folder", gmv + "--input in.ndjson/in.ndjson", []string{"--input", "in.ndjson/in.ndjson: not a directory"}},
		{"directory", gmv + "--input .", []string{"--input .: is a directory, want a file"}},
		{"directory with the extension", gmv + "--input folder.ndjson", []string{"--input folder.ndjson: is a directory, want a file"}},
		{"links in a circle", gmv + "--input loop.ndjson", []string{"--input", "loop.ndjson", "too many"}},
		{"a link to nothing", gmv + "--input ahead.ndjson", []string{"--input ahead.ndjson: no such file"}},
		{"unknown extension", gmv + "--input in.xml", []string{"--input in.xml", `kind ".xml"`, "want .ndjson or .csv"}},
		{"unknown and compressed", gmv + "--input in.xml.gz", []string{"--input in.xml.gz", `kind ".xml"`, "want .ndjson or .csv"}},
		{"unknown among others", gmv + "--input in.*", []string{"--input in.xml", `kind ".xml"`, "want .ndjson or .csv"}},
		{"no match", gmv + "--input gone*.ndjson", []string{"--input gone*.ndjson: no file matches"}},
		{"only folders match", gmv + "--input folder*", []string{"--input folder*: no file matches"}},
		{"malformed pattern", gmv + "--input in[.ndjson", []string{"--input in[.ndjson: syntax error in pattern"}},
		{"unknown format", gmv + "--input - --input_format xml", []string{`--input_format = "xml", want ndjson or csv`}},
		{"format of a timeline", gmv + "--timeline play.ndjson --input_format csv", []string{"--input_format with --timeline"}},
		{"a timeline as a stream", gmv + "--timeline play.ndjson --stream", []string{"--stream with --timeline, want one of them"}},
		{"disorder in batch", gmv + "--input in.ndjson --max_out_of_orderness 1s", []string{"--max_out_of_orderness without --stream"}},
		{"idleness in batch", gmv + "--input in.ndjson --idle_timeout 1s", []string{"--idle_timeout without --stream"}},
		{"a future limit in batch", gmv + "--input in.ndjson --future_limit 1s", []string{"--future_limit without --stream"}},
		{"drain in batch", gmv + "--input in.ndjson --drain", []string{"--drain without --stream"}},
		{"negative disorder", gmv + "--input in.ndjson --stream --max_out_of_orderness -1s", []string{"--max_out_of_orderness = -1s, want a whole number of milliseconds"}},
		{"negative idleness", gmv + "--input in.ndjson --stream --idle_timeout -1s", []string{"--idle_timeout = -1s, want a whole number of milliseconds"}},
		{"fine future limit", gmv + "--input in.ndjson --stream --future_limit 1us", []string{"--future_limit = 1µs, want a whole number of milliseconds"}},
		{"unknown scheme", gmv + "--input ftp://host/in.ndjson", []string{`unknown scheme "ftp"`, "want a file, a pattern or -"}},
		{"scheme to come", gmv + "--input tcp://localhost:9", []string{`unknown scheme "tcp"`, "want a file, a pattern or -"}},
		{"no such timeline", gmv + "--timeline gone.ndjson", []string{"--timeline gone.ndjson: no such file"}},
		{"timeline is a directory", gmv + "--timeline folder.ndjson", []string{"--timeline folder.ndjson: is a directory, want a file"}},
	})
}

func TestRefusedRows(t *testing.T) {
	const gmv = "gmv --window 1h --input in.ndjson "
	const play = "gmv --window 1h --timeline play.ndjson "
	refuse(t, []usageCase{
		{"early at none", gmv + "--early_count 0", []string{"--early_count = 0, want at least 1"}},
		{"early at less than none", play + "--early_count -3", []string{"--early_count = -3, want at least 1"}},
		{"early at half of one", gmv + "--early_count 0.5", []string{`"0.5"`, "-early_count", "tidemark gmv --help"}},
		{"early at once", play + "--early_delay 0s", []string{"--early_delay = 0s, want a positive whole number of milliseconds"}},
		{"early before", play + "--early_delay -10s", []string{"--early_delay = -10s, want a positive whole number of milliseconds"}},
		{"early by less than a millisecond", gmv + "--stream --early_delay 500us", []string{"--early_delay = 500µs, want a positive whole number of milliseconds"}},
		{"early by no whole milliseconds", gmv + "--stream --early_delay 1500us", []string{"--early_delay = 1.5ms, want a positive whole number of milliseconds"}},
		{"early by the clock in batch", gmv + "--early_delay 10s", []string{"--early_delay without --stream, want both, or a timeline"}},
		{"the clock of averages", "average --window 1h --input in.ndjson --early_delay 10s", []string{"--early_delay without --stream, want both, or a timeline"}},
		{"early twice", gmv + "--early_count 2 --early_count 3", []string{"--early_count", "the flag is given twice"}},
		{"final is a switch", gmv + "--final_rows=10s", []string{`"10s"`, "final_rows", "tidemark gmv --help"}},

		{"pipe and early by count", gmv + "--format pipe --early_count 2", []string{"--format pipe with --early_count, want json or table: it has no place for the pane"}},
		{"pipe and early by delay", play + "--format pipe --early_delay 1s", []string{"--format pipe with --early_delay, want json or table"}},
		{"pipe and final", gmv + "--format pipe --final_rows", []string{"--format pipe with --final_rows, want json or table"}},
		{"pipe and sessions", "gmv --session_gap 10m --input in.ndjson --format pipe", []string{"--format pipe with --session_gap, want json or table: it has no place for the end of a session"}},

		{"report of early rows", gmv + "--lateness_report --early_count 2", []string{"--early_count with --lateness_report, want one of them"}},
		{"report by the clock", gmv + "--lateness_report --early_delay 2s", []string{"--early_delay with --lateness_report, want one of them"}},
		{"report of final rows", gmv + "--lateness_report --final_rows", []string{"--final_rows with --lateness_report, want one of them"}},
	})
}

func TestRefusedOutputs(t *testing.T) {
	const gmv = "gmv --window 1h --input in.ndjson "
	const play = "gmv --window 1h --timeline play.ndjson "
	cases := []usageCase{
		{"empty", gmv + "--output=''", []string{"--output: output is empty, want - or a path that ends in .ndjson"}},
		{"two in one file", gmv + "--late_output out.ndjson --bad_output ./out.ndjson", []string{`"out.ndjson" and "./out.ndjson" are the same file`}},
		{"two in one file by a link", gmv + "--output out.ndjson --bad_output ahead.ndjson", []string{`"out.ndjson" and "ahead.ndjson" are the same file`}},
		{"the timeline", play + "--output play.ndjson", []string{"--output is the input play.ndjson, want another file"}},
		{"late in the timeline", play + "--late_output ./play.ndjson", []string{"--late_output is the input play.ndjson, want another file"}},
	}
	for _, flag := range []string{"output", "late_output", "bad_output"} {
		set := gmv + "--" + flag + " "
		cases = append(cases,
			usageCase{flag + " without a folder", set + "gone/out.ndjson", []string{"--" + flag, `"gone/out.ndjson"`, "no such file or directory"}},
			usageCase{flag + " is a directory", set + "folder.ndjson", []string{"--" + flag, `"folder.ndjson" is a folder, want a file`}},
			usageCase{flag + " of unknown extension", set + "out.xml", []string{"--" + flag, `"out.xml" ends in ".xml", want - or a path that ends in .ndjson`}},
			usageCase{flag + " without extension", set + "out", []string{"--" + flag, `"out" has no extension, want - or a path that ends in .ndjson`}},
			usageCase{flag + " of unknown scheme", set + "mysql://host/db", []string{"--" + flag, `scheme mysql`, "want - or a path that ends in .ndjson"}},
			usageCase{flag + " to a device", set + "/dev/full", []string{"--" + flag, `"/dev/full"`, "want - or a path that ends in .ndjson"}},
			usageCase{flag + " by links in a circle", set + "loop.ndjson", []string{"--" + flag, `"loop.ndjson"`, "too many symbolic links"}},
			usageCase{flag + " is the input", set + "./in.ndjson", []string{"--" + flag + " is the input in.ndjson, want another file"}},
			usageCase{flag + " is a link to the input", set + "link.ndjson", []string{"--" + flag + " is the input in.ndjson, want another file"}},
			usageCase{flag + " is a hard link to the input", set + "hard.ndjson", []string{"--" + flag + " is the input in.ndjson, want another file"}},
		)
	}
	refuse(t, cases)
}

// TestRefusedDataflow is about what the command itself refuses, and about some of what
// package dataflow does.
func TestRefusedDataflow(t *testing.T) {
	const (
		dry  = "--runner dataflow --dry_run "
		at   = "--project my-project --region europe-west1 --staging_location gs://bucket/staging "
		gmv  = "gmv --window 1h --input in.ndjson --output old.ndjson "
		join = "join --left in.ndjson --right link.ndjson --upper 1m "
	)
	refuse(t, []usageCase{
		{"not dry", gmv + at + "--runner dataflow", []string{"--runner dataflow without --dry_run, want both", "files of this machine", "docs/runners.md"}},
		{"not dry, by its other name", gmv + at + "--runner DataflowRunner", []string{"--runner dataflow without --dry_run, want both"}},
		{"dry elsewhere", gmv + at + "--runner flink --dry_run", []string{"--dry_run: this command runs a pipeline, want it with --runner dataflow"}},
		{"a worker", gmv + at + dry + "--worker", []string{"--worker: this command runs a pipeline"}},
		{"no project", gmv + dry + "--region europe-west1 --staging_location gs://bucket/s", []string{"--runner dataflow without --project, want the id"}},
		{"no region", join + dry + "--project my-project --staging_location gs://bucket/s", []string{"--runner dataflow without --region, want a region"}},
		{"nowhere to stage", gmv + dry + "--project my-project --region europe-west1", []string{"--runner dataflow without --staging_location, want a folder"}},
		{"staged here", gmv + dry + "--project my-project --region europe-west1 --staging_location /tmp", []string{"--staging_location /tmp, want a folder in Cloud Storage, as in"}},
		{"temporary files here", gmv + dry + at + "--temp_location /tmp", []string{"--temp_location /tmp, want a folder in Cloud Storage"}},
		{"workers here", gmv + dry + at + "--environment_type LOOPBACK", []string{"--environment_type LOOPBACK with --runner dataflow, want DOCKER"}},
		{"workers in processes", gmv + dry + at + "--environment_type PROCESS", []string{"--environment_type PROCESS with --runner dataflow, want DOCKER"}},
		{"a job server", gmv + dry + at + "--endpoint localhost:8099", []string{"--endpoint with --runner dataflow --dry_run, want it without"}},
		{"asynchronous", gmv + dry + at + "--async", []string{"--async with --runner dataflow --dry_run, want one of them"}},
		{"checkpoints", gmv + dry + at + "--checkpoint_interval 1s", []string{"--checkpoint_interval with --runner dataflow, want --runner flink"}},
		{"a savepoint", gmv + dry + at + "--stream --savepoint_path file:///s", []string{"--savepoint_path with --runner dataflow, want --runner flink"}},
		{"options of flink", gmv + dry + at + "--flink_options a=b", []string{"--flink_options with --runner dataflow, want --runner flink"}},
		{"drained", gmv + dry + at + "--stream --drain", []string{"--drain with --dry_run, want one of them"}},
		{"a worker that is not there", gmv + dry + at + "--worker_binary gone", []string{"--worker_binary gone: no such file or directory"}},
		{"a worker that is a folder", gmv + dry + at + "--worker_binary .", []string{"--worker_binary . is no file, want a program for linux/amd64"}},
		{"a worker that is text", gmv + dry + at + "--worker_binary in.ndjson", []string{"--worker_binary in.ndjson is no ELF file, want a program for linux/amd64, as from CGO_ENABLED=0"}},
		{"a name of no job", gmv + dry + at + "--job_name My_Job", []string{"--job_name My_Job, want small letters"}},
		{"workers fewer than none", gmv + dry + at + "--num_workers -1", []string{"--runner dataflow: num_workers (-1) cannot be negative"}},

		{"a timeline", "gmv --window 1h --timeline play.ndjson " + dry + at, []string{"--timeline with --runner dataflow, want prism"}},
		{"standard input", "gmv --window 1h --input - " + dry + at, []string{"standard input with --runner dataflow, want files"}},
		{"no such input", "gmv --window 1h --input gone.ndjson " + dry + at, []string{"--input gone.ndjson: no such file"}},
		{"the input over again", "gmv --window 1h --input in.ndjson --output link.ndjson " + dry + at, []string{"--output is the input in.ndjson, want another file"}},
		{"a lateness report", "gmv --window 1h --input in.ndjson --lateness_report " + dry + at, []string{"--dry_run with --lateness_report, want one of them"}},
	})
}

func TestRefusedRest(t *testing.T) {
	const (
		gmv     = "gmv --window 1h --input in.ndjson --output old.ndjson "
		process = "--runner flink --environment_type PROCESS --environment_config {} "
	)
	refuse(t, []usageCase{
		{"unknown command", "gvm", []string{`unknown command "gvm", want one of gmv`}},
		{"format", gmv + "--format xml", []string{`--format = "xml", want json, pipe or table`}},
		{"a format for a file", gmv + "--format table", []string{"--format table with --output old.ndjson, want it for standard output"}},
		{"no place for the currency", "gmv --window 1h --input in.ndjson --format pipe --currency_field c", []string{"--format pipe with --currency_field"}},
		{"a flag twice", gmv + "--input in.ndjson", []string{`invalid value "in.ndjson" for flag --input: the flag is given twice, want it once`}},
		{"a switch twice", gmv + "--stream --stream", []string{"flag stream: the flag is given twice, want it once"}},
		{"mart without a path", "gmv --window 1h --input in.ndjson --output sqlite:", []string{"--output sqlite:, want sqlite:PATH"}},
		{"mart by host", "gmv --window 1h --input in.ndjson --output sqlite://host/m.db", []string{"--output sqlite://host/m.db, want sqlite:PATH"}},
		{"format of averages", "average --window 1h --input in.ndjson --format xml", []string{`--format = "xml", want json or table`}},
		{"pipe of averages", "average --window 1h --input in.ndjson --format pipe", []string{"--format pipe, want json or table"}},
		{"no value field", "average --window 1h --input in.ndjson --value_field=''", []string{"--value_field is empty, want the name of a field"}},
		{"money of averages", "average --window 1h --input in.ndjson --amount_field x", []string{"-amount_field", "tidemark average --help"}},
		{"unknown flag", gmv + "--windows 1h", []string{"-windows", "tidemark gmv --help"}},
		{"stray argument", gmv + "in.ndjson", []string{`unexpected argument "in.ndjson", want flags only`}},
		{"stray dash", gmv + "-", []string{`unexpected argument "-", want flags only`}},
		{"log level", gmv + "--log_level loud", []string{`--log_level = "loud", want error, warn, info or debug`}},
		{"empty log level", gmv + "--log_level=''", []string{`--log_level = "", want error, warn, info or debug`}},
		{"no shards", gmv + "--shards -1", []string{"--shards = -1, want 1 to 65536"}},
		{"too many shards", gmv + "--shards 65537", []string{"--shards = 65537, want 1 to 65536"}},
		{"shards are a number", gmv + "--shards many", []string{`"many"`, "-shards"}},
		{"negative scale", gmv + "--amount_scale -1", []string{"--amount_scale = -1, want 0 to 18"}},
		{"scale", gmv + "--amount_scale 19", []string{"--amount_scale = 19, want 0 to 18"}},
		{"unit of time", gmv + "--time_unit h", []string{`--time_unit = "h", want s, ms, us or ns`}},
		{"no key field", gmv + "--key_field=''", []string{"--key_field is empty, want a path"}},
		{"an empty key field", gmv + "--key_field a,,b", []string{"--key_field is empty, want a path"}},
		{"an empty part of a path", gmv + "--key_field a..b", []string{`"a..b" has an empty component, want names joined with single dots`}},
		{"no time field", gmv + "--time_field=''", []string{"--time_field is empty, want a path"}},
		{"no currency field", gmv + "--currency_field=''", []string{"--currency_field is empty, want the name of a field"}},
		{"no amount field", gmv + "--amount_field=''", []string{"--amount_field is empty, want the name of a field"}},
		{"a currency field that ends in a dot", gmv + "--currency_field price.", []string{`"price." has an empty component`}},
		{"no room for records", gmv + "--max_record_bytes 0", []string{"--max_record_bytes = 0, want at least 1"}},

		{"direct runner", gmv + "--runner direct", []string{"--runner direct cannot run streaming pipelines, want prism"}},
		{"direct runner by its other name", gmv + "--runner DirectRunner", []string{"--runner DirectRunner cannot run streaming pipelines, want prism"}},
		{"asynchronous", gmv + "--async", []string{"--async without --runner flink, want both"}},
		{"asynchronous by its other name", gmv + "--execute_async", []string{"--async without --runner flink, want both"}},
		{"asynchronous with workers here", gmv + "--runner flink --async", []string{"--async with --environment_type LOOPBACK, want PROCESS"}},
		{"asynchronous batch", gmv + process + "--async", []string{"--async without --stream, want both"}},
		{"dry run", gmv + "--dry_run", []string{"--dry_run: this command runs a pipeline"}},
		{"workers elsewhere without a cluster", gmv + "--environment_type DOCKER", []string{"--environment_type DOCKER without --runner flink, want both"}},
		{"workers in processes", gmv + "--runner flink --environment_type PROCESS", []string{"--environment_type PROCESS without --environment_config, want both, as in"}},
		{"workers nowhere", gmv + "--runner flink --environment_type POD", []string{"--environment_type POD, want LOOPBACK, PROCESS, EXTERNAL or DOCKER"}},
		{"a stream from elsewhere on standard output", "gmv --window 1h --input in.ndjson " + process + "--stream", []string{"--output - with --stream and --environment_type PROCESS, want a file or a mart"}},
		{"standard input on a cluster", "gmv --window 1h --input - --runner flink", []string{"standard input with --runner flink, want files: after a failure"}},
		{"checkpoints without a cluster", gmv + "--checkpoint_interval 1s", []string{"--checkpoint_interval without --runner flink, want both"}},
		{"a savepoint without a cluster", gmv + "--savepoint_path file:///s", []string{"--savepoint_path without --runner flink, want both"}},
		{"a batch from a savepoint", gmv + "--runner flink --savepoint_path file:///s", []string{"--savepoint_path without --stream, want both"}},
		{
			"asynchronous batch to a mart", "gmv --window 1h --input in.ndjson --output sqlite:m.db " + process + "--async",
			[]string{"--async without --stream, want both"},
		},
		{"options of flink without it", gmv + "--runner spark --flink_options a=b", []string{"--flink_options with --runner spark, want --runner flink"}},
		{"options that are none", gmv + "--runner flink --flink_options a=b,c", []string{`--flink_options a=b,c: "c" is no option, want name=value,...`}},
		{"bundles without a cluster", gmv + "--stream --bundle_bytes 5", []string{"--bundle_bytes without --runner flink, want both"}},
		{"bundles of a batch", gmv + "--runner flink --bundle_bytes 5", []string{"--bundle_bytes without --stream, want both"}},
		{"bundles of nothing", gmv + "--runner flink --stream --bundle_bytes=-5", []string{"--bundle_bytes = -5, want at least 1"}},
		{"checkpoints at no time", gmv + "--runner flink --checkpoint_interval=-1s", []string{"--checkpoint_interval = -1s, want a positive whole number of milliseconds"}},
		{"a server without a port", gmv + "--runner flink --endpoint localhost", []string{`--endpoint = "localhost", want HOST:PORT of a job server, as in localhost:8099`}},
		{"workers that are no JSON", gmv + "--runner flink --environment_type PROCESS --environment_config {bad", []string{"--environment_config {bad is no JSON, want an object with a command"}},
		{"checkpoints all the time", gmv + "--runner flink --checkpoint_interval 0s", []string{"--checkpoint_interval = 0s, want a positive whole number of milliseconds"}},
		{"no bundles", gmv + "--runner flink --stream --bundle_bytes 0", []string{"--bundle_bytes = 0, want at least 1"}},
		{"a savepoint that failed", gmv + "--runner flink --stream --savepoint_path=", []string{"--savepoint_path is empty, want a URI"}},
		{"a savepoint that failed, without a cluster", gmv + "--stream --savepoint_path=", []string{"--savepoint_path without --runner flink, want both"}},
		{"options of nothing", gmv + "--runner flink --flink_options=", []string{`--flink_options : "" is no option, want name=value,...`}},
		{"checkpoints of another server", gmv + "--endpoint localhost:1 --checkpoint_interval 1s", []string{"--checkpoint_interval with --endpoint localhost:1, want --runner flink"}},
		{"standard input behind a server", "gmv --window 1h --input - --endpoint localhost:1", []string{"standard input with --endpoint localhost:1, want files"}},
		{"drained from elsewhere", "gmv --window 1h --input in.ndjson --output rows.ndjson " + process + "--stream --drain", []string{"--drain with --environment_type PROCESS, want LOOPBACK"}},
		{"timeline behind a server", "gmv --window 1h --timeline play.ndjson --endpoint localhost:1", []string{"--timeline with --endpoint localhost:1, want prism"}},
		{"unknown runner", gmv + "--runner fink", []string{"--runner fink cannot run this command, want prism, flink, dataflow, spark or portable"}},
		{"unknown runner with workers here", gmv + "--runner fink --environment_type LOOPBACK", []string{"--runner fink cannot run this command"}},
		{"a runner that runs nothing", gmv + "--runner vet --environment_type LOOPBACK", []string{"--runner vet cannot run this command"}},
		{"timeline on direct", "gmv --window 1h --timeline play.ndjson --runner direct", []string{"--runner direct cannot run streaming pipelines, want prism"}},
		{"timeline on flink", "gmv --window 1h --timeline play.ndjson --runner flink", []string{"--timeline with --runner flink, want prism"}},
		{
			"timeline on flink with workers here", "gmv --window 1h --timeline play.ndjson --runner flink --environment_type LOOPBACK",
			[]string{"--timeline with --runner flink, want prism"},
		},
	})
}

// TestNoCommand shows the commands, and then says what is wrong.
func TestNoCommand(t *testing.T) {
	r := tidemark(t, t.TempDir(), "")
	if r.status != exitUsage || r.stdout != "" || r.lastLine() != "tidemark: no command, want one of gmv, average, join, reconcile" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.stderr, "usage: tidemark COMMAND [flags]") {
		t.Errorf("no usage: %s", r.stderr)
	}
}
