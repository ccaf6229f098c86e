package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"tidemark/connectors/records"
	"tidemark/internal/tally"
)

const (
	// progressAfter is how long a run lasts before it shows its progress, and
	// progressEvery how often it does then.
	progressAfter = 2 * time.Second
	progressEvery = time.Second
)

// progress shows, on a terminal, how far a run is, until stop is called.
func (j *job) progress(counts *tally.Tally) (stop func()) {
	out, ok := j.stderr.(*os.File)
	if !ok || !isTerminal(out) {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-done:
			return
		case <-time.After(progressAfter):
		}
		meter := newMeter(time.Now().Add(-progressAfter))
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			_, _ = fmt.Fprint(out, meter.line(counts.Get(tally.Read), counts.Watermark(), time.Now()))
			select {
			case <-done:
				_, _ = fmt.Fprint(out, meter.clear())
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// meter renders the progress line, which takes the place of the one before.
type meter struct {
	at    time.Time
	read  int64
	width int
}

func newMeter(begin time.Time) *meter { return &meter{at: begin} }

// line is the line for what has been read so far; a watermark of 0 is none.
func (m *meter) line(read, watermarkMs int64, now time.Time) string {
	rate := float64(read-m.read) / max(now.Sub(m.at).Seconds(), 1e-3)
	m.at, m.read = now, read
	text := fmt.Sprintf("%d records, %.0f records/s", read, rate)
	switch {
	case watermarkMs == 0 || watermarkMs < records.MinTimeMs:
	case watermarkMs > records.MaxTimeMs:
		text += ", all read"
	default:
		behind := now.Sub(time.UnixMilli(watermarkMs)).Round(time.Second)
		text += fmt.Sprintf(", watermark %s, %v behind the clock", records.FormatTime(watermarkMs), behind)
	}
	pad := max(0, m.width-len(text))
	m.width = len(text)
	return "\r" + text + strings.Repeat(" ", pad)
}

// clear takes the line away.
func (m *meter) clear() string { return "\r" + strings.Repeat(" ", m.width) + "\r" }
