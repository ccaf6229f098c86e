package main

import (
	"flag"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestHelpOfAll(t *testing.T) {
	for _, arg := range []string{"--help", "-h", "help"} {
		r := tidemark(t, t.TempDir(), "", arg)
		if r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: status %d, standard error %q, want 0 and nothing", arg, r.status, r.stderr)
		}
		for _, want := range []string{"usage: tidemark COMMAND [flags]", "\n  gmv ", "\n  join ", "tidemark COMMAND --help", "--version"} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%s: %q is not in it:\n%s", arg, want, r.stdout)
			}
		}
	}
}

// TestHelp checks what the help says of every flag of ours: what it takes, its
// unit, and its default where it has one.
func TestHelp(t *testing.T) {
	checkHelp(t, "gmv", []flagHelp{
		{"input", "FILE", []string{".ndjson", "- for standard input"}},
		{"input_format", "ndjson|csv", []string{"default of standard input: ndjson"}},
		{"timeline", "FILE", []string{"script of events and watermarks"}},
		{"stream", "", []string{"in order", "watermark"}},
		{"max_out_of_orderness", "time", []string{"event time", "default 0s"}},
		{"idle_timeout", "time", []string{"processing time", "0 is never (default)"}},
		{"future_limit", "time", []string{"default 24h0m0s", "0 is off", "ahead of the clock"}},
		{"key_field", "field", []string{"default key", "separated by commas", "nested"}},
		{"time_field", "field", []string{"default time", "RFC 3339"}},
		{"time_unit", "unit", []string{"ms, s, us or ns", "default ms"}},
		{"amount_field", "field", []string{"default amount_cents"}},
		{"amount_scale", "N", []string{"10^-N", "default 0"}},
		{"currency_field", "field", nil},
		{"max_record_bytes", "bytes", []string{"default 16777216"}},
		{"window", "time", []string{"event time", "as in 5m", "UTC"}},
		{"every", "time", []string{"a window starts every", "at most --window"}},
		{"window_offset", "time", []string{"may be negative", "default 0s"}},
		{"cumulative_step", "time", []string{"divides --window"}},
		{"calendar", "day|week|month", []string{"Monday"}},
		{"time_zone", "zone", []string{"IANA", "default UTC"}},
		{"session_gap", "time", []string{"event time", "as in 10m", "withdrawn"}},
		{"allowed_lateness", "time", []string{"event time", "default 0s"}},
		{"early_count", "N", []string{"EARLY", "not shown yet", "share"}},
		{"early_delay", "time", []string{"processing time", "as in 10s", "streams and timelines"}},
		{"final_rows", "", []string{"FINAL", "no more records"}},
		{"output", "URI", []string{"default -"}},
		{"late_output", "URI", []string{"counted only", "mart"}},
		{"bad_output", "URI", []string{"exit status is 3", "mart"}},
		{"job", "NAME", []string{"default: made from the command and the input's absolute path", "required for standard input"}},
		{"format", "json|pipe|table", []string{"default json", "key|windowStartMs|sum"}},
		{"drain", "", []string{"with --stream", "interrupt"}},
		{"shards", "N", []string{"1 to 65536", "default 4, of a timeline 1"}},
		{"lateness_report", "", []string{"instead of rows", "--max_out_of_orderness", "--format table"}},
		{"log_level", "error|warn|info|debug", []string{"default warn"}},
		{"checkpoint_interval", "time", []string{"processing", "goes on after a failure", "4s"}},
		{"bundle_bytes", "bytes", []string{"rests for a second", "64 MiB"}},
		{"savepoint_path", "URI", []string{"goes on from", "with a mart"}},
		{"flink_options", "name=value,...", []string{"as in max_parallelism=64"}},
	})
}

// TestJoinHelp does so for joins, which have no windows.
func TestJoinHelp(t *testing.T) {
	checkHelp(t, "join", []flagHelp{
		{"left", "FILE", []string{"left records", ".ndjson", "- for standard input"}},
		{"right", "FILE", []string{"right records"}},
		{"input_format", "ndjson|csv", []string{"whose names do not say so", "default ndjson"}},
		{"timeline", "FILE", []string{"left and right events and watermarks"}},
		{"stream", "", []string{"both inputs as one stream", "the lower one counts"}},
		{"max_out_of_orderness", "time", []string{"event time", "an input's watermark", "default 0s"}},
		{"idle_timeout", "time", []string{"processing time", "silent for so long", "0 is never (default)", "If both are silent"}},
		{"future_limit", "time", []string{"default 24h0m0s"}},
		{"key_field", "field", []string{"both sides", "default key"}},
		{"time_field", "field", []string{"both sides", "default time"}},
		{"left_key_field", "field", []string{"on the left", "default: that of --key_field"}},
		{"left_time_field", "field", []string{"on the left", "default: that of --time_field"}},
		{"right_key_field", "field", []string{"on the right", "default: that of --key_field"}},
		{"right_time_field", "field", []string{"on the right", "default: that of --time_field"}},
		{"time_unit", "unit", []string{"default ms"}},
		{"max_record_bytes", "bytes", []string{"default 16777216"}},
		{"lower", "time", []string{"at least", "-1m for up to a minute before it", "default 0s"}},
		{"upper", "time", []string{"at most", "default 0s"}},
		{"exclusive_lower", "", []string{"not --lower itself"}},
		{"exclusive_upper", "", []string{"not --upper itself"}},
		{"type", "inner|left|right|full|left_semi|left_anti", []string{"default inner", "Pairs", "null", "once", "nothing matches"}},
		{"allowed_lateness", "time", []string{"event time", "the lower one of both inputs", "default 0s"}},
		{"max_rows_per_key", "N", []string{"both sides", "not joined", "--bad_output", "default 0: no limit"}},
		{"output", "URI", []string{"default -"}},
		{"late_output", "URI", []string{"too late to be joined", "counted only", "mart"}},
		{"bad_output", "URI", []string{"not understood, or are over --max_rows_per_key", "exit status is 3", "mart"}},
		{"job", "NAME", []string{"the inputs' absolute paths", "required for standard input"}},
		{"format", "json|table", []string{"default json"}},
		{"shards", "N", []string{"1 to 65536", "default 4, of a timeline 1"}},
		{"drain", "", []string{"with --stream", "interrupt", "nothing has matched"}},
		{"log_level", "error|warn|info|debug", []string{"default warn"}},
		{"checkpoint_interval", "time", []string{"processing", "goes on after a failure", "4s"}},
		{"bundle_bytes", "bytes", []string{"rests for a second", "64 MiB"}},
		{"savepoint_path", "URI", []string{"goes on from", "with a mart"}},
		{"flink_options", "name=value,...", []string{"as in max_parallelism=64"}},
	})
}

