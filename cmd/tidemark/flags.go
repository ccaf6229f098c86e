package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/transforms/aggregate"
	"tidemark/windowfns"
)

// flagSet is a subcommand's flags: its own on top of Beam's, which are global.
type flagSet struct {
	*flag.FlagSet
	usage string   // one line
	own   []string // names, in the order of the help
	group map[string]string
}

// newFlagSet adds to the global flag set, where Beam's flags are already: a
// runner is sent all flags that were set.
func newFlagSet(name, usage string) *flagSet {
	return onFlagSet(flag.CommandLine, name, usage)
}

// onFlagSet adds to a flag set.
func onFlagSet(set *flag.FlagSet, name, usage string) *flagSet {
	fs := &flagSet{FlagSet: set, usage: usage, group: map[string]string{}}
	fs.Init("tidemark "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// section notes the flags that define adds as the command's own, under a
// heading of the help.
func (fs *flagSet) section(heading string, define func()) {
	before := fs.names()
	define()
	first := true
	for _, n := range fs.names() {
		if slices.Contains(before, n) {
			continue
		}
		fs.own = append(fs.own, n)
		f := fs.Lookup(n)
		f.Value = &once{Value: f.Value}
		if first {
			fs.group[n], first = heading, false
		}
	}
}

// once is a flag that can be set once only: of two values, one would be dropped
// without a word.
type once struct {
	flag.Value
	set bool
}

// Set implements flag.Value.
func (o *once) Set(text string) error {
	if o.set {
		return errTwice
	}
	o.set = true
	return o.Value.Set(text)
}

var errTwice = errors.New("the flag is given twice, want it once")

// IsBoolFlag tells package flag which flags need no value.
func (o *once) IsBoolFlag() bool {
	b, ok := o.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func (fs *flagSet) names() (names []string) {
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// parse parses args. It prints the help itself and then returns flag.ErrHelp.
func (fs *flagSet) parse(args []string) error {
	err := fs.Parse(args)
	if err == flag.ErrHelp {
		fs.printHelp(os.Stdout)
		return err
	}
	if err != nil {
		return usagef("%s; see %s --help", twoDashes.ReplaceAllString(err.Error(), "${1}--$2"), fs.Name())
	}
	if fs.NArg() > 0 {
		return usagef("unexpected argument %q, want flags only; see %s --help", fs.Arg(0), fs.Name())
	}
	return nil
}

// twoDashes finds the names of flags in errors of package flag, which have one
// dash there.
var twoDashes = regexp.MustCompile(`(flag |argument: |defined: )-(\w)`)

// given reports whether the flag was set on the command line.
func (fs *flagSet) given(name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func (fs *flagSet) printHelp(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", fs.usage)
	for _, n := range fs.own {
		if g := fs.group[n]; g != "" {
			fmt.Fprintf(&b, "\n%s\n", g)
		}
		printFlag(&b, fs.Lookup(n))
	}
	heading := "\nBeam's flags\n"
	fs.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(fs.own, f.Name) {
			b.WriteString(heading)
			heading = ""
			printFlag(&b, f)
		}
	})
	_, _ = io.WriteString(w, b.String())
}

func printFlag(b *strings.Builder, f *flag.Flag) {
	kind, text := flag.UnquoteUsage(f)
	fmt.Fprintf(b, "  --%s", f.Name)
	if kind != "" {
		fmt.Fprintf(b, " %s", kind)
	}
	fmt.Fprintf(b, "\n        %s", strings.ReplaceAll(text, "\n", "\n        "))
	if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && d != "map[]" {
		fmt.Fprintf(b, " (default %s)", d)
	}
	b.WriteByte('\n')
}

// windowFlags are the flags that choose windows, and which rows they have.
type windowFlags struct {
	window, every, offset, step time.Duration
	calendar, zone              string
	gap                         time.Duration
	lateness                    time.Duration

	earlyCount int
	earlyDelay time.Duration
	finalRows  bool
}

func (w *windowFlags) define(fs *flagSet) {
	fs.section("Windows: one of --window, --window with --every, --window with --cumulative_step, --calendar, --session_gap", func() {
		fs.DurationVar(&w.window, "window", 0, "window size, event `time`, as in 5m; [start, end) from the Unix epoch, UTC")
	})
	fs.section("", func() {
		fs.DurationVar(&w.every, "every", 0, "sliding windows: a window starts every `time`; at most --window")
	})
	fs.section("", func() {
		fs.DurationVar(&w.offset, "window_offset", 0, "shifts the windows by `time`; may be negative; default 0s")
	})
	fs.section("", func() {
		fs.DurationVar(&w.step, "cumulative_step", 0, "cumulative windows: within each --window, one from its start to every multiple of `time`, which divides --window")
	})
	fs.section("", func() {
		fs.StringVar(&w.calendar, "calendar", "", "calendar windows: `day|week|month`; weeks start on Monday")
	})
	fs.section("", func() {
		fs.StringVar(&w.zone, "time_zone", "", "IANA `zone` of --calendar, as in America/Los_Angeles; default UTC")
	})
	fs.section("", func() {
		fs.DurationVar(&w.gap, "session_gap", 0, "sessions: the records of a key until none comes for this event `time`, as in 10m.\nRows of a session that grows are withdrawn, by a row with count 0, and those of the longer one take their place")
	})
	fs.section("", func() {
		fs.DurationVar(&w.lateness, "allowed_lateness", 0, "event `time`: a window takes records while the watermark is below its end plus this; default 0s")
	})
	fs.section("Further rows: beside the ON_TIME row of a window, and LATE ones", func() {
		fs.IntVar(&w.earlyCount, "early_count", 0, "EARLY rows: one before the end of the window whenever `N` records of its key are not shown yet; several that come together can share it")
	})
	fs.section("", func() {
		fs.DurationVar(&w.earlyDelay, "early_delay", 0, "EARLY rows: one at this processing `time` after the first record that is not shown yet, as in 10s; for streams and timelines")
	})
	fs.section("", func() {
		fs.BoolVar(&w.finalRows, "final_rows", false, "a FINAL row when a window takes no more records, with the values of its last row")
	})
}

// config is what the flags ask for.
func (w *windowFlags) config(fs *flagSet) (aggregate.Config, error) {
	var none aggregate.Config
	fn, err := w.fn(fs)
	if err != nil {
		return none, err
	}
	switch {
	case w.lateness < 0 || w.lateness%time.Millisecond != 0:
		return none, usagef("--allowed_lateness = %v, want a whole number of milliseconds, 0s or more", w.lateness)
	case fs.given("early_count") && w.earlyCount < 1:
		return none, usagef("--early_count = %d, want at least 1", w.earlyCount)
	case fs.given("early_delay") && (w.earlyDelay <= 0 || w.earlyDelay%time.Millisecond != 0):
		return none, usagef("--early_delay = %v, want a positive whole number of milliseconds", w.earlyDelay)
	}
	cfg := aggregate.Config{
		Windows: fn, AllowedLateness: w.lateness,
		EarlyCount: w.earlyCount, EarlyDelay: w.earlyDelay, FinalRows: w.finalRows,
	}
	if err := cfg.Validate(); err != nil {
		return none, usageError{asFlags(err)}
	}
	return cfg, nil
}

// fn is the window function that the flags ask for.
func (w *windowFlags) fn(fs *flagSet) (windowfns.Fn, error) {
	var chosen []string
	for _, name := range []string{"every", "cumulative_step", "calendar", "session_gap"} {
		if fs.given(name) {
			chosen = append(chosen, "--"+name)
		}
	}
	var kind string // --window alone is none of them
	switch len(chosen) {
	case 0:
	case 1:
		kind = chosen[0]
	default:
		return nil, usagef("%s together, want one kind of window", strings.Join(chosen, " and "))
	}
	var fn windowfns.Fn
	switch ownSize := kind == "--calendar" || kind == "--session_gap"; {
	case ownSize && fs.given("window"):
		return nil, usagef("--window and %s together, want one kind of window", kind)
	case kind == "--calendar" && fs.given("window_offset"):
		return nil, usagef("--window_offset with --calendar, want it with --window: calendar windows start at local midnight")
	case kind == "--session_gap" && fs.given("window_offset"):
		return nil, usagef("--window_offset with --session_gap, want it with --window: a session starts with its first record")
	case kind != "--calendar" && fs.given("time_zone"):
		return nil, usagef("--time_zone without --calendar, want both: other windows are counted in UTC")
	case kind == "--calendar":
		fn = windowfns.Calendar{Unit: windowfns.CalendarUnit(w.calendar), Zone: w.zone}
	case kind == "--session_gap":
		fn = windowfns.Session{Gap: w.gap}
	case !fs.given("window"):
		return nil, usagef("no windows, want --window, as in --window 1h, or --calendar, or --session_gap")
	case kind == "--every":
		fn = windowfns.Sliding{Size: w.window, Period: w.every, Offset: w.offset}
	case kind == "--cumulative_step":
		fn = windowfns.Cumulative{Step: w.step, Size: w.window, Offset: w.offset}
	default:
		fn = windowfns.Tumbling{Size: w.window, Offset: w.offset}
	}
	if err := fn.Validate(); err != nil {
		return nil, usageError{asFlags(err)}
	}
	return fn, nil
}

// flagNames are the flags behind the fields that error messages name.
var flagNames = strings.NewReplacer(
	"windowfns.Tumbling: ", "", "windowfns.Sliding: ", "", "windowfns.Cumulative: ", "", "windowfns.Calendar: ", "", "windowfns.Session: ", "",
	"Size = ", "--window = ", "Period = ", "--every = ", "Offset = ", "--window_offset = ", "Step = ", "--cumulative_step = ",
	"Unit = ", "--calendar = ", "Zone = ", "--time_zone = ", "Gap = ", "--session_gap = ", "AllowedLateness = ", "--allowed_lateness = ",
)

// asFlags is err in the words of the command line.
func asFlags(err error) error { return errors.New(flagNames.Replace(err.Error())) }
