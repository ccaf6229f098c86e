package main

// words are what the help says of flags that all pipelines have, where it differs
// between commands.
type words struct {
	stream, outOfOrder, idle string // of inputs
	late, bad, job           string // of outputs
	drain                    string

	pipe bool // rows have the format pipe
}

const (
	liveRows   = "Rows of standard input and named pipes come while they are open, those of files at the end of the run"
	unasked    = "without it they go to the mart that the rows go to, or are counted only"
	unaskedBad = "without it the exit status is 3 if there are any, and they go to the mart that the rows go to, or are counted only"
)

// aggregateWords are those of commands with windows. Not all of them have
// the format pipe.
var aggregateWords = words{
	stream:     "read the input as a stream, in order, with a watermark: records can be late.\n" + liveRows,
	outOfOrder: "event `time`: the watermark is the latest event time so far less this; default 0s",
	idle: "processing `time`: of several inputs, one that is silent for so long stops holding the watermark back; 0 is never (default).\n" +
		"A single input is not moved on by it: its watermark stays where it is",
	late:  "where records go that missed a window: `URI`; " + unasked,
	bad:   "where records go that were not understood: `URI`; " + unaskedBad,
	job:   "made from the command and the input's absolute path",
	drain: "with --stream, an interrupt fires the windows that are open before it ends the run; without, they are left unemitted",
}

// formats is what the help says of --format.
func (w words) formats() string {
	if w.pipe {
		return "how rows look on standard output: `json|pipe|table`; pipe is key|windowStartMs|sum, table has aligned columns for people"
	}
	return "how rows look on standard output: `json|table`; table has aligned columns for people"
}

// joinWords are those of joins.
var joinWords = words{
	stream: "read both inputs as one stream, each in order and with a watermark of its own, of which the lower one counts: records can be late.\n" +
		liveRows,
	outOfOrder: "event `time`: an input's watermark is its latest event time so far less this; default 0s",
	idle: "processing `time`: an input that is silent for so long, and is a pipe, stops holding the watermark back until it has something again; 0 is never (default).\n" +
		"If both are silent the watermark stays where it is",
	late: "where records go that came too late to be joined: `URI`; " + unasked,
	bad:  "where records go that were not understood, or are over --max_rows_per_key: `URI`; " + unaskedBad,
	job:  "made from the command and the inputs' absolute paths",
	drain: "with --stream, an interrupt brings the rows of records that nothing has matched before it ends the run, where --type has such rows; " +
		"without, those are left out that something could still match",
}