// flagHelp is what the help says of a flag.
type flagHelp struct {
	flag, takes string
	say         []string // unit, default and whatever else matters
}

// checkHelp checks what the help of a command says of its flags, which are all that
// it has.
func checkHelp(t *testing.T, command string, want []flagHelp) {
	t.Helper()
	r := tidemark(t, t.TempDir(), "", command, "--help")
	if r.status != exitOK || r.stderr != "" {
		t.Fatalf("status %d, standard error %q, want 0 and nothing", r.status, r.stderr)
	}
	if again := tidemark(t, t.TempDir(), "", command, "--log_level", "x", "-h"); again != r {
		t.Errorf("-h: %+v, want what --help gives", again)
	}

	ours, beams, ok := strings.Cut(r.stdout, "\nBeam's flags\n")
	if !ok {
		t.Fatalf("no section for Beam's flags:\n%s", r.stdout)
	}
	for _, name := range []string{"runner", "endpoint", "environment_type", "parallelism", "job_name"} {
		if !strings.Contains(beams, "\n  --"+name) {
			t.Errorf("Beam's --%s is not in it", name)
		}
	}
	for _, c := range want {
		text, found := entry(ours, c.flag)
		if !found {
			t.Errorf("--%s is not in it", c.flag)
			continue
		}
		if takes, _, _ := strings.Cut(text, "\n"); strings.TrimPrefix(takes, " ") != c.takes {
			t.Errorf("--%s takes %q, want %q", c.flag, takes, c.takes)
		}
		for _, want := range c.say {
			if !strings.Contains(text, want) {
				t.Errorf("--%s: %q is not in %q", c.flag, want, text)
			}
		}
		if n := strings.Count(text, "default "); n > 1 {
			t.Errorf("--%s names its default %d times: %q", c.flag, n, text)
		}
		ours = strings.Replace(ours, "\n  --"+c.flag+text, "", 1)
	}
	if left := regexp.MustCompile(`\n  --\S+`).FindString(ours); left != "" {
		t.Errorf("a flag that this test does not know:%s", left)
	}
}

// entry is what the help says of a flag, from behind its name.
func entry(help, name string) (string, bool) {
	at := regexp.MustCompile(`\n  --` + name + `[ \n]`).FindStringIndex(help)
	if at == nil {
		return "", false
	}
	text := help[at[1]-1:]
	text, _, _ = strings.Cut(text, "\n  --")
	text, _, _ = strings.Cut(text, "\n\n")
	return text, true
}

// TestFlagsAreOurs checks that no flag of ours takes a name of Beam's, which
// would end the process before it says anything.
func TestFlagsAreOurs(t *testing.T) {
	fs := &flagSet{FlagSet: flag.NewFlagSet("gmv", flag.ContinueOnError), group: map[string]string{}}
	new(aggregateFlags).define(fs, &gmvCommand)
	for _, name := range fs.own {
		if flag.Lookup(name) != nil {
			t.Errorf("Beam has a flag --%s already", name)
		}
	}
	if len(fs.own) != 38 {
		t.Errorf("%d flags of our own: %q", len(fs.own), fs.own)
	}
	join := &flagSet{FlagSet: flag.NewFlagSet("join", flag.ContinueOnError), group: map[string]string{}}
	new(joinFlags).define(join)
	for _, name := range join.own {
		if flag.Lookup(name) != nil {
			t.Errorf("Beam has a flag --%s already", name)
		}
	}
}

func TestVersion(t *testing.T) {
	want := regexp.MustCompile(`^tidemark \S+, Apache Beam Go SDK v2\.\d+\.\d+\S*, go\S+ \w+/\w+\n$`)
	for _, arg := range []string{"--version", "-version", "version"} {
		r := tidemark(t, t.TempDir(), "", arg)
		if r.status != exitOK || r.stderr != "" || !want.MatchString(r.stdout) || !strings.Contains(r.stdout, runtime.Version()) {
			t.Errorf("%s: %+v, want the versions of Tidemark, Beam and Go", arg, r)
		}
	}
}
