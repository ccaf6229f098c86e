package main

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// quietHandler drops what Beam's worker logs now and then, as an error, when the
// runner takes down its connection at the end of a job that went well.
// Once it is hushed it drops everything.
type quietHandler struct {
	slog.Handler
	state *quietState
}

type quietState struct {
	mu     sync.Mutex
	hushed bool
}

// hush returns when nothing more can be logged.
func (h quietHandler) hush() {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	h.state.hushed = true
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	if h.state.hushed || strings.Contains(r.Message, "StateChannel[") && strings.Contains(r.Message, "context canceled") {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs and WithGroup keep loggers that are made of this one quiet.
func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs), h.state}
}

// WithGroup implements slog.Handler.
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name), h.state}
}

var (
	// stackTrace is where Beam's errors begin to be about Beam.
	stackTrace = regexp.MustCompile(`(?s)(, stage: .*|\n\s*(stackTrace:|Full error:|goroutine ).*)$`)

	// around is what Beam puts in front of the cause: the plan, and the DoFn.
	around = regexp.MustCompile(`(?s)^.*caused by:\n\s*|DoFn\[[^\n]*\] failed:\n`)
)

// brief is the cause of an error of Beam's, without what is around it.
func brief(err error) error {
	var usage usageError
	if errors.As(err, &usage) || errors.Is(err, context.Canceled) {
		return err
	}
	text := around.ReplaceAllString(stackTrace.ReplaceAllString(err.Error(), ""), "")
	return errors.New(strings.TrimSpace(text))
}
