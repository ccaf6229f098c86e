// Command tidemark runs event-time pipelines: windowed money per key with every
// late record accounted for.
//
//	tidemark gmv --input orders.ndjson --window 1h
//	tidemark average --input readings.ndjson --window 3m --every 1m
//	tidemark join --left orders.ndjson --right payments.ndjson --lower 0s --upper 10m --type left
//	tidemark reconcile --mart sqlite:mart.db
//	tidemark gmv --input orders.ndjson --window 1h --runner flink
//	tidemark gmv --help
//
// Exit status: 0 done; 1 the job failed; 2 wrong usage, found before anything
// is read or written; 3 done, and some records were bad while no --bad_output
// was given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitBad    = 3
)

// command is a subcommand.
type command struct {
	name  string
	about string
	run   func(ctx context.Context, args []string) error
}

var commands = []command{
	{"gmv", "money per key and window, exact, corrected when late records come", gmvCommand.run},
	{"average", "averages per key and window, exact, corrected when late records come", averageCommand.run},
	{"join", "pairs of two inputs by key and distance in time, and what nothing matches", runJoin},
	{"reconcile", "checks in a mart that nothing was lost", runReconcile},
}

// usageError is an error of the user's, found before anything was read.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// errBadRecords says that a job was done, but for records that went nowhere.
var errBadRecords = errors.New("some records were bad and there was no --bad_output for them")

func main() {
	// A worker process of a cluster is started as `tidemark --worker ...`,
	// without a subcommand; beam.Init does not return there.
	if len(os.Args) > 1 && (os.Args[1] == "--worker" || strings.HasPrefix(os.Args[1], "--worker=")) {
		flag.Parse()
		beam.Init()
	}
	signal.Ignore(ignored...)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	err := dispatch(ctx, os.Args[1:])
	stop()
	os.Exit(exitStatus(err, os.Stderr))
}

func exitStatus(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errBadRecords):
		return exitBad
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(stderr, "tidemark: %v\n", err)
		return exitUsage
	default:
		_, _ = fmt.Fprintf(stderr, "tidemark: %v\n", err)
		return exitFailed
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		printCommands(os.Stderr)
		return usagef("no command, want one of %s", commandNames())
	}
	switch strings.TrimLeft(args[0], "-") {
	case "help", "h":
		printCommands(os.Stdout)
		return nil
	case "version":
		_, err := fmt.Println(version())
		return err
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, args[1:])
		}
	}
	return usagef("unknown command %q, want one of %s", args[0], commandNames())
}

func commandNames() string {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func printCommands(w io.Writer) {
	var b strings.Builder
	b.WriteString("Tidemark runs event-time pipelines and loses no late record.\n\nusage: tidemark COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.about)
	}
	b.WriteString("\ntidemark COMMAND --help lists a command's flags; tidemark --version names versions.\n")
	_, _ = io.WriteString(w, b.String())
}

// buildVersion is set by release builds with -ldflags "-X main.buildVersion=...".
var buildVersion = ""

// version names Tidemark's, Beam's and Go's versions.
func version() string {
	own, beamVersion := buildVersion, "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		if own == "" {
			own = info.Main.Version
		}
		for _, d := range info.Deps {
			if d.Path == "github.com/apache/beam/sdks/v2" {
				beamVersion = d.Version
			}
		}
	}
	if own == "" {
		own = "(devel)"
	}
	return fmt.Sprintf("tidemark %s, Apache Beam Go SDK %s, %s %s/%s", own, beamVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
