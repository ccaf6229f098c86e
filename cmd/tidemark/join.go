package main

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"tidemark/connectors/files"
	"tidemark/connectors/mart"
	"tidemark/connectors/records"
	"tidemark/connectors/rows"
	"tidemark/connectors/timeline"
	"tidemark/joins"
	"tidemark/joins/interval"
	"tidemark/pipelines"
)

const joinUsage = `Joins two inputs by key and distance in time: a left and a right record of a key
match when left + lower <= right <= left + upper. Prints a row for each pair as
soon as it is complete, and, where --type asks for them, records that nothing can
match any more. What comes later than the allowed lateness goes to --late_output.

usage: tidemark join --left FILE --right FILE --lower -1s --upper 1m [flags]
       tidemark join --timeline FILE --lower -1s --upper 1m [flags]`

// joinFlags are the flags of the join command.
type joinFlags struct {
	inputFlags
	outputFlags
	runFlags

	left, right sideFlags
	both        sideFlags // of either side that has no field of its own
	unit        string
	maxBytes    int

	cfg joins.Config
}

// sideFlags are the flags of one side.
type sideFlags struct{ uri, key, time string }

func (j *joinFlags) define(fs *flagSet) {
	fs.section("Input: --left and --right, or --timeline", func() {
		fs.StringVar(&j.left.uri, "left", "", "`FILE` or pattern with the left records, such as 'day/*.csv.gz': .ndjson, or .csv with a header, each also .gz; or - for standard input, never compressed.\nRead to its end, so that nothing in it is late, unless --stream is given")
	})
	fs.section("", func() {
		fs.StringVar(&j.right.uri, "right", "", "`FILE` or pattern with the right records, in the same forms")
	})
	fs.section("", func() {
		fs.StringVar(&j.kind, "input_format", "", "`ndjson|csv`: what inputs hold whose names do not say so: standard input, and files without .ndjson or .csv (default ndjson)")
	})
	fs.section("", func() {
		fs.StringVar(&j.timeline, "timeline", "", "`FILE` with a script of left and right events and watermarks, played step by step on the embedded runner")
	})
	j.defineStream(fs, joinWords)
	fs.section("Records", func() {
		fs.StringVar(&j.both.key, "key_field", "key", "the key's `field` on both sides; several, separated by commas, are joined with |; a dot reaches into nested JSON")
	})
	fs.section("", func() {
		fs.StringVar(&j.both.time, "time_field", "time", "the event time's `field` on both sides: an RFC 3339 string or an integer")
	})
	for _, s := range []struct {
		name string
		*sideFlags
	}{{"left", &j.left}, {"right", &j.right}} {
		fs.section("", func() {
			fs.StringVar(&s.key, s.name+"_key_field", "", "the key's `field` on the "+s.name+" (default: that of --key_field)")
		})
		fs.section("", func() {
			fs.StringVar(&s.time, s.name+"_time_field", "", "the event time's `field` on the "+s.name+" (default: that of --time_field)")
		})
	}
	fs.section("", func() {
		fs.StringVar(&j.unit, "time_unit", "ms", "the `unit` of times that are integers: ms, s, us or ns since the Unix epoch")
	})
	fs.section("", func() {
		fs.IntVar(&j.maxBytes, "max_record_bytes", files.DefaultMaxRecordBytes, "longer records are bad, in `bytes`")
	})
	fs.section("Interval: left + lower <= right <= left + upper, in event time", func() {
		fs.DurationVar(&j.cfg.Lower, "lower", 0, "how far the right record is behind the left one at least: `time`, as in 0s, or -1m for up to a minute before it; default 0s")
	})
	fs.section("", func() {
		fs.DurationVar(&j.cfg.Upper, "upper", 0, "how far the right record is behind the left one at most: `time`, as in 1h; default 0s")
	})
	fs.section("", func() {
		fs.BoolVar(&j.cfg.ExclusiveLower, "exclusive_lower", false, "the distance is not --lower itself")
	})
	fs.section("", func() {
		fs.BoolVar(&j.cfg.ExclusiveUpper, "exclusive_upper", false, "the distance is not --upper itself")
	})
	fs.section("", func() {
		fs.StringVar((*string)(&j.cfg.Type), "type", string(joins.Inner), "which rows there are: `inner|left|right|full|left_semi|left_anti`.\nPairs; with left, right or full also the records of the side, or of both, that nothing matches, beside null;\nleft_semi: each left record that something matches, once; left_anti: those that nothing matches")
	})
	fs.section("", func() {
		fs.DurationVar(&j.cfg.AllowedLateness, "allowed_lateness", 0, "event `time`: a record is late when the watermark, the lower one of both inputs, is past its time plus this; default 0s")
	})
	fs.section("", func() {
		fs.IntVar(&j.cfg.MaxRowsPerKey, "max_rows_per_key", 0, "a key holds at most `N` records of both sides at a time; what comes then is not joined and goes to --bad_output (default 0: no limit)")
	})
	j.outputFlags.define(fs, joinWords)
	j.runFlags.define(fs, joinWords)
}

// fields are the fields of a side.
func (j *joinFlags) fields(s sideFlags) records.Fields {
	return records.Fields{Key: strings.Split(cmp.Or(s.key, j.both.key), ","), Time: cmp.Or(s.time, j.both.time), TimeUnit: j.unit}
}

// joinFieldNames are the flags behind the fields of joins.Config.
var joinFieldNames = strings.NewReplacer("Lower", "--lower", "Upper", "--upper", "Type = ", "--type = ", "AllowedLateness = ", "--allowed_lateness = ", "MaxRowsPerKey = ", "--max_rows_per_key = ")

// check checks what can be checked before anything is looked at.
func (j *joinFlags) check(fs *flagSet) (pipelines.PairSource, error) {
	src := pipelines.PairSource{MaxRecordBytes: j.maxBytes}
	src.Left.Fields, src.Right.Fields = j.fields(j.left), j.fields(j.right)
	for _, f := range []struct {
		name   string
		fields records.Fields
		own    sideFlags
	}{{"left", src.Left.Fields, j.left}, {"right", src.Right.Fields, j.right}} {
		if err := f.fields.Validate(); err != nil {
			at := fieldName.FindStringSubmatch(err.Error())
			flag := strings.TrimPrefix(fieldFlags[at[1]], "--")
			if own := f.name + "_" + flag; fs.Lookup(own) != nil && fs.given(own) {
				flag = own
			}
			return src, usagef("--%s%s", flag, err.Error()[len(at[0]):])
		}
	}
	for _, name := range []string{"left_key_field", "left_time_field", "right_key_field", "right_time_field"} {
		if fs.given(name) && fs.Lookup(name).Value.String() == "" {
			return src, usagef("--%s is empty, want the name of a field", name)
		}
	}
	if j.maxBytes < 1 {
		return src, usagef("--max_record_bytes = %d, want at least 1", j.maxBytes)
	}
	switch {
	case !fs.given("lower") && !fs.given("upper"):
		return src, usagef("no interval, want --lower and --upper, as in --lower -1s --upper 1m")
	case fs.given("max_rows_per_key") && j.cfg.MaxRowsPerKey < 1:
		return src, usagef("--max_rows_per_key = %d, want at least 1", j.cfg.MaxRowsPerKey)
	case j.cfg.Type == "":
		return src, usagef("--type is empty, want one of %q", joins.Types)
	case j.format == string(rows.Pipe):
		return src, usagef("--format pipe, want json or table: pipe is for sums of money")
	}
	if err := j.cfg.Validate(); err != nil {
		return src, usagef("%s", joinFieldNames.Replace(err.Error()))
	}
	if err := j.inputFlags.check(fs, false); err != nil {
		return src, err
	}
	if err := j.runFlags.check(j.timeline != ""); err != nil {
		return src, err
	}
	var err error
	j.cfg.Shards, err = j.shardsFor(j.timeline != "")
	return src, err
}

// find looks for the inputs.
func (j *joinFlags) find() (left, right input, err error) {
	switch {
	case j.timeline != "" && j.left.uri+j.right.uri != "":
		return left, right, usagef("--timeline with --left or --right, want one or the other")
	case j.timeline != "":
		left, err = readTimeline(j.timeline, timeline.Left, timeline.Right)
		return left, right, err
	case j.left.uri == "" || j.right.uri == "":
		return left, right, usagef("no input for one side or both, want --left FILE and --right FILE, or --timeline FILE")
	}
	if left, err = j.inputFlags.find("left", j.left.uri); err != nil {
		return left, right, err
	}
	if right, err = j.inputFlags.find("right", j.right.uri); err != nil {
		return left, right, err
	}
	for _, in := range []input{left, right} {
		for i := range in.files {
			in.files[i].ByName() // --input_format can be meant for the other side
		}
	}
	if err := files.CheckPair(left.files, right.files); err != nil {
		return left, right, usagef("--left and --right: %w", err)
	}
	return left, right, nil
}

// runJoin runs the join command.
func runJoin(ctx context.Context, args []string) error {
	fs := newFlagSet("join", joinUsage)
	var j joinFlags
	j.define(fs)
	if err := fs.parse(args); err != nil {
		return err
	}
	src, err := j.check(fs)
	if err != nil {
		return err
	}
	left, right, err := j.find()
	if err != nil {
		return err
	}
	if err := j.checkInputs(j.stream, left, right); err != nil {
		return err
	}
	src.Timeline, src.Script = left.steps, left.name
	outs, err := j.outlets(fs, outputPlan{
		how:     j.release(left, right),
		goOn:    j.savepoint != "",
		inputs:  append(append(files.Paths(left.files), files.Paths(right.files)...), left.name),
		around:  layouts{rows: rows.JoinLayout, late: rows.JoinLateLayout},
		sources: sourcesOf(j.timeline, j.left.uri, j.right.uri),
		command: "join",
		info:    mart.RunInfo{Command: strings.Join(append([]string{"join"}, args...), " "), Work: mart.Join, JoinType: string(j.cfg.Type)},
	})
	if err != nil {
		return err
	}

	if j.cfg.Type == joins.LeftSemi {
		outs.moving = rows.JoinedTimeBytes
	}
	job := job{runFlags: j.runFlags, outlets: outs, stderr: os.Stderr, command: "join", sides: true}
	return job.run(ctx, func(dir string) (build, error) {
		if j.stream {
			src.Stream = &files.PairConfig{
				MaxOutOfOrderness: j.outOfOrder, FutureLimit: j.futureLimit, IdleTimeout: j.idleTimeout, AheadLimit: j.aheadLimit(),
			}
			src.Stream.BundleBytes, src.Stream.Pause = j.bundles()
			src.Left.Files, src.Right.Files = left.open("left", os.Stdin), right.open("right", os.Stdin)
		} else {
			if src.Left.Files, err = left.spool(dir, "left", os.Stdin); err != nil {
				return nil, err // the input must be there for a second attempt
			}
			if src.Right.Files, err = right.spool(dir, "right", os.Stdin); err != nil {
				return nil, err
			}
		}
		return func(s scope, to *outlets) error {
			return pipelines.Join{PairSource: src, Outputs: to.outputs(), Config: j.cfg}.Build(s)
		}, nil
	})
}

// aheadLimit is how far a file is read ahead of a pipe that has nothing to say: as
// far as what has come from the pipe can have partners, and a little more.
func (j *joinFlags) aheadLimit() time.Duration {
	iv, err := j.cfg.Interval()
	if err != nil {
		return 0 // and refused before
	}
	reach := max(iv.UpperMs, -iv.LowerMs, 0)
	ms := min(reach, interval.MaxBoundMs/2) + j.outOfOrder.Milliseconds() + j.cfg.AllowedLateness.Milliseconds()
	return time.Duration(min(ms, interval.MaxBoundMs))*time.Millisecond + time.Second
}
